"""``lousho import`` of what other agents stored, from the command line: looked into, forked, gone on with, taken away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

AGENT = """
name: helper
prompt: You help.
provider:
  type: scripted
  turns:
    - { text: unused }
    - - { when: { tool: Read, contains: secret plan }, text: "Then burn it." }
      - { text: "Nothing new." }
    - { text: "Third." }
    - { text: "Fourth." }
"""


def line(number: int, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    said = {"role": kind, "content": content, **more}
    at = f"2026-01-01T00:00:{number:02}.000Z"
    return {
        "type": kind,
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number else None,
        "sessionId": "talk",
        "timestamp": at,
        "message": said,
    }


TALK = [
    line(0, "user", "What is in plan.txt?"),
    line(1, "assistant", [
        {"type": "thinking", "thinking": "hm", "signature": "theirs"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "plan.txt"}},
    ], id="m1", model="their-model", usage={"input_tokens": 20, "output_tokens": 5}),
    line(2, "user", [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "an old plan"}]),
    line(3, "assistant", "An old plan.", id="m2", model="their-model", usage={"input_tokens": 30, "output_tokens": 6}),
]  # fmt: skip


@pytest.fixture
def talk(folder: Path) -> Path:
    path = folder / "talk.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in TALK))
    (folder / "agent.yaml").write_text(AGENT)
    (folder / "other.json").write_text('"the secret plan"')
    return path


def test_what_if_it_had_read_another_file_is_one_command(lousho: Any, talk: Path) -> None:
    before = talk.read_bytes()
    assert lousho("import", str(talk), "-q").out == "talk\n"
    source = lousho("show", "talk", "--json").out
    command = ("fork", "talk", "--from-step", "1", "--tool-result", "toolu_1=@other.json", "--agent", "agent.yaml", "--run", "--json")
    ran = lousho(*command)
    assert (ran.code, ran.data["session"], ran.data["text"]) == (0, "talk.fork-1", "Then burn it.")
    assert lousho("diff", "talk", "talk.fork-1", "--json").data["diverged_at"] == 1
    assert lousho("show", "talk", "--json").out == source
    assert talk.read_bytes() == before
    assert lousho("import", str(talk), "--json").data["sessions"][0]["result"] == "unchanged", "its fork is no part of it"


def test_it_is_listed_shown_and_goes_on_like_any_other(lousho: Any, talk: Path) -> None:
    done = lousho("import", str(talk), "--json").data["sessions"][0]
    assert (done["kind"], done["messages"], done["checkpoints"], done["result"]) == ("claude-code", 4, 3, "imported")
    listed = lousho("list", "--json").data[0]
    assert (listed["id"], listed["agent"], listed["status"], listed["updated_at"]) == (
        "talk",
        "claude-code",
        "finished",
        "2026-01-01T00:00:03.000Z",
    )
    shown = lousho("show", "talk", "--json").data
    assert (shown["origin"]["kind"], shown["origin"]["file"], shown["origin"]["id"]) == ("claude-code", "talk.jsonl", "talk")
    assert "imported:    claude-code, talk.jsonl, talk" in lousho("show", "talk@1").out
    assert (shown["usage"]["input_tokens"], shown["messages"][2]["content"]) == (50, "an old plan")
    assert [one["address"] for one in lousho("history", "talk", "--json").data] == ["talk@1/2.1", "talk@1/1.2", "talk@1/1.1"]
    assert lousho("run", "agent.yaml", "And now?", "-s", "talk", "--json").data["text"] == "Third."
    assert lousho("import", str(talk), "--json").data["sessions"][0]["result"] == "unchanged"


def test_case_228_an_open_call_is_not_run_by_going_on(lousho: Any, talk: Path) -> None:
    talk.write_text("".join(json.dumps(one) + "\n" for one in TALK[:2]))
    lousho("import", str(talk))
    assert lousho("resume", "--all", "--agent", "agent.yaml").code == 0
    assert lousho("show", "talk", "--json").data["outcome"] == "aborted", "nothing went on with it by itself"
    assert lousho("resume", "talk", "--agent", "agent.yaml", "--check").code == 8
    ran = lousho("resume", "talk", "--agent", "agent.yaml", "--json")
    assert (ran.code, ran.data["text"]) == (0, "Nothing new.")
    result = lousho("show", "talk", "--json").data["messages"][2]
    assert (result["tool_call_id"], result["is_error"]) == ("toolu_1", True)


def test_a_bad_line_is_named_and_the_exit_code_says_partial(lousho: Any, talk: Path) -> None:
    with talk.open("a") as file:
        file.write('{"type": "assistant", "mess')
    refused = lousho("import", str(talk), "--strict")
    assert (refused.code, "LOUSHO_IMPORT_PARTIAL" in refused.err, "line 5" in refused.err) == (1, True, True)
    assert lousho("list", "--json").data == []
    ran = lousho("import", str(talk))
    assert (ran.code, "line 5 was left out: it is no JSON" in ran.err) == (7, True)
    assert lousho("import", str(talk), "--json").data["sessions"][0]["bad_lines"][0]["line"] == 5


def test_the_kinds_that_help_names_are_those_there_are(lousho: Any) -> None:
    from lousho_cli.app.import_kinds import KINDS
    from lousho_cli.cli.commands import import_

    assert import_.KINDS == KINDS


def test_a_folder_a_forced_kind_and_what_is_nothing(lousho: Any, talk: Path, folder: Path) -> None:
    deep = folder / "projects" / "x"
    deep.mkdir(parents=True)
    talk.rename(deep / "talk.jsonl")
    (deep / "notes.json").write_text('{"a": 1}')
    ran = lousho("import", "projects")
    assert (ran.code, ran.out.splitlines()[1].split()[:4]) == (0, ["talk", "imported", "4", "3"])
    assert lousho("import", str(deep / "notes.json")).code == 2
    unknown = lousho("import", "projects", "--from", "nonsense")
    assert (unknown.code, "claude-code, codex" in unknown.err) == (2, True)
    assert lousho("import", str(deep / "notes.json"), "--from", "codex").code == 1, "it holds no message"


def test_our_own_export_is_the_same_session(lousho: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lousho("run", "trip")
    lousho("run", "booking", "--no-input")
    sessions = [lousho("show", name, "--json").out for name in ("trip", "booking")]
    rings = [lousho("history", name, "--json").out for name in ("trip", "booking")]
    for name in ("trip", "booking"):
        assert lousho("export", name, "--to", "jsonl", "-o", f"{name}.jsonl").code == 0
    done = lousho("import", "trip.jsonl", "booking.jsonl", "--store", "other", "--json")
    assert [(one["session"], one["result"]) for one in done.data["sessions"]] == [("trip", "imported"), ("booking", "imported")]
    monkeypatch.setenv("LOUSHO_STORE", "other")
    assert [lousho("show", name, "--json").out for name in ("trip", "booking")] == sessions
    assert [lousho("history", name, "--json").out for name in ("trip", "booking")] == rings
    assert lousho("import", "trip.jsonl", "--json").data["sessions"][0]["result"] == "unchanged"
    waits = lousho("pending", "--json").data[0]["id"]
    assert lousho("approve", waits, "--json").data["status"] == "finished"


def test_an_imported_session_is_taken_away_and_brought_back(lousho: Any, talk: Path) -> None:
    lousho("import", str(talk))
    lousho("export", "talk", "--to", "jsonl", "-o", "away.jsonl")
    lousho("import", "away.jsonl", "--store", "other")
    assert lousho("show", "talk", "--json", "--store", "other").out == lousho("show", "talk", "--json").out
    assert lousho("import", str(talk), "--store", "other", "--json").data["sessions"][0]["result"] == "unchanged"


@pytest.mark.parametrize("form", ["atif", "openai", "anthropic"])
def test_what_was_exported_for_others_comes_back_with_every_word(lousho: Any, folder: Path, form: str) -> None:
    lousho("run", "trip")
    assert lousho("export", "trip", "--to", form, "-o", "away.json").code == 0
    done = lousho("import", "away.json", "--store", "other", "--json").data["sessions"][0]
    assert done["result"] == "imported"
    ours, theirs = [
        [(one["role"], one["content"], one.get("tool_calls")) for one in lousho("show", name, "--store", place, "--json").data["messages"]]
        for name, place in (("trip", ".lousho"), (done["session"], "other"))
    ]
    parsed = [(role, text, [(call["name"], json.loads(call["arguments"])) for call in calls or ()]) for role, text, calls in ours]
    assert parsed == [(role, text, [(call["name"], json.loads(call["arguments"])) for call in calls or ()]) for role, text, calls in theirs]
