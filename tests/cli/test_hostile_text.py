"""Text of others, made harmless: every control character is shown, nothing else changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.app.hostile_text import json_line, one_line, visible

HOSTILE = {
    "clear screen": ("\x1b[2J", "\\x1b[2J"),
    "window title": ("\x1b]0;owned\x07", "\\x1b]0;owned\\x07"),
    "clipboard": ("\x1b]52;c;ZWNobw==\x07", "\\x1b]52;c;ZWNobw==\\x07"),
    "carriage return": ("safe\rrm", "safe\\x0drm"),
    "backspace": ("a\bb", "a\\x08b"),
    "nul": ("a\0b", "a\\x00b"),
    "delete": ("a\x7fb", "a\\x7fb"),
    "c1 csi": ("\x9b2J", "\\x9b2J"),
    "bidi override": ("a\u202eb", "a\\u202eb"),
    "bidi isolate": ("a\u2066b", "a\\u2066b"),
    "line separator": ("a\u2028b", "a\\u2028b"),
    "tag character": ("a\U000e0041b", "a\\U000e0041b"),
    "half a character": ("a\ud83db", "a\ufffdb"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_control_character_becomes_its_escape(name: str) -> None:
    hostile, shown = HOSTILE[name]
    assert visible(hostile) == shown


@pytest.mark.parametrize("text", ["plain", "line\nline\ttab", "[bold]no markup[/]", "é 日本語 👩‍👩‍👧", ""])
def test_what_is_harmless_stays(text: str) -> None:
    assert visible(text) == text


def test_one_line_has_no_newline_and_says_where_it_was_cut() -> None:
    assert one_line("a\nb\tc") == "a\\nb\\tc"
    assert one_line("x" * 50, limit=10) == "x" * 9 + "…"
    assert one_line("x" * 10, limit=10) == "x" * 10


def test_arguments_are_read_as_they_are_written_and_hide_nothing() -> None:
    assert json_line({"path": "ü.txt", "say": "日本語 👩‍👩‍👧"}) == '{"path":"ü.txt","say":"日本語 👩‍👩‍👧"}'
    hostile = {"a": "".join(hostile for hostile, _ in HOSTILE.values() if "\ud83d" not in hostile) + "\u200b\n"}
    shown = json_line(hostile)
    assert shown.isprintable() and "\u200b" not in shown and visible(shown) == shown
    assert json.loads(shown) == hostile


def test_a_person_decides_on_letters_not_on_escapes(lousho: Any, folder: Path) -> None:
    call = {"name": "shell", "args": {"command": "echo Müsli"}, "id": "c"}
    agent = {"name": "a", "prompt": "p", "provider": {"type": "scripted", "turns": [{"tool_calls": [call]}, "done"]}, "tools": ["shell"]}
    (folder / "agent.json").write_text(json.dumps(agent))
    paused = lousho("run", "Go")
    assert (paused.code, 'shell {"command":"echo Müsli"}' in paused.err) == (4, True), paused
    assert '{"command":"echo Müsli"}' in lousho("pending").out
    assert lousho("pending", "--json").out.isascii()
