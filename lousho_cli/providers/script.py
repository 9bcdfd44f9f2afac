"""What a person writes for the scripted provider, read once and checked as a whole.

A script is a list of entries, one for each answer of the model. An entry is a text, a
dictionary, or a list of dictionaries of which the first that applies is played.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import msgspec

from lousho_cli.domain.usage import CallUsage
from lousho_cli.errors import ConfigurationError

FINISH_REASONS = ("stop", "length", "tool_calls", "content_filter", "error", "other")


class ScriptedCall(msgspec.Struct, frozen=True):
    """A call to make. ``id`` None means one made from the entry's number; ``arguments`` is its text."""

    name: str
    arguments: str = "{}"
    id: str | None = None


class ScriptedError(msgspec.Struct, frozen=True):
    """How a call of the model fails. ``status`` None is a lost connection; ``times`` None is always."""

    status: int | None = None
    message: str = ""
    retry_after: str | None = None
    times: int | None = None


class When(msgspec.Struct, frozen=True):
    """When an entry applies: every condition that is given must hold."""

    tool: str | None = None
    contains: str | None = None
    user: str | None = None
    result: tuple[tuple[str, Any], ...] = ()


class Entry(msgspec.Struct, frozen=True):
    """One answer, or one way to fail."""

    text: str = ""
    tool_calls: tuple[ScriptedCall, ...] = ()
    usage: CallUsage | None = None
    delay: float = 0.0
    finish_reason: str | None = None
    error: ScriptedError | None = None
    when: When | None = None

    @property
    def says_nothing(self) -> bool:
        return not self.text and not self.tool_calls


def read_script(turns: Any, path: str = "provider.turns") -> tuple[tuple[Entry, ...], ...]:
    """The alternatives of each entry, in order.

    Raises:
        ConfigurationError: something is wrong; ``field`` is its path, such as ``provider.turns.2.tool_calls.0.name``.
    """
    entries = tuple(_alternatives(turn, f"{path}.{number}") for number, turn in enumerate(_list(turns, path)))
    if not entries:
        raise _wrong(path, "must have at least one entry")
    return entries


def _alternatives(turn: Any, path: str) -> tuple[Entry, ...]:
    if isinstance(turn, str):
        return (Entry(text=turn),)
    if isinstance(turn, Mapping):
        return (_entry(turn, path),)
    if isinstance(turn, bytes) or not isinstance(turn, Sequence):
        raise _wrong(path, "must be a text, an entry, or a list of entries")
    alternatives = tuple(
        Entry(text=item) if isinstance(item, str) else _entry(item, f"{path}.{number}") for number, item in enumerate(turn)
    )
    if not alternatives:
        raise _wrong(path, "must have at least one alternative")
    return alternatives


def _entry(value: Any, path: str) -> Entry:
    fields = _fields(value, path, Entry.__struct_fields__)
    finish = fields.get("finish_reason")
    if finish is not None and finish not in FINISH_REASONS:
        raise _wrong(f"{path}.finish_reason", f"must be one of {', '.join(FINISH_REASONS)}")
    return Entry(
        text=_text(fields.get("text") or "", f"{path}.text"),
        tool_calls=_calls(fields.get("tool_calls") or (), f"{path}.tool_calls"),
        usage=_usage(fields.get("usage"), f"{path}.usage"),
        delay=_seconds(fields.get("delay") or 0, f"{path}.delay"),
        finish_reason=finish,
        error=_error(fields.get("error"), f"{path}.error"),
        when=_when(fields.get("when"), f"{path}.when"),
    )


def _calls(value: Any, path: str) -> tuple[ScriptedCall, ...]:
    calls: list[ScriptedCall] = []
    for number, item in enumerate(_list(value, path)):
        at = f"{path}.{number}"
        fields = _fields(item, at, ("name", "args", "id"))
        call_id = fields.get("id")
        if call_id is not None and (not _text(call_id, f"{at}.id") or call_id in [call.id for call in calls]):
            raise _wrong(f"{at}.id", "must be a text that no other call of the entry has")
        name = _text(fields.get("name"), f"{at}.name")
        if not name:
            raise _wrong(f"{at}.name", "must name a tool")
        calls.append(ScriptedCall(name, _arguments(fields.get("args"), f"{at}.args"), call_id))
    return tuple(calls)


