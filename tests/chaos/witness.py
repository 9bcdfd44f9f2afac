"""What was really done, as the tools told it themselves: the lines of ``agents/tools.py``, whatever a log says.

    start SESSION CALL EPOCH PID NONCE TIME
    end   SESSION CALL EPOCH PID NONCE TIME

A call that is begun has a nonce of its own, which is its result too. TIME is in seconds since 1970.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

SENT = "in-2"
"""The id of the input that the person of these tests sends to each session; ``in-1`` is the one it began with."""


class Doing(NamedTuple):
    """One time that a call was begun: under which epoch, by which process, when, and whether it came to its end."""

    session: str
    call: str
    epoch: int
    pid: int
    nonce: str
    at: float
    ended: bool


Seen = dict[tuple[str, str], list[Doing]]
"""What was done for each call of each session, in the order in which it was begun."""


def seen(file: Path) -> Seen:
    """Reads what the tools told."""
    lines = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
    ended = {nonce for word, _, _, _, _, nonce, _ in lines if word == "end"}
    found: Seen = defaultdict(list)
    for word, session, call, epoch, pid, nonce, at in lines:
        if word == "start":
            found[session, call].append(Doing(session, call, int(epoch), int(pid), nonce, float(at), nonce in ended))
    return found


def twice(done: Iterable[Doing]) -> list[tuple[Doing, Doing]]:
    """Each that was begun again, beside the one before it."""
    ordered = list(done)
    return list(zip(ordered, ordered[1:], strict=False))


def rejects(session: str, call: str) -> bool:
    """Whether the person of these tests rejects a call, should it be asked for."""
    return crc32(f"{session}/{call}".encode()) % 5 == 0
