"""Who drives the sessions that have not ended, asked a share at a time: each question costs a look at the session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice

import msgspec

from lousho_cli.app.sessions import Listed
from lousho_cli.errors import StorageError
from lousho_cli.ports.log_store import LogStore

_NEWEST = 200
"""Of so many sessions, the newest that have not ended, it is asked at each look."""

_IN_TURN = 200
"""Of so many others at each look: first those that are new or have changed, then those asked longest ago."""


class Driven(msgspec.Struct, frozen=True):
    """Who drives what, as far as it was asked.

    by: in words, by session id, where somebody does. unasked: sessions that have not ended and whose turn has not come yet.
    """

    by: dict[str, str] = {}
    unasked: frozenset[str] = frozenset()


class Drivers:
    """Remembers the answers, so that each session is asked for sooner or later, and one that is being written to at once."""

    def __init__(self) -> None:
        self._answers: dict[str, tuple[Listed, str | None]] = {}  # those asked longest ago first

    async def ask(self, store: LogStore, sessions: Iterable[Listed]) -> Driven:
        """Asks for a share of the sessions.

        Args:
            sessions: all there are, newest first.
        """
        unfinished = [one for one in sessions if one.status == "in-progress"]
        others = {one.id: one for one in unfinished[_NEWEST:]}
        for session in chain(unfinished[:_NEWEST], islice(self._in_turn(others), _IN_TURN)):
            self._answers.pop(session.id, None)
            self._answers[session.id] = (session, await _owner(store, session.id))
        there = {one.id for one in unfinished}
        self._answers = {session_id: answer for session_id, answer in self._answers.items() if session_id in there}
        by = {session_id: owner for session_id, (_, owner) in self._answers.items() if owner is not None}
        return Driven(by, frozenset(there - self._answers.keys()))

    def _in_turn(self, others: dict[str, Listed]) -> Sequence[Listed]:
        changed = [one for one in others.values() if one.id not in self._answers or self._answers[one.id][0] != one]
        fresh = {one.id for one in changed}
        return [*changed, *(others[session_id] for session_id in self._answers if session_id in others and session_id not in fresh)]


async def _owner(store: LogStore, session_id: str) -> str | None:
    try:
        owner = await store.owner(session_id)
    except StorageError:
        return None  # it was removed meanwhile, or its folder is closed: the list says what can be said
    return owner.describe() if owner is not None else None
