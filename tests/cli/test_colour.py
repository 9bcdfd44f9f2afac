"""When a stream gets colour: the flag, then NO_COLOR, FORCE_COLOR, TERM, then the terminal."""

from __future__ import annotations

import pytest

from lousho_cli.cli.colour import ColourMode, styled, wants_colour


@pytest.mark.parametrize(
    ("mode", "environ", "terminal", "wanted"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_the_rules(mode: ColourMode, environ: dict[str, str], terminal: bool, wanted: bool) -> None:
    assert wants_colour(mode, environ, terminal=terminal) is wanted


def test_without_colour_text_stays_as_it_is() -> None:
    assert styled("text", "red", colour=False) == "text"
    assert styled("text", "", colour=True) == "text"
    assert styled("text", "red", colour=True) == "\x1b[31mtext\x1b[0m"
