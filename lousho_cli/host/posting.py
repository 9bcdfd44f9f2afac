"""How what a person or program wants of a thread is put into a post, checked before anything is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from lousho_cli.core.admit import must_say_something
from lousho_cli.core.appending import is_reserved, wrong_with
from lousho_cli.core.entering import AppendBody, Busy, InputBody, ResetBody, SettingBody, WakeBody
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Input, Message, messages_from, without_system
from lousho_cli.domain.plain import plain, text_of
from lousho_cli.domain.times import stamp
from lousho_cli.errors import ConfigurationError
from lousho_cli.ports.clock import Clock

KEPT_OVERRIDES = ("model", "model_options", "reasoning", "prompt_cache")
"""What an input may want otherwise that a log can keep."""

HANDED_OVERRIDES = ("adapter", "tools")
"""What it may want that are objects: used only by the host they were handed to."""


def input_post(
    clock: Clock, by: str | None, messages: Sequence[Message], input_id: str | None, busy: Busy, kept: Mapping[str, Any]
) -> Post:
    """The post of an input; of one that only goes on where there are no messages.

    Raises:
        ConfigurationError: ``busy`` is none of the three.
    """
    if busy not in ("queue", "steer", "reject"):
        raise ConfigurationError(f"busy is {busy!r:.40}", field="busy", hint="Use queue, steer or reject.")
    body = InputBody(tuple(messages), busy, dict(kept))
    return Post(_named(clock, input_id), "input", clock.now(), by, msgspec.to_builtins(body))


def reset_post(clock: Clock, by: str | None, note: str | None, input_id: str | None) -> Post:
    """The post of a reset."""
    if not isinstance(note, str | None):
        raise ConfigurationError("the note of a reset is text", field="note")
    body = ResetBody(None if note is None else text_of(note))
    return Post(_named(clock, input_id), "reset", clock.now(), by, msgspec.to_builtins(body))


def append_post(clock: Clock, by: str | None, records: Sequence[Mapping[str, Any]], input_id: str | None) -> Post:
    """The post of a user's own records.

    Raises:
        ConfigurationError: there is none, or one that may not stand in a log; ``field`` names it.
    """
    if isinstance(records, (str, bytes, Mapping)) or not isinstance(records, Sequence) or not records:
        raise ConfigurationError("records is a list of at least one record", field="records")
    for number, record in enumerate(records):
        wrong = wrong_with(record) if isinstance(record, Mapping) else "it is no mapping"
        if wrong is not None:
            code = "LOUSHO_RECORD_RESERVED" if isinstance(record, Mapping) and is_reserved(record) else None
            raise ConfigurationError(f"record {number} can not be appended: {wrong}", field=f"records.{number}.type", code=code)
    body = AppendBody(tuple(plain(dict(record))[0] for record in records))
    return Post(_named(clock, input_id), "append", clock.now(), by, msgspec.to_builtins(body))


def setting_post(clock: Clock, by: str | None, name: str, value: Any) -> Post:
    """The post of a setting.

    Raises:
        ConfigurationError: it has no name, or its value is not plain JSON.
    """
    if not isinstance(name, str) or not name.strip():
        raise ConfigurationError("a setting has a name", field="name")
    kept, altered = plain(value)
    if altered:
        raise ConfigurationError(f"setting {name:.40} holds what JSON does not", field="value")
    return Post(clock.new_id(), "setting", clock.now(), by, msgspec.to_builtins(SettingBody(text_of(name), kept)))


def wake_post(clock: Clock, by: str | None, time: datetime | str | None, messages: Sequence[Message], input_id: str | None) -> Post:
    """The post of a wish to be taken up at a time; None takes the wish back.

    Raises:
        ConfigurationError: the time is none, or does not say its zone.
    """
    if time is None:
        at = None
    else:
        try:
            moment = datetime.fromisoformat(time) if isinstance(time, str) else time
            at = stamp(moment) if moment.tzinfo is not None else None
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ConfigurationError(f"{time!r:.60} is no time", field="time", hint="Give a datetime, or ISO 8601 text.") from error
        if at is None:
            raise ConfigurationError(f"{time!s:.60} does not say its time zone", field="time", hint="Give a time with its zone.")
    body = WakeBody(at, tuple(messages) if at is not None else ())
    return Post(_named(clock, input_id), "wake", clock.now(), by, msgspec.to_builtins(body))


def command_post(clock: Clock, by: str | None, name: str, args: Any) -> Post:
    """The post of a command.

    Raises:
        ConfigurationError: it has no name, or its arguments are not plain JSON.
    """
    if not isinstance(name, str) or not name:
        raise ConfigurationError("a command has a name", field="name")
    kept, altered = plain(args)
    if altered:
        raise ConfigurationError(f"the arguments of command {name:.40} hold what JSON does not", field="args")
    return Post(clock.new_id(), "command", clock.now(), by, {"name": text_of(name), "args": kept})


def said_in(value: Input, field: str = "input") -> tuple[Message, ...]:
    """The messages of an input.

    Raises:
        ConfigurationError: there is nothing in it.
    """
    messages = tuple(must_say_something(without_system(messages_from(value))))
    if not messages:
        raise ConfigurationError("there is nothing in the input", field=field)
    return messages


def overrides_from(value: Mapping[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """What an input wants otherwise: what a log keeps of it, and the objects.

    Raises:
        ConfigurationError: it names something that can not be overridden, or holds what JSON does not.
    """
    given = dict(value or {})
    unknown = next((name for name in given if name not in (*KEPT_OVERRIDES, *HANDED_OVERRIDES)), None)
    if unknown is not None:
        raise ConfigurationError(
            f"{unknown} can not be overridden", field=f"overrides.{unknown}", hint=f"Use {', '.join((*KEPT_OVERRIDES, *HANDED_OVERRIDES))}."
        )
    kept = {}
    for name in KEPT_OVERRIDES:
        if given.get(name) is not None:
            kept[name], altered = plain(given[name])
            if altered:
                raise ConfigurationError(f"the override {name} holds what JSON does not", field=f"overrides.{name}")
    return kept, {name: given[name] for name in HANDED_OVERRIDES if given.get(name) is not None}


def _named(clock: Clock, input_id: str | None) -> str:
    return clock.new_id() if input_id is None else text_of(input_id)
