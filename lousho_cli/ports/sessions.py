"""Looking at sessions: what that takes of a store, and the one function that everybody who holds a log store would write."""

from __future__ import annotations

from typing import Protocol

from lousho_cli.core.fold import fold
from lousho_cli.core.states import session_from
from lousho_cli.domain.heads import Head
from lousho_cli.domain.session import Session
from lousho_cli.domain.state import State
from lousho_cli.ports.log_store import Heads, Log, LogRead


class Sessions(Protocol):
    """The part of a log store that looking at sessions takes. Stores of plain checkpoints can be shown behind it too."""

    async def read(self, log_id: str, after: int = 0) -> LogRead:
        """See ``Log``."""

    async def load_snapshot(self, log_id: str) -> State | None:
        """See ``Log``."""

    async def heads(self) -> Heads:
        """See ``Index``; one that reads each session for its head may give ids alone."""

    async def head(self, log_id: str) -> Head | None:
        """See ``Index``."""


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
