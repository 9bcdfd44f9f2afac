"""Every key there is, in one table. Bindings, footer, help and command palette are made from it."""

from __future__ import annotations

from typing import Literal, NamedTuple

from textual.binding import Binding, BindingType

from lousho_cli.tui.state.checkpoint_view import TABS

Place = Literal[
    "everywhere",
    "acting",
    "sessions",
    "filter",
    "ring",
    "forks",
    "checkpoint",
    "waiting room",
    "before it is done",
    "while it is done",
    "what was done",
    "comparison",
]


class Key(NamedTuple):
    """One thing that a key does.

    pressed: as Textual names them, several with commas. action: the method without ``action_`` of whatever stands in that place.
    words: for footer and help. where: the place in which it holds. footer: whether it is worth a place at the bottom.
    """

    pressed: str
    action: str
    words: str
    where: Place
    footer: bool = False
    shown: str = ""


_READ: tuple[Place, ...] = ("while it is done", "comparison")
_READING = (
    ("down,j", "down", "down"),
    ("up,k", "up", "up"),
    ("pagedown,space", "page_down", "a page down"),
    ("pageup,b", "page_up", "a page up"),
    ("home,g", "first", "to the beginning"),
    ("end,G", "last", "to the end"),
    ("enter", "fold", "open or close"),
)

