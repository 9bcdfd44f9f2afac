"""A run whose attempts are used up, named by a person: it is settled as such, and then goes on afresh."""

from __future__ import annotations

import socket

from lousho_cli.app.driving import Tell
from lousho_cli.core.decide import settled
from lousho_cli.core.recovery import Recovery, recovery_of
from lousho_cli.domain.session import Session
from lousho_cli.domain.texts import ATTEMPTS_EXHAUSTED
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.ports.log_store import LogStore


async def settle_used_up(store: LogStore, session_id: str, session: Session, max_attempts: int, tell: Tell) -> None:
    """Settles the run that stands open where it was begun ``max_attempts`` times; whoever goes on with it then begins to count anew.

    Raises:
        SessionBusyError: somebody drives it.
        StorageError: it can not be written.
    """
    if _used_up(session, max_attempts) is None or await store.owner(session_id) is not None:
        return
    log = await SessionLog.open(store, session_id, socket.gethostname(), SYSTEM_CLOCK, keep_ring=True)
    try:
        found = _used_up(log.session, max_attempts)
        if found is not None:
            await log.record(*settled(log.session, "failed", found.error, found.code))
            tell(f"{found.error}; it begins to count anew")
    finally:
        await log.close()


def _used_up(session: Session, max_attempts: int) -> Recovery | None:
    found = recovery_of(session, SYSTEM_CLOCK.now(), max_attempts)
    return found if found is not None and found.code == ATTEMPTS_EXHAUSTED else None
