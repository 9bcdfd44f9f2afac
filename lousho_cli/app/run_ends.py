"""How a run came to rest, as commands show it, whoever drove it."""

from __future__ import annotations

import msgspec

from lousho_cli.app.results import PendingItem, RunDone, RunFailure
from lousho_cli.app.sessions import pending_item
from lousho_cli.app.usage import usage_of
from lousho_cli.core.heads import head_of
from lousho_cli.domain.session import Session
from lousho_cli.errors import SDKError
from lousho_cli.executor.results import RunResult, result_of

TOOL_STOPPED = "LOUSHO_TOOL_STOPPED_RUN"


def done_of(result: RunResult, failure: Exception | None = None) -> RunDone:
    """The ``data`` of a command that ran something."""
    failed = failure is not None
    return RunDone(
        session=result.session_id,
        status=result.status,
        outcome="failed" if failed else result.outcome,
        finish_reason="error" if failed else result.finish_reason,
        text=result.text,
        steps=result.steps,
        approval_id=result.approval_id,
        error=_failure(failure) if failure is not None else None,
        usage=usage_of(result.usage),
        guardrail=result.guardrail,
        budget=result.budget,
        abort_reason=result.abort_reason,
    )


def done_of_session(session_id: str, session: Session, failure: Exception | None = None) -> RunDone:
    """The run as it came back. What it failed of is ``failure``, else what its log says."""
    done = done_of(result_of(session_id, session), failure)
    return failed_as_said(done, session) if session.outcome == "failed" and done.error is None else done


def failed_as_said(done: RunDone, session: Session) -> RunDone:
    """A run that failed, with what the log says of it: for one that failed elsewhere, or before this process drove it."""
    failure = RunFailure(message=session.error or "the run failed", code=session.error_code)
    return msgspec.structs.replace(done, error=failure, finish_reason="error")


def _failure(error: Exception) -> RunFailure:
    if isinstance(error, SDKError):
        return RunFailure(message=error.detail, code=error.code)
    return RunFailure(message=str(error) or type(error).__name__, code=TOOL_STOPPED)


def next_command(done: RunDone, waits: PendingItem | None = None, *, left: bool = False) -> str:
    """The command that goes on from here. ``left``: a background agent did not end."""
    if done.approval_id is not None:
        return decides(waits) if waits is not None else f"lousho approve {done.approval_id}"
    return f'lousho resume {done.session} "…"' if done.status == "finished" and not left else f"lousho resume {done.session}"


def decides(waits: PendingItem) -> str:
    """The command that decides what waits for a person."""
    return f"lousho {'approve' if waits.kind in ('tool', 'sign-in') else 'answer'} {waits.id}"


def item_of_session(session_id: str, session: Session) -> PendingItem | None:
    """What a session waits for, None when it does not wait."""
    return pending_item(msgspec.structs.replace(head_of(session), id=session_id))
