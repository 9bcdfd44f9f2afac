"""follow: the log so far, then as it grows, until the run has ended."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from warm_process import Popen

from lousho_cli.app.following import followed_of
from lousho_cli.cli.output import Output
from lousho_cli.cli.render.record import RecordView
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message, ToolCall

ROOT = Path(__file__).parents[2]


def test_json_lines_have_a_cursor_that_since_takes(lousho: Any, store: Any, trip: Any) -> None:
    store("trip", trip())
    lines = [json.loads(line) for line in lousho("follow", "trip", "--json").out.splitlines()]
    cursors = [(line["cursor"]["seq"], line["cursor"]["index"]) for line in lines]
    assert cursors == sorted(cursors)
    assert len(set(cursors)) == len(lines)
    assert lines[-1]["type"] == "lousho.input_settled"
    rest = [json.loads(line) for line in lousho("follow", "trip", "--json", "--since", "4").out.splitlines()]
    assert rest == [line for line in lines if line["cursor"]["seq"] > 4]


def test_text_in_a_pipe_keeps_what_was_said_to_itself_unless_asked(lousho: Any, store: Any, trip: Any) -> None:
    store("trip", trip())
    assert "Sunny" not in lousho("follow", "trip").out
    assert "weather" in lousho("follow", "trip").out
    assert "Sunny" in lousho("follow", "trip", "--content").out


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EACCES])
def test_looking_on_needs_no_more_than_to_read(lousho: Any, store: Any, trip: Any, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    store("trip", trip())
    real = os.open

    def refusing(path: Any, flags: int, *args: Any, **options: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR) and ".lousho" in str(path):
            raise OSError(number, os.strerror(number), path)
        return real(path, flags, *args, **options)

    monkeypatch.setattr(os, "open", refusing)
    followed = lousho("follow", "trip")
    assert (followed.code, "input_settled" in followed.out, followed.err) == (0, True, "")
    assert lousho("follow", "trip", "--events").code == 0


def test_an_unknown_session_is_3(lousho: Any) -> None:
    assert lousho("follow", "nope").code == 3


def test_it_goes_on_until_the_run_has_ended(store: Any, trip: Any, folder: Path) -> None:
    batches = trip()
    store("trip", batches[:2])
    command = [sys.executable, "-m", "lousho_cli", "follow", "trip", "--json"]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    with Popen(command, cwd=folder, env=environ, stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout is not None
        first = [json.loads(follower.stdout.readline()) for _ in range(7)]
        assert first[-1]["type"] == "lousho.mark"
        assert follower.poll() is None
        store("trip", batches[2:])
        rest = [json.loads(line) for line in follower.stdout]
        assert follower.wait(timeout=30) == 0
    assert rest[-1]["type"] == "lousho.input_settled"


class _Shown:
    """An output that is a terminal, or is not, and keeps what it was given."""

    def __init__(self, terminal: bool) -> None:
        self.stream = io.StringIO()
        self.out = Output(self.stream)
        self.out.terminal = terminal

    def lines(self, *records: Any) -> list[str]:
        view = RecordView(self.out, content=True)
        batch = r.Batch(7, 1, "2026-01-02T03:04:05.000Z", records)
        for item in followed_of(batch):
            view.show(item)
        return self.stream.getvalue().splitlines()


def test_a_terminal_is_shown_text_and_calls_and_short_results() -> None:
    asks = Message("assistant", "Let me\nlook.", tool_calls=(ToolCall("call_1", "weather", '{"city":"Lisbon"}'),))
    lines = _Shown(True).lines(r.Turn(asks), r.ToolFinished("call_1", '"' + "x" * 500 + '"'))
    assert lines[1:4] == ["    Let me", "    look.", '    -> weather({"city":"Lisbon"})']
    assert lines[0].startswith("7.0  03:04:05  turn")
    assert len(lines[5]) < 180
    assert lines[5].endswith("…")
    assert "x" * 500 in "".join(_Shown(False).lines(r.ToolFinished("call_1", "x" * 500)))


def test_facts_are_words_and_not_those_of_python() -> None:
    asks = Message("assistant", "", tool_calls=tuple(ToolCall(f"c{name}", name, "{}") for name in ("look", "buy")))
    turn, *_, decided = (line for line in _Shown(False).lines(r.Turn(asks), r.WaitAnswered("7f3a", True)) if line.startswith("7."))
    assert turn.endswith(" calls=look,buy")
    assert decided.endswith(" id=7f3a approved=true")


def test_parts_of_an_answer_are_joined_and_not_shown_again() -> None:
    lines = _Shown(True).lines(
        r.Partial("Sun"), r.Partial("ny: take"), r.Partial(" the\ncoast."), r.Turn(Message("assistant", "Sunny: take the\ncoast."))
    )
    assert lines[0].startswith("7.0  03:04:05  partial")
    assert lines[1:3] == ["    Sunny: take the", "    coast."]
    assert lines[3].startswith("7.3  03:04:05  turn")
    assert len(lines) == 4


def test_what_is_asked_of_a_person_is_shown(waiting: Any) -> None:
    opened = waiting()[-1][0]
    lines = _Shown(True).lines(opened)
    assert lines[1] == '    -> book_table({"seats":2})'


def test_a_terminal_never_sees_raw_records(store: Any, trip: Any, lousho: Any) -> None:
    store("trip", trip())
    out = lousho("follow", "trip", "--content").out
    assert '{"message"' not in out
    assert "    Sunny: take the coast.\n" in out


def test_events_are_those_that_run_printed(lousho: Any) -> None:
    *live, envelope = [json.loads(line) for line in lousho("run", "trip", "--output", "ndjson").out.splitlines()]
    assert envelope["data"]["session"] == "trip"
    found = [json.loads(line) for line in lousho("follow", "trip", "--events").out.splitlines()]
    of_the_moment = ("step.start", "reasoning.delta", "text.delta")
    shown, told = ([{**line, "seq": 0} for line in lines if line["type"] not in of_the_moment] for lines in (found, live))
    assert shown == told
    assert (found[0]["type"], found[-1]["type"]) == ("run.start", "run.done")
    text = "".join(line["data"]["text"] for line in found if line["type"] == "text.delta" and line["step"] == 2)
    assert text == envelope["data"]["text"]
    rest = lousho("follow", "trip", "--events", "--since", "2").out.splitlines()
    assert [json.loads(line)["cursor"] for line in rest] == [line["cursor"] for line in found if line["cursor"]["seq"] > 2]


def test_the_events_of_a_run_that_failed_end_with_it(lousho: Any, folder: Path) -> None:
    script = {"name": "sad", "prompt": "Be sad.", "provider": {"type": "scripted", "turns": [{"error": {"status": 400, "message": "no"}}]}}
    (folder / "agent.json").write_text(json.dumps(script))
    assert lousho("run", "agent.json", "Go", "-s", "s").code == 1
    found = [json.loads(line) for line in lousho("follow", "s", "--events").out.splitlines()]
    assert [line["type"] for line in found][-2:] == ["error", "run.done"]
    assert found[-1]["data"]["outcome"] == "failed"
    assert found[-2]["data"]["message"].endswith("400: no")


def test_events_of_a_damaged_session_name_the_damage(lousho: Any, folder: Path) -> None:
    lousho("run", "trip")
    log = folder / ".lousho" / "sessions" / "trip" / "log.jsonl"
    first, second, *others = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([first, b"x" + second[1:], *others]))
    ran = lousho("follow", "trip", "--events")
    assert ran.code == 7
    assert [json.loads(line)["data"]["about"] for line in ran.out.splitlines() if '"warning"' in line] == ["damage"]
