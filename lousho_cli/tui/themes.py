"""The colours: dark, light, high contrast, and two that take the sixteen of the terminal."""

from __future__ import annotations

from textual.theme import BUILTIN_THEMES, Theme

THEMES: tuple[Theme, ...] = (
    Theme(
        name="dark",
        primary="#7aa2f7",
        secondary="#7dcfff",
        accent="#bb9af7",
        success="#9ece6a",
        warning="#e0af68",
        error="#f7768e",
        foreground="#c0caf5",
        background="#16161e",
        surface="#1a1b26",
        panel="#24283b",
        dark=True,
    ),
    Theme(
        name="light",
        primary="#2e5aac",
        secondary="#0f6f8a",
        accent="#7a3fb0",
        success="#2d6a1f",
        warning="#8a5a00",
        error="#b3243b",
        foreground="#1f2330",
        background="#fbfbfd",
        surface="#f2f3f7",
        panel="#e3e6ef",
        dark=False,
    ),
    Theme(
        name="high-contrast",
        primary="#ffffff",
        secondary="#00ffff",
        accent="#ffff00",
        success="#00ff00",
        warning="#ffff00",
        error="#ff6666",
        foreground="#ffffff",
        background="#000000",
        surface="#000000",
        panel="#1a1a1a",
        dark=True,
    ),
    BUILTIN_THEMES["ansi-dark"],
    BUILTIN_THEMES["ansi-light"],
)
"""In the order in which a key goes through them."""


def first_theme(colours: str | None) -> str:
    """The theme to begin with.

    Args:
        colours: what the terminal can, as Rich says it; one with sixteen colours gets those it has.
    """
    return "dark" if colours in {"truecolor", "256"} else "ansi-dark"
