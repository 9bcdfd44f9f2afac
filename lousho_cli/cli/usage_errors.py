"""What is wrong with a command line, in plain sentences. Typer's own words are for who writes a command line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_CALLED_ELSEWHERE = {
    "list": ("ls", "ps", "sessions", "status"),
    "run": ("start", "exec", "chat", "send"),
    "resume": ("continue", "retry", "recover"),
    "follow": ("log", "logs", "tail", "watch", "attach"),
    "show": ("cat", "get", "view", "inspect", "describe"),
    "approve": ("accept", "allow", "confirm"),
    "reject": ("deny", "decline", "refuse"),
    "abort": ("stop", "cancel", "kill"),
    "delete": ("rm", "remove"),
    "diff": ("compare",),
    "fork": ("branch", "rewind"),
    "history": ("checkpoints", "steps"),
    "tui": ("ui", "browse"),
    "eval": ("test",),
    "fsck": ("check", "verify", "repair"),
    "init": ("new", "create"),
    "--help": ("help",),
    "--version": ("version",),
}
"""What is typed by who comes from another tool, by what it is here."""


def sentence(error: Any) -> str:
    """One sentence for an error that Typer found while it read the words of a command line."""
    kind = type(error).__name__
    return _SENTENCES[kind](error) if kind in _SENTENCES else _other(error)


def _no_option(error: Any) -> str:
    name, context = error.option_name, error.ctx
    known = [opt for param in context.command.params for opt in param.opts if opt.startswith("--")] if context is not None else []
    return f"there is no option {name}{_meant(name, known)}"


def _missing(error: Any) -> str:
    return f"{_name(error)} is missing"


def _bad_value(error: Any) -> str:
    kind: Any = error.param.type if error.param is not None else None
    name = _name(error)
    given = re.match(r"('?)(.*?)\1 is not ", error.message, re.DOTALL)
    not_this = f", not {given[2]!r}" if given else ""
    if hasattr(kind, "choices") and given:
        choices = [str(one) for one in kind.choices]
        return f"{name} must be one of {', '.join(choices)}{not_this}{_meant(given[2], choices)}"
    if getattr(kind, "name", "").startswith("int") and given:
        least = getattr(kind, "min", None)
        return f"{name} must be a whole number{f', {least} or more' if least is not None else ''}{not_this}"
    return f"{name}: {error.message}"


def _other(error: Any) -> str:
    message = str(error.format_message())
    command = re.match(r"No such command '(.*?)'\.(?: |$)", message, re.DOTALL)
    if command:
        meant = next((f"; did you mean {ours}?" for ours, theirs in _CALLED_ELSEWHERE.items() if command[1] in theirs), None)
        return f"there is no command {command[1]}{meant or _meant(command[1], error.ctx.command.commands if error.ctx is not None else ())}"
    extra = re.match(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", message, re.DOTALL)
    if extra:
        return f"this is one word too many: {extra[1]}" if " " not in extra[1] else f"these are too many words: {extra[1]}"
    option = re.match(r"Option '(.*?)' (requires an argument|does not take a value)", message)
    if option:
        return f"{option[1]} {'needs a value' if 'requires' in option[2] else 'takes no value'}"
    return (message[:1].lower() + message[1:]).rstrip(".")


def _name(error: Any) -> str:
    param = error.param
    if param is None:
        return "a value"
    if param.param_type_name == "argument":
        return str(param.metavar or param.name)
    return str(next((opt for opt in param.opts if opt.startswith("--")), param.opts[0]))


def _meant(name: str, known: Iterable[str]) -> str:
    from lousho_cli.app.suggestions import TYPED, nearest

    near = nearest(name, known, TYPED)
    return f"; did you mean {near}?" if near else ""


_SENTENCES = {
    "NoSuchOption": _no_option,
    "MissingParameter": _missing,
    "BadParameter": _bad_value,
}