def _arguments(value: Any, path: str) -> str:
    """Arguments as the model's text. A text is taken as it is, so that a script can send what is no JSON."""
    if isinstance(value, str):
        return value
    return _json({} if value is None else value, path)


def _json(value: Any, path: str) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise _wrong(path, f"must be JSON data ({error})") from None


def _usage(value: Any, path: str) -> CallUsage | None:
    if value is None:
        return None
    fields = _fields(value, path, CallUsage.__struct_fields__)
    for name, number in fields.items():
        whole = name != "cost_usd"
        if isinstance(number, bool) or not isinstance(number, int if whole else int | float) or number < 0:
            raise _wrong(f"{path}.{name}", f"must be a {'whole ' if whole else ''}number, 0 or more")
    return CallUsage(**fields)


def _error(value: Any, path: str) -> ScriptedError | None:
    """``disconnect``, also as a key with anything behind it, or a status with what the server says."""
    if value is None:
        return None
    if isinstance(value, str) and value.partition(":")[0].strip() == "disconnect":
        return ScriptedError()
    fields = _fields(value, path, ("status", "message", "retry_after", "times", "disconnect"))
    times, status, retry_after = fields.get("times"), fields.get("status"), fields.get("retry_after")
    if times is not None and (isinstance(times, bool) or not isinstance(times, int) or times < 1):
        raise _wrong(f"{path}.times", "must be a whole number, 1 or more")
    if "disconnect" in fields:
        if status is not None:
            raise _wrong(f"{path}.status", "can not stand beside disconnect")
        return ScriptedError(times=times)
    if isinstance(status, bool) or not isinstance(status, int) or not 400 <= status <= 599:
        raise _wrong(f"{path}.status", "must be an HTTP status from 400 to 599, or the error must be: disconnect")
    return ScriptedError(
        status=status,
        message=_text(fields.get("message") or "", f"{path}.message"),
        retry_after=None if retry_after is None else str(retry_after),
        times=times,
    )


def _when(value: Any, path: str) -> When | None:
    if value is None:
        return None
    fields = _fields(value, path, When.__struct_fields__)
    texts = {name: _text(fields[name], f"{path}.{name}") for name in ("tool", "contains", "user") if name in fields}
    if "contains" in texts and "tool" not in texts:
        raise _wrong(f"{path}.contains", "needs a tool beside it")
    result = fields.get("result", {})
    if not isinstance(result, Mapping):
        raise _wrong(f"{path}.result", "must map call ids to results")
    for call_id, expected in result.items():
        _json(expected, f"{path}.result.{call_id}")
    if not texts and not result:
        raise _wrong(path, "must have a condition: tool, user or result")
    return When(**texts, result=tuple((str(call_id), expected) for call_id, expected in result.items()))


def _fields(value: Any, path: str, known: Iterable[str]) -> dict[str, Any]:
    names = tuple(known)
    if not isinstance(value, Mapping):
        raise _wrong(path, f"must have fields: {', '.join(names)}")
    for name in value:
        if name not in names:
            near = get_close_matches(str(name), names, 1)
            raise _wrong(f"{path}.{name}", "is not known", f"Did you mean {near[0]}?" if near else f"Known are {', '.join(names)}.")
    return dict(value)


def _list(value: Any, path: str) -> Sequence[Any]:
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise _wrong(path, "must be a list")
    return value


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise _wrong(path, "must be a text")
    return value


def _seconds(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        raise _wrong(path, "must be a number of seconds, 0 or more")
    return float(value)


def _wrong(path: str, what: str, hint: str = "") -> ConfigurationError:
    return ConfigurationError(f"{path} {what}", field=path, hint=hint)
