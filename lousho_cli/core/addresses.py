"""Addresses: how a person names a session, one of its checkpoints, or any point of its log.

trip         the session
trip@3       the newest kept entry of step 3, of the newest run that has one
trip@3.1     the first entry of that step
trip@2/3     step 3 of run 2; trip@2/3.1 its first entry
trip#128     the log up to seq 128
"""

from __future__ import annotations

import re

import msgspec

from lousho_cli.core.session_ids import check_session_id
from lousho_cli.domain.session import Marked, Session
from lousho_cli.errors import ConfigurationError, NotFoundError

_POINT = re.compile(r"(?:(\d{1,9})/)?(\d{1,9})(?:\.(\d{1,9}))?\Z")
_SEQ = re.compile(r"\d{1,15}\Z")

CHECKPOINT_NOT_FOUND = "LOUSHO_CHECKPOINT_NOT_FOUND"


class Address(msgspec.Struct, frozen=True):
    """A session, or a point in it: either ``step`` (with ``run`` and ``n`` where given) or ``seq``."""

    session: str
    step: int | None = None
    run: int | None = None
    n: int | None = None
    seq: int | None = None

    @property
    def is_point(self) -> bool:
        return self.step is not None or self.seq is not None

    def __str__(self) -> str:
        if self.seq is not None:
            return f"{self.session}#{self.seq}"
        if self.step is None:
            return self.session
        return f"{self.session}@{'' if self.run is None else f'{self.run}/'}{self.step}{'' if self.n is None else f'.{self.n}'}"


def parse_address(text: str) -> Address:
    """Reads an address.

    Raises:
        ConfigurationError: it is none.
    """
    mark = re.search("[@#]", text)
    if mark is None:
        return Address(check_session_id(text))
    return point_of(check_session_id(text[: mark.start()]), text[mark.start() :])


def point_of(session: str, point: str) -> Address:
    """A point of a session. ``point`` begins with its ``@`` or ``#``; the session may have any id.

    Raises:
        ConfigurationError: it is none.
    """
    if point.startswith("#") and _SEQ.match(point[1:]):
        return Address(session, seq=int(point[1:]))
    found = _POINT.match(point[1:]) if point.startswith("@") else None
    if found is None:
        detail = f"{session + point!r} is no address"
        raise ConfigurationError(detail, field="address", hint="Use SESSION@3, SESSION@3.1, SESSION@R/3 or SESSION#128.")
    run, step, n = found.groups()
    return Address(session, step=int(step), run=None if run is None else int(run), n=None if n is None else int(n))


def find_mark(session_id: str, session: Session, address: Address) -> Marked:
    """The kept checkpoint that an address by step means.

    Raises:
        NotFoundError: none is kept there; ``kept`` lists the steps that are.
    """
    for mark in reversed(session.marks):
        if mark.step != address.step or (address.run is not None and mark.run.number != address.run):
            continue
        if address.n is None or mark.n == address.n:
            return mark
    point = str(address).partition("@")[2]
    raise checkpoint_not_found(session_id, session, f"no checkpoint {point}")


def trimmed_away(session_id: str, session: Session, seq: int) -> NotFoundError:
    """The error for a point of a log that stands before where it now begins."""
    return checkpoint_not_found(session_id, session, f"no record #{seq} any more: its log was trimmed behind it")


def checkpoint_not_found(session_id: str, session: Session, what: str) -> NotFoundError:
    """The error for a checkpoint that is not kept, listing the steps that are."""
    kept = [str(step) for step in sorted({mark.step for mark in session.marks})]
    listed = f"Kept steps: {', '.join(kept) or 'none'}."
    if not kept and session.latest is not None:
        listed = "Kept steps: none, because it was saved without a history (history_limit 0, or before its store kept one)."
    return NotFoundError(f"session {session_id} has {what}", kept=kept, code=CHECKPOINT_NOT_FOUND, hint=listed, session_id=session_id)
