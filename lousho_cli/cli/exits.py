"""Which exit code an error or the end of a run has. The one table.

| code | meaning |
|---|---|
| 0 | done, or the read worked |
| 1 | the run failed; a store that cannot be written or reached; an unexpected error |
| 2 | usage: a bad flag, a bad agent file, a bad id |
| 3 | not found |
| 4 | waits for a person |
| 5 | busy, or the session was lost to another owner |
| 6 | drift or a missing tool: refused |
| 7 | damaged, written by a newer version, or no store |
| 8 | in doubt |
| 9 | a limit: steps, tokens, money, time |
| 10 | a check failed |
| 130, 143 | aborted by Ctrl-C, stopped by SIGTERM |
"""

from __future__ import annotations

from enum import IntEnum

from lousho_cli import errors


class Exit(IntEnum):
    """An exit code by its name."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    WAITS = 4
    BUSY = 5
    DRIFT = 6
    DAMAGED = 7
    IN_DOUBT = 8
    LIMIT = 9
    CHECK_FAILED = 10
    ABORTED = 130
    STOPPED = 143


_BY_ERROR: tuple[tuple[type[BaseException], Exit], ...] = (  # the first that matches; special before general
    (errors.NotAStoreError, Exit.DAMAGED),
    (errors.DamagedLogError, Exit.DAMAGED),
    (errors.LogVersionError, Exit.DAMAGED),
    (errors.ConfigurationError, Exit.USAGE),
    (errors.InputRejectedError, Exit.USAGE),
    (errors.NotFoundError, Exit.NOT_FOUND),
    (errors.SessionAwaitingApprovalError, Exit.WAITS),
    (errors.SessionBusyError, Exit.BUSY),
    (errors.AgentDriftError, Exit.DRIFT),
    (errors.BudgetExceededError, Exit.LIMIT),
    (errors.AbortedError, Exit.ABORTED),
    (KeyboardInterrupt, Exit.ABORTED),
)

_BY_FINISH_REASON = {
    "awaiting-approval": Exit.WAITS,
    "max-steps": Exit.LIMIT,
    "budget-exceeded": Exit.LIMIT,
    "timeout": Exit.LIMIT,
    "aborted": Exit.ABORTED,
    "error": Exit.FAILED,
}


def code_of(error: BaseException) -> Exit:
    """The exit code of an error; 1 for one that has no place of its own."""
    return next((code for kind, code in _BY_ERROR if isinstance(error, kind)), Exit.FAILED)


def code_of_run(status: str, finish_reason: str, outcome: str | None = None, *, stopped: bool = False) -> Exit:
    """The exit code of a run that came back.

    Args:
        status: ``in-progress``, ``awaiting-approval`` or ``finished``.
        finish_reason: such as ``stop`` or ``max-steps``.
        outcome: ``completed``, ``failed`` or ``aborted``; None while it did not end.
        stopped: whether SIGTERM or SIGHUP came first, so that it goes on with the next resume.
    """
    if stopped:
        return Exit.STOPPED
    if status == "awaiting-approval":
        return Exit.WAITS
    if outcome in ("failed", "aborted"):
        return Exit.FAILED if outcome == "failed" else Exit.ABORTED
    return _BY_FINISH_REASON.get(finish_reason, Exit.DONE)
