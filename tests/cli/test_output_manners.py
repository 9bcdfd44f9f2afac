"""stdout is data, stderr is talk; JSON is one ASCII document; hostile text never reaches a terminal as it is."""

from __future__ import annotations

import io
import json
import os
import pty
import re
from pathlib import Path
from typing import Any

import pytest

HOSTILE = "\x1b[2J\x1b]0;title\x07\x1b]8;;http://x\x1b\\link\r\b\x9b1m \u202eevil\u2066 [bold]markup[/] \x7f é"
COMMANDS = (
    ("list",),
    ("history", "s"),
    ("show", "s"),
    ("show", "s@1"),
    ("diff", "s", "t"),
    ("fsck",),
    ("doctor",),
    ("config",),
    ("schema",),
    ("schema", "list"),
)


@pytest.fixture
def hostile_store(store: Any, trip: Any, waiting: Any) -> None:
    store("s", trip(answer=HOSTILE * 40 + "\nnext line", forecast=json.dumps(HOSTILE), city=HOSTILE))
    store("t", trip(answer="other", forecast=json.dumps("calm")))
    store("w", waiting(tool="evil\x1b[2J", args={"x": HOSTILE}))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_case_198_json_is_one_unwrapped_document(
    lousho: Any, hostile_store: None, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    ran = lousho(*command, "--json")
    document = json.loads(ran.out)
    assert document["schema"] == 1
    assert document["command"] == command[0]
    assert document["warnings"] == []
    assert ran.out.count("\n") == 1
    assert ran.out.isascii()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_case_206_no_control_byte_but_newline_and_tab_reaches_stdout(lousho: Any, hostile_store: None, command: tuple[str, ...]) -> None:
    for extra in ([], ["--json"], *([["--content"]] if command[0] == "show" else [])):
        ran = lousho(*command, *extra)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", ran.out + ran.err)
    if command == ("show", "s"):
        assert "\\x1b[2J" in lousho("show", "s", "--content").out
        assert "[bold]markup[/]" in lousho("show", "s", "--content").out
        told = lousho("show", "s", "--json").data["messages"][-1]["content"]
        assert told == HOSTILE * 40 + "\nnext line"


def test_case_199_warnings_are_on_stderr_and_in_the_envelope(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("good", trip())
    (folder / ".lousho" / "sessions" / "bad").mkdir()
    (folder / ".lousho" / "sessions" / "bad" / "log.jsonl").write_bytes(b"junk\n")
    ran = lousho("list", "--json", "-v")
    document = json.loads(ran.out)
    assert len(document["warnings"]) == 1
    assert "warning: session bad is damaged" in ran.err


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_case_201_an_encoding_that_lacks_characters_never_crashes(process: Any, hostile_store: None, encoding: str, folder: Path) -> None:
    environ = {"PYTHONIOENCODING": encoding, "LC_ALL": "C", "PYTHONUTF8": "0"}
    with (folder / "out").open("wb") as out:
        ran = process("show", "s", "--content", environ=environ, stdout=out)
    assert ran.returncode == 0
    assert b"Traceback" not in ran.stderr
    ran = process("show", "s", "--json", environ=environ)
    assert json.loads(ran.stdout)["data"]["messages"][-1]["content"].startswith(HOSTILE)
    assert process("--help", environ=environ).returncode == 0


def test_an_error_is_one_line_with_its_code_and_what_to_do(lousho: Any) -> None:
    ran = lousho("show", "no\x1b[2Jpe\nx")
    assert ran.code == 2
    assert ran.out == ""
    assert re.fullmatch(r"error: .+ \[LOUSHO_\w+\] .+\n", ran.err)
    assert "\x1b" not in ran.err


def test_an_error_as_json_is_an_envelope_on_stdout(lousho: Any) -> None:
    ran = lousho("show", "nope", "--json")
    document = json.loads(ran.out)
    assert ran.code == 3
    assert ran.err == ""
    assert document["schema"] == 1
    assert document["command"] == "show"
    assert document["error"].keys() == {"code", "message", "hint", "retryable", "session", "step"}
    assert document["error"]["code"] == "LOUSHO_SESSION_NOT_FOUND"


@pytest.mark.parametrize(
    "args",
    [
        ("lst",),
        ("list", "--nope"),
        ("show",),
        ("list", "--limit", "many"),
        ("list", "--limit", "-1"),
        ("list", "extra"),
        ("--color", "pink", "list"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_2_and_one_line_and_as_json_an_envelope(lousho: Any, args: tuple[str, ...]) -> None:
    ran = lousho(*args)
    assert ran.code == 2
    assert ran.out == ""
    assert re.fullmatch(r"error: .+ \[LOUSHO_USAGE\] See: lousho.*--help\n", ran.err)
    as_json = lousho(*args, "--json")
    assert as_json.code == 2
    assert json.loads(as_json.out)["error"]["code"] == "LOUSHO_USAGE"


def test_shared_options_stand_before_the_command_or_behind_it(lousho: Any, store: Any, trip: Any) -> None:
    store("trip", trip(), path="elsewhere")
    assert lousho("--store", "elsewhere", "--json", "list").data == lousho("list", "--json", "--store", "elsewhere").data != []


def test_an_unexpected_error_shows_no_traceback_unless_asked(lousho: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        local_variable = "sk-from-a-local"
        raise ZeroDivisionError(f"at {local_variable[:2]} key sk-very-secret")

    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setattr("lousho_cli.cli.face.Face.open_store", broken)
    ran = lousho("list")
    assert ran.code == 1
    assert ran.err.count("\n") == 1
    assert "[LOUSHO_UNEXPECTED]" in ran.err
    loud = lousho("list", "-vv")
    assert "Traceback" in loud.err
    assert "ZeroDivisionError" in loud.err


def test_where_there_can_be_no_thread_the_limit_is_named(lousho: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("lousho_cli.cli.face.Face.open_store", broken)
    ran = lousho("list")
    assert (ran.code, ran.err.count("\n"), "[LOUSHO_NO_THREAD]" in ran.err) == (1, 1, True)


def test_case_203_no_key_is_ever_written(lousho: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-very-secret-key"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("LOUSHO_STORE", f"postgresql://anna:pass-word@db/x?api_key={key}")
    for command in (["config"], ["doctor"], ["list"], ["list", "--json"], ["list", "-vv"], ["config", "--json"], ["show", key]):
        ran = lousho(*command)
        if command != ["show", key]:  # what was typed as a session is not a secret, but is hidden all the same
            assert "pass-word" not in ran.out + ran.err
        assert key not in ran.out + ran.err
    assert "[secret]" in lousho("config").out
    assert "OPENAI_API_KEY" in lousho("doctor").out


def test_examples_come_first_in_help(lousho: Any) -> None:
    for command in ([], ["list"], ["show"], ["diff"], ["delete"]):
        ran = lousho(*command, "--help")
        assert ran.code == 0
        assert ran.out.startswith("Examples:\n  lousho ")
        assert ran.out.index("Examples:") < ran.out.index("Usage:") < ran.out.index("Options")


def test_version_is_answered_everywhere(lousho: Any) -> None:
    from lousho_cli import __version__

    assert lousho("--version").out == lousho("list", "--version").out == lousho("--json", "--version").out == f"lousho {__version__}\n"


def test_a_full_disk_behind_stdout_is_an_error_not_a_crash(process: Any, hostile_store: None) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "wb") as full:
        ran = process("show", "s", "--json", stdout=full)
    assert ran.returncode == 1
    assert b"Traceback" not in ran.stderr
    assert b"Exception ignored" not in ran.stderr


def test_a_terminal_gets_a_spinner_with_harmless_text(monkeypatch: pytest.MonkeyPatch) -> None:
    from lousho_cli.cli.diagnostics import Diagnostics

    monkeypatch.setenv("TERM", "xterm")
    main, side = pty.openpty()
    with os.fdopen(side, "w") as terminal, Diagnostics(terminal).progress("step 1") as progress:
        progress.update("step 2, tool \x1b[2J[bold]evil")
        shown = b""
        while b"evil" not in shown:
            shown += os.read(main, 65536)
    os.close(main)
    assert b"\\x1b[2J[bold]evil" in shown


def test_words_that_are_no_text_are_refused_and_reported_as_text(process: Any) -> None:
    ran = process("show", b"\xff\xfe", "--json")
    assert ran.returncode == 2
    assert json.loads(ran.stdout)["error"]["code"] == "LOUSHO_SESSION_ID_INVALID"


def test_nothing_is_drawn_where_stderr_is_no_terminal() -> None:
    from lousho_cli.cli.diagnostics import Diagnostics

    stream = io.StringIO()
    with Diagnostics(stream).progress("step 1") as progress:
        progress.update("step 2")
    assert stream.getvalue() == ""
