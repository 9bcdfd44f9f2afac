"""The ring of a session: its kept checkpoints, newest first."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lousho_cli.app.loading import Loaded, load
from lousho_cli.app.results import Status
from lousho_cli.app.sessions import find_session
from lousho_cli.app.usage import Totals, totals_of
from lousho_cli.core.addresses import parse_address
from lousho_cli.core.limits import used_with_sub_agents
from lousho_cli.domain.codec import encode_value
from lousho_cli.domain.messages import Message
from lousho_cli.domain.session import Marked
from lousho_cli.domain.shared import Shared
from lousho_cli.errors import AmbiguousError, ConfigurationError, NotFoundError
from lousho_cli.ports.sessions import Sessions


class HistoryEntry(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One kept checkpoint. ``added`` says what it added, ``bytes`` is the size of its transcript as JSON, ``usage`` of its run so far."""

    address: str
    seq: int
    step: int
    status: Status
    saved_at: str
    added: tuple[str, ...]
    bytes: int
    finish_reason: str
    usage: Totals
    approval_id: str | None = None


async def history(store: Sessions | None, name: str, limit: int | None = None) -> tuple[tuple[HistoryEntry, ...], Loaded | None]:
    """The kept checkpoints of a session, and the session; none for one that is not there.

    Args:
        name: an id, or the beginning of one.
        limit: at most so many, the newest; None means all that are kept.

    Raises:
        ConfigurationError: it may not be an id, or is an address in a session.
        AmbiguousError: several sessions begin so.
    """
    address = parse_address(name)
    if address.is_point:
        raise ConfigurationError(
            f"{name} is one checkpoint, and history lists those of a session",
            field="session",
            hint=f"See them: lousho history {address.session}; see this one: lousho show {name}",
        )
    try:
        store, session_id = await find_session(store, address.session)
    except AmbiguousError:
        raise
    except NotFoundError:
        return (), None
    loaded = await load(store, session_id)
    return entries_of(loaded)[:limit], loaded


def entries_of(loaded: Loaded, sizes: Sizes | None = None) -> tuple[HistoryEntry, ...]:
    """The ring of a session that was read. ``sizes``: those of an earlier look at it, which then need not be measured again."""
    session = loaded.session
    sizes = sizes or Sizes()
    sizes.grow(session.messages)
    found = []
    before: Marked | None = None
    for mark in session.marks:
        found.append(
            HistoryEntry(
                address=f"{loaded.id}@{mark.address}",
                seq=mark.seq,
                step=mark.step,
                status=mark.status,
                saved_at=mark.at,
                added=tuple(map(_said, added_by(mark, before))),
                bytes=sizes.of(mark),
                finish_reason=mark.finish_reason,
                usage=totals_of(used_with_sub_agents(mark)),
                approval_id=mark.approval_id,
            )
        )
        before = mark
    return tuple(reversed(found))


def added_by(mark: Marked, before: Marked | None) -> Sequence[Message]:
    """What a mark has that the one before it had not; of the oldest kept one, its last turn and what follows it."""
    if before is not None and len(before.messages) <= len(mark.messages):
        return mark.messages[len(before.messages) :]
    start = len(mark.messages)
    while start and mark.messages[start - 1].role == "tool":
        start -= 1
    return mark.messages[max(start - 1, 0) :]


def _said(message: Message) -> str:
    if message.tool_calls:
        return f"assistant calls {', '.join(call.name for call in message.tool_calls)}"
    if message.role == "tool":
        return f"{'error' if message.is_error else 'result'} of {message.tool_name or message.tool_call_id}"
    return message.role


class Sizes:
    """How large each transcript of a ring is, with each message measured once where they share their list."""

    def __init__(self) -> None:
        self._newest: Shared[Message] = Shared()
        self._ends = [2]

    def grow(self, newest: Shared[Message]) -> None:
        """Measures what ``newest`` has that was not measured yet."""
        if not newest.shares_with(self._newest):
            self._ends = [2]
        self._newest = newest
        for message in newest[len(self._ends) - 1 :]:
            self._ends.append(self._ends[-1] + len(encode_value(message)) + 1)

    def of(self, mark: Marked) -> int:
        """The bytes of a mark's transcript as JSON."""
        own = mark.messages
        shared = own.shares_with(self._newest) and len(own) < len(self._ends)
        held = sum(len(encode_value(message)) + 1 for message in mark.held)
        return held + (self._ends[len(own)] if shared else 2 + sum(len(encode_value(message)) + 1 for message in own))