KEYS: tuple[Key, ...] = (
    Key("q", "quit", "leave", "everywhere", footer=True),
    Key("ctrl+q,ctrl+c", "quit", "leave, also while you type", "everywhere"),
    Key("question_mark", "help", "keys", "everywhere", footer=True, shown="?"),
    Key("w", "waiting_room", "waiting room", "everywhere", footer=True),
    Key("ctrl+p", "command_palette", "every command by name", "everywhere"),
    Key("t", "next_theme", "next colours", "everywhere"),
    Key("tab", "app.focus_next", "next pane", "everywhere"),
    Key("shift+tab", "app.focus_previous", "pane before", "everywhere"),
    Key("escape", "screen.back", "back", "everywhere"),
    Key("D", "deeds", "what was done here", "everywhere"),
    Key("a", "decide('approve')", "decide", "acting", footer=True),
    Key("x", "decide('reject')", "reject", "acting"),
    Key("r", "resume", "resume", "acting", footer=True),
    Key("A", "abort", "abort its run", "acting"),
    Key("m", "mark", "mark it, for a comparison", "acting"),
    Key("c", "compare", "compare the marked one with this, or both marked", "acting"),
    Key("y", "copy", "copy its id or address", "acting"),
    Key("Y", "copy_command", "copy the command that shows it", "acting"),
    Key("down,j", "down", "down", "sessions"),
    Key("up,k", "up", "up", "sessions"),
    Key("pagedown", "page_down", "a page down", "sessions"),
    Key("pageup", "page_up", "a page up", "sessions"),
    Key("home", "first", "first", "sessions"),
    Key("end,G", "last", "last", "sessions"),
    Key("enter,right,l", "open", "open", "sessions", footer=True, shown="enter"),
    Key("f", "filter", "filter", "sessions", footer=True),
    Key("s", "sort", "sort", "sessions", footer=True),
    Key("g", "group", "group", "sessions", footer=True),
    Key("down,enter", "submit", "to the list, filter kept", "filter", footer=True, shown="enter"),
    Key("escape", "screen.back", "show all again", "filter", footer=True),
    Key("down,j", "down", "down", "waiting room"),
    Key("up,k", "up", "up", "waiting room"),
    Key("enter", "screen.open", "open", "waiting room", footer=True, shown="enter"),
    Key("a", "screen.decide('approve')", "decide", "waiting room", footer=True),
    Key("x", "screen.decide('reject')", "reject", "waiting room", footer=True),
    Key("y", "screen.copy", "copy its id", "waiting room"),
    Key("down,j", "down", "down", "ring"),
    Key("up,k", "up", "up", "ring"),
    Key("pagedown", "page_down", "a page down", "ring"),
    Key("pageup", "page_up", "a page up", "ring"),
    Key("home", "first", "newest", "ring"),
    Key("end,G", "last", "oldest", "ring"),
    Key("enter,right,l", "open", "read it", "ring", footer=True, shown="enter"),
    Key("f", "screen.fork", "fork from here", "ring", footer=True),
    Key("left,h", "screen.back", "back to the sessions", "ring"),
    Key("down,j", "down", "down", "forks"),
    Key("up,k", "up", "up", "forks"),
    Key("enter,right,l", "open", "open that session", "forks", footer=True, shown="enter"),
    Key("left,h", "screen.back", "back to the sessions", "forks"),
    Key("slash", "search", "search", "checkpoint", footer=True, shown="/"),
    Key("n", "next_match", "next match", "checkpoint"),
    Key("N", "previous_match", "match before", "checkpoint"),
    Key("down,j", "text('down')", "down", "checkpoint"),
    Key("up,k", "text('up')", "up", "checkpoint"),
    Key("pagedown,space", "text('page_down')", "a page down", "checkpoint"),
    Key("pageup,b", "text('page_up')", "a page up", "checkpoint"),
    Key("home,g", "text('first')", "to the beginning", "checkpoint"),
    Key("end,G", "text('last')", "to the end", "checkpoint"),
    Key("right_curly_bracket,ctrl+down", "text('next_message')", "next message", "checkpoint", shown="}"),
    Key("left_curly_bracket,ctrl+up", "text('previous_message')", "message before", "checkpoint", shown="{"),
    Key("enter", "text('fold')", "open or close", "checkpoint", footer=True, shown="enter"),
    Key("right,l", "text('open')", "open, then go in", "checkpoint"),
    Key("left,h", "text('close')", "close, then go out", "checkpoint"),
    Key("z", "fold_all", "close or open all", "checkpoint"),
    Key("f", "screen.fork", "fork from here", "checkpoint"),
    Key("v", "as_written", "Markdown and JSON, or as written", "checkpoint"),
    *(Key(str(number), f"tab({number})", f"{tab}", "checkpoint") for number, tab in enumerate(TABS, 1)),
    Key("right_square_bracket", "next_tab(1)", "next tab", "checkpoint", footer=True, shown="]"),
    Key("left_square_bracket", "next_tab(-1)", "tab before", "checkpoint", shown="["),
    Key("escape", "leave", "end the search, then back", "checkpoint"),
    Key("ctrl+s", "submit", "do it", "before it is done", footer=True),
    Key("right,down,j,l", "app.focus_next", "next field", "before it is done"),
    Key("left,up,k,h", "app.focus_previous", "field before", "before it is done"),
    Key("y", "copy", "copy command", "before it is done", footer=True),
    Key("escape", "back", "back", "before it is done", footer=True),
    *(Key(keys, f"text('{name}')", words, place) for place in _READ for keys, name, words in _READING),
    Key("a", "decide('approve')", "decide what it waits for", "while it is done", footer=True),
    Key("A", "abort", "abort it", "while it is done", footer=True),
    Key("y", "copy", "copy command", "while it is done", footer=True),
    Key("Y", "copy_next", "copy the command that goes on", "while it is done"),
    Key("escape,left,h", "back", "back", "while it is done", footer=True),
    Key("n", "next_change(1)", "next difference", "comparison", footer=True),
    Key("N", "next_change(-1)", "difference before", "comparison"),
    Key("y", "copy", "copy command", "comparison", footer=True),
    Key("escape,left,h", "back", "back", "comparison", footer=True),
    Key("enter", "screen.open", "how it went", "what was done", footer=True),
    Key("y", "screen.copy", "copy its command line", "what was done", footer=True),
)
"""In the order of the help."""


def bindings(*places: Place) -> list[BindingType]:
    """The bindings of a place."""
    return [
        Binding(key.pressed, key.action, key.words, show=key.footer, key_display=key.shown or None) for key in KEYS if key.where in places
    ]


def display(key: Key) -> str:
    """The key as a person reads it: ``?``, ``enter, right, l``."""
    return ", ".join(_NAMES.get(name, name.replace("+", " ")) for name in key.pressed.split(","))


_NAMES = {
    "question_mark": "?",
    "slash": "/",
    "pagedown": "page down",
    "pageup": "page up",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
}
