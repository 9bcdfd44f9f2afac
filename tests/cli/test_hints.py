"""Every error says what to do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

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


def test_a_log_that_is_a_folder_says_what_to_do(lousho: Any, folder: Path) -> None:
    (folder / ".lousho" / "sessions" / "d" / "log.jsonl").mkdir(parents=True)
    ran = lousho("show", "d")
    assert ran.code in (1, 7)
    assert "lousho fsck" in ran.err
