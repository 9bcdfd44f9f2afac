"""Every error says what to do."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.app.hints import WITH_STORE, WITHOUT_STORE, naming_store
from lousho_cli.cli.main import COMMANDS

FILES: dict[str, bytes] = {
    "empty.yaml": b"",
    "binary.yaml": b"\xff\xfe\x00",
    "bad.yaml": b"a: [\n",
    "bad.json": b'{"a":\n',
    "list.json": b"[1]",
    "object.json": b"{}",
    "wrong.json": b'{"seats": "many"}',
    "tools.py": b"x = 1\n",
    "broken.py": b"def (\n",
    "file": b"",
}


@pytest.fixture
def files(folder: Path) -> None:
    for name, text in FILES.items():
        (folder / name).write_bytes(text)


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (("run", "missing.yaml", "hi"), 2, "Check the path"),
        (("run", "missing.py:x", "hi"), 2, "Check the path"),
        (("run", "empty.yaml", "hi"), 2, "lousho schema agent"),
        (("run", "binary.yaml", "hi"), 2, "UTF-8"),
        (("run", "bad.yaml", "hi"), 2, "must be YAML"),
        (("run", "bad.json", "hi"), 2, "must be JSON"),
        (("run", "tools.py", "hi"), 2, "tools.py:NAME"),
        (("run", "broken.py", "hi"), 2, "broken.py"),
        (("fork", "trip", "--from-step", "1", "--patch", "missing.json"), 2, "that is there"),
        (("fork", "trip", "--from-step", "1", "--messages", "missing.json"), 2, "that is there"),
        (("fork", "trip", "--from-step", "1", "--patch", "list.json"), 2, "Its keys are"),
        (("fork", "trip", "--from-step", "1", "--messages", "object.json"), 2, "Give a list"),
        (("init", "file"), 2, "another name"),
        (("init", "file/below"), 1, "another folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_an_error_says_what_to_do(lousho: Any, store: Any, trip: Any, files: None, args: tuple[str, ...], code: int, told: str) -> None:
    store("trip", trip())
    ran = lousho(*args)
    assert ran.code == code
    hint = re.fullmatch(r"error: .+ \[LOUSHO_\w+\] (.+)\n", ran.err)
    assert hint is not None, ran.err
    assert told in hint[1]


def test_a_decision_with_arguments_that_can_not_be_used_says_what_to_do(lousho: Any, files: None) -> None:
    lousho("run", "booking")
    waits = lousho("pending", "-q").out.strip()
    assert "that is there" in lousho("approve", waits, "--edit", "missing.json").err
    assert "lousho pending --json" in lousho("approve", waits, "--edit", "wrong.json", "--no-resume").err


def test_a_settings_file_names_everything_wrong_and_what_to_do(lousho: Any, folder: Path) -> None:
    (folder / "lousho.toml").write_text("store =\n")
    assert "a setting is a line such as" in lousho("config").err
    (folder / "lousho.toml").write_text('stor = "a"\nmaxsteps = 3\non_drift = "x"\n')
    ran = lousho("config")
    assert ran.code == 2
    for told in ("no setting stor;", "no setting maxsteps", "on_drift: must be 'warn', 'error' or 'ignore'", "store for stor"):
        assert told in ran.err
    (folder / "lousho.toml").write_text('max_steps = "many"\nagents = "here"\n')
    told = "max_steps: must be a whole number; agents: must be a list [LOUSHO_CONFIG_INVALID] Give it such a value"
    assert told in lousho("config").err
    checks = {check["name"]: check for check in lousho("doctor", "--json").data}
    assert checks["config"]["state"] == "fail" and "max_steps" in checks["config"]["detail"]


def test_a_log_that_is_a_folder_says_what_to_do(lousho: Any, folder: Path) -> None:
    (folder / ".lousho" / "sessions" / "d" / "log.jsonl").mkdir(parents=True)
    ran = lousho("show", "d")
    assert ran.code in (1, 7)
    assert "lousho fsck" in ran.err


def test_every_command_reads_the_store_that_is_named_or_needs_none() -> None:
    assert not WITHOUT_STORE & {*WITH_STORE}
    assert {*COMMANDS} == WITHOUT_STORE | {*WITH_STORE}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Decide it first: lousho approve 7f (or reject).", "Decide it first: lousho approve --store 'a b' 7f (or reject)."),
        ("lousho fsck and lousho show tell more", "lousho fsck --store 'a b' and lousho show --store 'a b' tell more"),
        ("Go on with: lousho resume trip --store other", "Go on with: lousho resume trip --store other"),
        ("lousho schema agent; this lousho reads it", "lousho schema agent; this lousho reads it"),
    ],
)
def test_a_command_in_a_text_names_the_store(said: str, told: str) -> None:
    assert naming_store(said, "a b") == told
    assert naming_store(said, None) == said


def test_what_a_hint_tells_to_do_works_as_it_is_pasted(lousho: Any, store: Any, waiting: Any, folder: Path) -> None:
    store("booking", waiting(), path="my store")
    refused = lousho("delete", "booking", "--yes", "--store", "my store")
    asked = json.loads(lousho("delete", "booking", "--yes", "--store", "my store", "--json").out)["error"]["hint"]
    assert refused.code == 4
    assert asked in refused.err
    command = re.search(r"lousho approve .*? (?=\()", asked)
    assert command is not None
    decided = lousho(*shlex.split(command[0])[1:], "--no-resume")
    assert decided.code == 0, decided.err
    log = folder / "my store" / "sessions" / "booking" / "log.jsonl"
    log.write_bytes(log.read_bytes().replace(b"Book", b"Cook", 1))
    shown = lousho("show", "booking", "--store", "my store")
    assert "see: lousho fsck --store 'my store'" in shown.err


def test_a_password_in_the_address_of_a_store_stays_out_of_hints() -> None:
    hint = naming_store("See: lousho fsck", "postgresql://anna:pass-word@db/x")
    assert hint == "See: lousho fsck --store 'postgresql://anna:[secret]@db/x'"


def test_a_session_that_another_agent_went_on_with_names_it_in_what_goes_on(lousho: Any, folder: Path) -> None:
    for name in ("one", "two"):
        turns = [{"text": name}, {"text": name}, {"tool_calls": [{"name": "nothing"}]}]
        agent = {"name": "a", "prompt": "p", "provider": {"type": "scripted", "turns": turns}}
        (folder / f"{name}.json").write_text(json.dumps(agent))
    assert lousho("run", "one.json", "Go", "-s", "s").err.endswith('\nlousho resume s "…"\n')
    assert lousho("run", "one.json", "Go", "-s", "s").err.endswith('\nlousho resume s "…"\n'), "it is the one the session has"
    failed = lousho("run", "two.json", "Go", "-s", "s")
    assert (failed.code, failed.err.splitlines()[-1]) == (1, "lousho resume s --agent two.json")
    (folder / "one.json").unlink()
    assert lousho("resume", "s").code == 2
    assert lousho("resume", "s", "--agent", "two.json", "--check").code == 0
