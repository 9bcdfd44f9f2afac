"""Whether a value is as it should be, and how to say so in a line. Pure."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lousho_cli.errors import ConfigurationError

_SHOWN = 300
_HOLDS_FROM = 0.5


def agrees(wanted: Any, given: Any) -> bool:
    """Whether a value has at least what is wanted: the named keys of a mapping, all of a list; 1.0 is 1. A function decides itself."""
    if callable(wanted):
        return bool(_asked(wanted, given))
    if isinstance(wanted, Mapping):
        return isinstance(given, Mapping) and all(name in given and agrees(value, given[name]) for name, value in wanted.items())
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        alike = isinstance(given, Sequence) and not isinstance(given, str) and len(wanted) == len(given)
        return alike and all(agrees(one, other) for one, other in zip(wanted, given, strict=True))
    return isinstance(wanted, bool) == isinstance(given, bool) and bool(wanted == given)


def equals(wanted: Any, given: Any) -> bool:
    """Whether two values are the same, through all of their parts. 1.0 is 1, True is not; a tuple is a list."""
    if isinstance(wanted, Mapping):
        return isinstance(given, Mapping) and wanted.keys() == given.keys() and all(equals(wanted[name], given[name]) for name in wanted)
    if isinstance(wanted, list | tuple):
        alike = isinstance(given, list | tuple) and len(wanted) == len(given)
        return alike and all(equals(one, other) for one, other in zip(wanted, given, strict=True))
    return isinstance(wanted, bool) == isinstance(given, bool) and bool(wanted == given)


def _asked(check: Callable[[Any], Any], value: Any) -> Any:
    """What a function says of a value.

    Raises:
        ConfigurationError: it is async, so that it said nothing yet: what it gives would always count as true.
    """
    said = check(value)
    if inspect.isawaitable(said):
        if inspect.iscoroutine(said):
            said.close()
        raise ConfigurationError(f"{_named(check)} is async, and a check may not be", field="check", hint="Await what it needs before.")
    return said


def held(value: Any, check: Any) -> tuple[bool, float, str]:
    """Whether a value passes, its score from 0 to 1, and why it does not.

    A check that raises anything but an ``AssertionError`` is a fault of the case, and raises on.
    """
    if isinstance(check, re.Pattern):
        found = check.search(value if isinstance(value, str) else shown(value)) is not None
        return found, float(found), f"{shown(value)} does not match {check.pattern}" if not found else shown(value)
    if not callable(check):
        same = equals(check, value)
        return same, float(same), shown(value) if same else f"{shown(value)} is not {shown(check)}"
    try:
        given = _asked(check, value)
    except AssertionError as error:
        return False, 0.0, str(error) or shown(value)
    if isinstance(given, int | float) and not isinstance(given, bool):
        score = min(max(float(given), 0.0), 1.0)
        return score >= _HOLDS_FROM, score, f"score {score:g} of {shown(value)}"
    passed = given is None or bool(given)
    return passed, float(passed), shown(value)


def text_check(how: str, wanted: str) -> Callable[[str], bool]:
    """A check of a text by its name: ``equals``, ``contains``, ``not_contains`` or ``matches``."""
    if how == "equals":
        return lambda text: text.strip() == wanted.strip()
    if how == "contains":
        return lambda text: wanted in text
    if how == "not_contains":
        return lambda text: wanted not in text
    pattern = re.compile(wanted)
    return lambda text: pattern.search(text) is not None


def shown(value: Any) -> str:
    """A value in a line, shortened."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=_named)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _named(value: Any) -> str:
    return getattr(value, "__name__", None) or repr(value)


def counted(times: int) -> str:
    """A number of times in words."""
    return {0: "never", 1: "once", 2: "twice"}.get(times, f"{times} times")
