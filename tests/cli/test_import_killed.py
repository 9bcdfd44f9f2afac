"""An import that was killed: nobody goes on with the half that is there, and importing again brings the rest."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from pg_server import place_url
from warm_process import run

import lousho_cli
from lousho_cli.app.wiring import open_store
from lousho_cli.ports.undriven import undriven

VICTIM = Path(__file__).with_name("dying_import_process.py")
ENV = os.environ | {"PYTHONPATH": str(Path(lousho_cli.__file__).parents[1])}
AGENT = "name: helper\nprompt: You help.\nprovider: {type: scripted, turns: [Never said.], repeat_last: true}\n"


def a_talk(folder: Path) -> Path:
    """What another agent stored: its answers call tools, so that most of its lines stand in the middle of a turn."""
    path, lines = folder / "talk.jsonl", []
    for number in range(12):
        content: Any = f"question {number}"
        if number % 3 == 1:
            content = [{"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {}}]
        if number % 3 == 2:
            content = [{"type": "tool_result", "tool_use_id": f"c{number - 1}", "content": "text"}]
        said = {"role": "assistant" if number % 3 == 1 else "user", "content": content, "id": f"m{number}"}
        above = f"u{number - 1}" if number else None
        ids = {"uuid": f"u{number}", "parentUuid": above, "sessionId": "talk", "timestamp": f"2026-01-01T00:00:{number:02}.000Z"}
        lines.append(json.dumps({"type": said["role"], "message": said, **ids}) + "\n")
    path.write_text("".join(lines))
    return path


def a_log(folder: Path) -> Path:
    """A session of ours as it was written out, which waited for a person when it was."""
    path = folder / "talk.jsonl"
    for words in (("run", "booking", "-s", "talk"), ("export", "talk", "--to", "jsonl", "-o", str(path))):
        lousho_cli_of(folder, *words)
    return path


def checkpoints(folder: Path) -> Path:
    """What a plain store of checkpoints kept: a ring of three."""
    path = folder / "theirs"
    for kind in ("checkpoints", "checkpoint-history"):
        (path / kind).mkdir(parents=True)
    entries = []
    for step in range(3):
        said = [{"role": "user", "content": "Go"}, *({"role": "assistant", "content": f"answer {n}"} for n in range(step + 1))]
        kept = {"sessionId": "talk", "messages": said, "stepIndex": step + 1, "status": "in-progress", "finishReason": "stop"}
        entries.append({"stepIndex": step + 1, "savedAt": f"2026-01-01T00:00:0{step}.000Z", "status": "in-progress", "checkpoint": kept})
    (path / "checkpoints" / "talk.json").write_text(json.dumps(entries[-1]["checkpoint"]))
    (path / "checkpoint-history" / "talk.json").write_text(json.dumps(entries))
    return path


def lousho_cli_of(folder: Path, *words: str) -> None:
    home = folder / "away"
    home.mkdir(exist_ok=True)
    run([sys.executable, "-m", "lousho_cli", *words], cwd=home, env=ENV, capture_output=True, timeout=60)


@pytest.mark.parametrize(
    ("kind", "make"), [("file", a_talk), ("file", a_log), ("file", checkpoints), ("sqlite", a_talk), ("postgres", a_talk)]
)
def test_nobody_goes_on_with_half_an_import_and_importing_again_brings_the_rest(
    lousho: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str, make: Any
) -> None:
    url = {"file": str(folder / "here"), "sqlite": f"sqlite:{folder / 'here.db'}"}.get(kind) or place_url(folder)
    source = make(folder)
    (folder / "agent.yaml").write_text(AGENT)
    monkeypatch.setenv("LOUSHO_STORE", url)
    died = run([sys.executable, str(VICTIM), url, str(source)], capture_output=True, timeout=60, env=ENV)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()

    (there,) = lousho("list", "--json").data
    assert (there["id"], there["error"]) == ("talk", "its import did not come to its end")
    assert lousho("resume", "--all", "--agent", "agent.yaml").out == "nothing is pending\n"
    assert asyncio.run(swept(url)) == 0
    for words in (("resume", "talk"), ("run", "agent.yaml", "And?", "-s", "talk")):
        refused = lousho(*words, "--no-input")
        assert (refused.code, "LOUSHO_IMPORT_CUT" in refused.err) == (2, True), refused
    assert lousho("list", "--json").data == [there]
    compared = lousho("drift", "--agent", "agent.yaml")
    assert (compared.code, "talk was left out: its import did not come to its end" in compared.err) == (0, True), compared

    again = lousho("import", str(source), "--json")
    assert (again.code, [one["result"] for one in again.data["sessions"]]) in ((0, ["imported"]), (0, ["extended"])), again
    monkeypatch.setenv("LOUSHO_STORE", str(folder / "fresh"))
    lousho("import", str(source))
    fresh = lousho("show", "talk", "--json").data
    monkeypatch.setenv("LOUSHO_STORE", url)
    shown, (there,) = lousho("show", "talk", "--json").data, lousho("list", "--json").data
    assert shown["messages"] == fresh["messages"]
    assert "did not come" not in (there.get("error") or "")
    assert [one["result"] for one in lousho("import", str(source), "--json").data["sessions"]] == ["unchanged"]


async def swept(url: str) -> int:
    """How many sessions a host finds work in."""
    store: Any = open_store(url, create=False)
    return len([head async for head in undriven(store, "2027-01-01T00:00:00.000Z")])
