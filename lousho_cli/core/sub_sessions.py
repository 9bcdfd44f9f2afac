"""The sub-agents of a log, those that ended too: a session each, for who looks into what they did.

The session itself keeps a sub-agent only while the call that started it is open.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from lousho_cli.core.accumulator import Accumulator
from lousho_cli.core.fold import apply
from lousho_cli.domain.records import Batch
from lousho_cli.domain.session import Session


class SubSession(msgspec.Struct, frozen=True):
    """One sub-agent. ``calls`` leads to it, ``path`` names it and those around it, outermost first."""

    calls: tuple[str, ...]
    path: tuple[str, ...]
    session: Session


class _Keeping(Accumulator):
    """A session being added up that lets go of nothing its sub-agents did."""

    __slots__ = ("kept",)

    kept: list[SubSession]

    def load(self, session: Session) -> None:
        super().load(session)
        self.kept = []

    def end_child(self, call_id: str) -> None:
        child = self.children.get(call_id)
        if isinstance(child, _Keeping):
            name = next((call.name for call in self.calls if call.id == call_id), "")
            self.kept += [SubSession((call_id,), (name,), child.freeze()), *_below(call_id, name, child)]
        super().end_child(call_id)


def _below(call_id: str, name: str, child: Accumulator) -> list[SubSession]:
    """All sub-agents of a sub-agent, seen from its lead."""
    inner = sub_sessions_in(child)
    return [SubSession((call_id, *one.calls), (name, *one.path), one.session) for one in inner]


def sub_sessions_in(f: Accumulator) -> list[SubSession]:
    """The sub-agents of what was added up: the ended ones as they ended, then those that go on."""
    found = list(f.kept) if isinstance(f, _Keeping) else []
    names = {call.id: call.name for call in f.calls}
    for call_id, child in f.children.items():
        name = names.get(call_id, "")
        found += [SubSession((call_id,), (name,), child.freeze()), *_below(call_id, name, child)]
    return found


def sub_sessions(batches: Iterable[Batch]) -> list[SubSession]:
    """The sub-agents that the records of a log tell of, in the order in which they ended; the open ones last."""
    f = _Keeping()
    for batch in batches:
        apply(f, batch)
    return sub_sessions_in(f)
