"""What a person writes for the scripted provider, read once and checked as a whole.

A script is a list of entries, one for each answer of the model. An entry is a text, a
dictionary, or a list of dictionaries of which the first that applies is played.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
        ConfigurationError: something is wrong; the detail names all of it, ``field`` is the path of the
            first, such as ``provider.turns.2.tool_calls.0.name``.
    """
    reader = _Reader()
    entries = reader.script(turns, path)
    if len(reader.wrong) == 1:
        raise reader.wrong[0]
    if reader.wrong:
        told = "; ".join(f"{one.detail} ({one.hint})" if one.hint else one.detail for one in reader.wrong)
        raise ConfigurationError(told, field=reader.wrong[0].field)
    return entries


def script_issues(turns: Any, path: str = "provider.turns") -> tuple[ConfigurationError, ...]:
    """Everything that is wrong with a script, each with its path."""
    reader = _Reader()
    reader.script(turns, path)
    return tuple(reader.wrong)


class _Reader:
    """Reads a script to its end, whatever is wrong with it; ``wrong`` has what was, and something harmless stands in for it."""

    def __init__(self) -> None:
        self.wrong: list[ConfigurationError] = []

    def script(self, turns: Any, path: str) -> tuple[tuple[Entry, ...], ...]:
        before = len(self.wrong)
        entries = tuple(self._alternatives(turn, f"{path}.{number}") for number, turn in enumerate(self._list(turns, path)))
        if not entries and len(self.wrong) == before:
            self._say(path, "must have at least one entry")
        return entries

    def _alternatives(self, turn: Any, path: str) -> tuple[Entry, ...]:
        if isinstance(turn, str):
            return (Entry(text=turn),)
        if isinstance(turn, Mapping):
            return (self._entry(turn, path),)
        if isinstance(turn, bytes) or not isinstance(turn, Sequence):
            self._say(path, "must be a text, an entry, or a list of entries")
            return ()
        if not turn:
            self._say(path, "must have at least one alternative")
        return tuple(Entry(text=item) if isinstance(item, str) else self._entry(item, f"{path}.{n}") for n, item in enumerate(turn))

    def _entry(self, value: Any, path: str) -> Entry:
        fields = self._fields(value, path, Entry.__struct_fields__)
        finish = fields.get("finish_reason")
        if finish is not None and finish not in FINISH_REASONS:
            self._say(f"{path}.finish_reason", f"must be one of {', '.join(FINISH_REASONS)}")
        return Entry(
            text=self._text(fields.get("text") or "", f"{path}.text"),
            tool_calls=self._calls(fields.get("tool_calls") or (), f"{path}.tool_calls"),
            usage=self._usage(fields.get("usage"), f"{path}.usage"),
            delay=self._seconds(fields.get("delay") or 0, f"{path}.delay"),
            finish_reason=finish,
            error=self._error(fields.get("error"), f"{path}.error"),
            when=self._when(fields.get("when"), f"{path}.when"),
        )

    def _calls(self, value: Any, path: str) -> tuple[ScriptedCall, ...]:
        calls: list[ScriptedCall] = []
        for number, item in enumerate(self._list(value, path)):
            at = f"{path}.{number}"
            before = len(self.wrong)
            fields = self._fields(item, at, ("name", "args", "id"))
            call_id, name = fields.get("id"), fields.get("name")
            if call_id is not None and (not isinstance(call_id, str) or not call_id or call_id in [call.id for call in calls]):
                self._say(f"{at}.id", "must be a text that no other call of the entry has")
            if (not isinstance(name, str) or not name) and len(self.wrong) == before:
                self._say(f"{at}.name", "must name a tool")
            calls.append(ScriptedCall(str(name), self._arguments(fields.get("args"), f"{at}.args"), call_id))
        return tuple(calls)

    def _arguments(self, value: Any, path: str) -> str:
        """Arguments as the model's text. A text is taken as it is, so that a script can send what is no JSON."""
        return value if isinstance(value, str) else self._json({} if value is None else value, path)

    def _json(self, value: Any, path: str) -> str:
        try:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            self._say(path, f"must be JSON data ({error})")
            return ""

    def _usage(self, value: Any, path: str) -> CallUsage | None:
        if value is None:
            return None
        before = len(self.wrong)
        fields = self._fields(value, path, CallUsage.__struct_fields__)
        for name, number in fields.items():
            whole = name != "cost_usd"
            if isinstance(number, bool) or not isinstance(number, int if whole else int | float) or number < 0:
                self._say(f"{path}.{name}", f"must be a {'whole ' if whole else ''}number, 0 or more")
        return CallUsage(**fields) if len(self.wrong) == before else None

    def _error(self, value: Any, path: str) -> ScriptedError | None:
        """``disconnect``, also as a key with anything behind it, or a status with what the server says."""
        if value is None:
            return None
        if isinstance(value, str) and value.partition(":")[0].strip() == "disconnect":
            return ScriptedError()
        before = len(self.wrong)
        fields = self._fields(value, path, ("status", "message", "retry_after", "times", "disconnect"))
        times, status, retry_after = fields.get("times"), fields.get("status"), fields.get("retry_after")
        if times is not None and (isinstance(times, bool) or not isinstance(times, int) or times < 1):
            self._say(f"{path}.times", "must be a whole number, 1 or more")
        if "disconnect" in fields:
            if status is not None:
                self._say(f"{path}.status", "can not stand beside disconnect")
            return ScriptedError(times=times)
        known = isinstance(status, int) and not isinstance(status, bool) and 400 <= status <= 599
        if not known and ("status" in fields or len(self.wrong) == before):
            self._say(f"{path}.status", "must be an HTTP status from 400 to 599, or the error must be: disconnect")
        message = self._text(fields.get("message") or "", f"{path}.message")
        return ScriptedError(status, message, None if retry_after is None else str(retry_after), times)

    def _when(self, value: Any, path: str) -> When | None:
        if value is None:
            return None
        before = len(self.wrong)
        fields = self._fields(value, path, When.__struct_fields__)
        texts = {name: self._text(fields[name], f"{path}.{name}") for name in ("tool", "contains", "user") if name in fields}
        if "contains" in texts and "tool" not in texts:
            self._say(f"{path}.contains", "needs a tool beside it")
        result = fields.get("result", {})
        if not isinstance(result, Mapping):
            self._say(f"{path}.result", "must map call ids to results")
            return None
        for call_id, expected in result.items():
            self._json(expected, f"{path}.result.{call_id}")
        if not texts and not result and len(self.wrong) == before:
            self._say(path, "must have a condition: tool, user or result")
        return When(**texts, result=tuple((str(call_id), expected) for call_id, expected in result.items()))

    def _fields(self, value: Any, path: str, names: tuple[str, ...]) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            self._say(path, f"must have fields: {', '.join(names)}")
            return {}
        for name in value:
            if name not in names:
                near = get_close_matches(str(name), names, 1)
                self._say(f"{path}.{name}", "is not known", f"Did you mean {near[0]}?" if near else f"Known are {', '.join(names)}.")
        return {name: item for name, item in value.items() if name in names}

    def _list(self, value: Any, path: str) -> Sequence[Any]:
        if isinstance(value, str | bytes) or not isinstance(value, Sequence):
            self._say(path, "must be a list")
            return ()
        return value

    def _text(self, value: Any, path: str) -> str:
        if not isinstance(value, str):
            self._say(path, "must be a text")
        return str(value)

    def _seconds(self, value: Any, path: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
            self._say(path, "must be a number of seconds, 0 or more")
            return 0.0
        return float(value)

    def _say(self, path: str, what: str, hint: str = "") -> None:
        self.wrong.append(ConfigurationError(f"{path} {what}", field=path, hint=hint))
