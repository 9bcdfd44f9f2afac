"""A session of Claude Code, forked with another result and gone on with by the model of every wire, at a server nobody here wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.__main__ import main

SAYS = [
    ("user", "calls"),
    ("assistant", [
        {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "plan.txt"}},
        {"type": "tool_use", "id": "toolu_2", "name": "Bash", "input": {}},
    ]),
    ("user", [{"type": "tool_result", "tool_use_id": "toolu_2", "content": ""}]),
    ("user", [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "an old plan", "is_error": True}]),
    ("assistant", [{"type": "text", "text": "An old plan."}]),
]  # fmt: skip


def test_what_if_it_had_read_another_file(
    kind: Any, aimock: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOUSHO_STORE", str(tmp_path / "store"))
    lines = [
        {"type": role, "uuid": f"u{n}", "parentUuid": f"u{n - 1}", "sessionId": "talk", "message": {"role": role, "content": content}}
        for n, (role, content) in enumerate(SAYS)
    ]
    lines[0]["parentUuid"] = None
    Path("talk.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    Path("other.json").write_text('"another plan"')
    spec = kind.spec(aimock.root) | {"headers": aimock.headers}
    Path("agent.json").write_text(json.dumps({"name": "a", "prompt": "Be brief.", "provider": spec}))
    assert main(["import", "talk.jsonl"]) == 0
    capsys.readouterr()
    command = ["fork", "talk", "--from-step", "1", "--tool-result", "toolu_1=@other.json", "--agent", "agent.json", "--run", "--json"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["data"]["text"] == "It is sunny."
