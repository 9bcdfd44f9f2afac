"""What a reader makes of a stored session: entries in their order, what it could not read, and what it left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from lousho_cli.domain.messages import Message
from lousho_cli.domain.usage import CallUsage

Lines = Callable[[], Iterator[bytes]]
"""The lines of a file, from its first on, each time it is called. A line may keep its newline."""


class Entry(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One message of a stored session.

    at: when it was said, ISO 8601 in UTC with milliseconds, '' where nobody noted it. place: its line or number in the source,
    from 1. model, usage, finish: of an answer, as far as they are known. reset: what came before it the model no longer saw.
    """

    message: Message
    at: str = ""
    place: int = 0
    model: str = ""
    usage: CallUsage | None = None
    finish: str = ""
    reset: bool = False


class BadLine(msgspec.Struct, frozen=True):
    """A line, or the numbered part of a document, that could not be read, and why."""

    line: int
    why: str


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """One session as it was found.

    id: its own, where it has one. entries: gives them from the first on, each time it is called. asked, answered: the ids of
    all calls and of all results in them. details: what else is known of it, plain JSON. parent: the session whose sub-agent it is.
    bad: what could not be read. skipped: how many of which kinds were no part of the talk. told: what else a person should know.
    """

    kind: str
    id: str
    agent: str
    entries: Callable[[], Iterator[Entry]]
    asked: Mapping[str, int]
    answered: Mapping[str, int]
    unit: str = "message"
    details: dict[str, Any] = {}
    parent: str | None = None
    bad: tuple[BadLine, ...] = ()
    skipped: dict[str, int] = {}
    told: tuple[str, ...] = ()


def source_of(kind: str, session_id: str, agent: str, entries: Iterable[Entry], **more: Any) -> Source:
    """A source whose entries are all at hand. ``more``: its further fields."""
    known = tuple(entries)
    asked = Counter(call.id for entry in known for call in entry.message.tool_calls)
    answered = Counter(entry.message.tool_call_id or "" for entry in known if entry.message.role == "tool")
    return Source(kind=kind, id=session_id, agent=agent, entries=lambda: iter(known), asked=asked, answered=answered, **more)
