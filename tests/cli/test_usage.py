"""Help shows what was written; wrong usage is told in plain sentences that name what is right."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from lousho_cli.cli.main import COMMANDS, build
from lousho_cli.cli.usage_errors import _CALLED_ELSEWHERE


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_no_help_text_is_read_as_markup(lousho: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.main import get_command

    monkeypatch.setenv("COLUMNS", "400")
    group: Any = get_command(build())
    command = group.commands[name] if name else group
    shown = lousho(*([name] if name else []), "--help").out
    texts = [
        command.help,
        *(param.help for param in command.params),
        *(other.short_help for other in getattr(group, "commands", {}).values() if not name),
    ]
    words = {word for text in texts if text for word in inspect.cleandoc(text).split()}
    assert sorted(word for word in words if word not in shown) == []


def test_a_word_in_brackets_stays_in_help(lousho: Any) -> None:
    assert "[secret]" in lousho("answer", "--help").out


def test_usage_marks_only_what_may_be_left_out(lousho: Any) -> None:
    assert re.search(r"Usage: lousho show \[OPTIONS\] SESSION\[@STEP\]\s", lousho("show", "--help").out)
    assert "Usage: lousho answer [OPTIONS] ID [VALUE]" in lousho("answer", "--help").out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("list", "--limit", "many"), "--limit must be a whole number, 0 or more, not 'many'"),
        (("list", "--limit", "-1"), "--limit must be a whole number, 0 or more, not '-1'"),
        (
            ("list", "--status", "finishd"),
            "--status must be one of in-progress, awaiting-approval, finished, not 'finishd'; did you mean finished?",
        ),
        (("list", "--foo"), "there is no option --foo"),
        (("list", "--colour"), "there is no option --colour; did you mean --color?"),
        (("list", "--limit"), "--limit needs a value"),
        (("list", "--all=3"), "--all takes no value"),
        (("list", "extra"), "this is one word too many: extra"),
        (("list", "one", "two"), "these are too many words: one two"),
        (("show",), "SESSION[@STEP] is missing"),
        (("approve",), "ID is missing"),
        (("lst",), "there is no command lst; did you mean list?"),
        (("nonsense",), "there is no command nonsense"),
        (("ls",), "there is no command ls; did you mean list?"),
        (("help", "run"), "there is no command help; did you mean --help?"),
        (("--color", "pink", "list"), "--color: choose auto, always or never"),
    ],
)
def test_wrong_usage_is_a_plain_sentence(lousho: Any, args: tuple[str, ...], said: str) -> None:
    ran = lousho(*args)
    assert ran.code == 2
    assert ran.err.startswith(f"error: {said} [LOUSHO_USAGE] See: lousho")


def test_names_from_other_tools_lead_to_what_there_is() -> None:
    assert set(_CALLED_ELSEWHERE) - {"--help", "--version"} <= set(COMMANDS)
    assert not set(COMMANDS) & {name for names in _CALLED_ELSEWHERE.values() for name in names}
