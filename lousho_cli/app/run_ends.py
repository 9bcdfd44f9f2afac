"""How a turn that a host drove came to rest, as commands show it."""

from __future__ import annotations

import msgspec

from lousho_cli.app.driving import done_of
from lousho_cli.app.results import PendingItem, RunDone, RunFailure
from lousho_cli.app.sessions import pending_item
from lousho_cli.core.heads import head_of
from lousho_cli.domain.session import Session
from lousho_cli.executor.results import result_of


def done_of_session(session_id: str, session: Session, failure: Exception | None = None) -> RunDone:
    """The run as it came back. What it failed of is ``failure``, else what its log says."""
    done = done_of(result_of(session_id, session), failure)
    if session.outcome != "failed" or done.error is not None:
        return done
    failed = RunFailure(message=session.error or "the run failed", code=session.error_code)
    return msgspec.structs.replace(done, error=failed, finish_reason="error")


def item_of_session(session_id: str, session: Session) -> PendingItem | None:
    """What a session waits for, None when it does not wait."""
    return pending_item(msgspec.structs.replace(head_of(session), id=session_id))
