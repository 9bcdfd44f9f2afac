"""Reading a session through the log port: the one function that everybody who holds a store would write."""

from __future__ import annotations

from lousho_cli.core.fold import fold
from lousho_cli.core.states import session_from
from lousho_cli.domain.session import Session
from lousho_cli.ports.log_store import Log


async def read_session(store: Log, log_id: str, up_to: int | None = None) -> Session:
    """The session of a log, from its snapshot and what stands behind it; an unknown log is an empty session.

    Args:
        up_to: fold no batch behind this seq; None folds all.

    Raises:
        StorageError: it can not be read.
    """
    state = await store.load_snapshot(log_id)
    if state is not None and up_to is not None and state.seq > up_to:
        state = None
    before = session_from(state) if state else Session()
    batches = (await store.read(log_id, after=before.seq)).batches
    return fold(batches if up_to is None else [batch for batch in batches if batch.seq <= up_to], before)
