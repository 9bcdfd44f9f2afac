"""What becomes of a run whose host is gone: the five questions, in their order.

the answer is there       completed, whatever else holds: finished work is never lost
an abort was asked        aborted, no model call
no attempt is left        failed, attempts_exhausted
its time is up            failed, timeout
otherwise                 it runs again, as the next attempt
"""

from __future__ import annotations

from typing import Literal

import msgspec

from lousho_cli.core.decide import has_answer
from lousho_cli.domain.records import Outcome
from lousho_cli.domain.session import Session

ATTEMPTS_EXHAUSTED = "attempts_exhausted"
TIMED_OUT = "timeout"


class Recovery(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is done by default. ``outcome``, ``error`` and ``code`` are how a settled input ends."""

    action: Literal["run", "settle"]
    outcome: Outcome | None = None
    error: str | None = None
    code: str | None = None


def recovery_of(session: Session, now: str, max_attempts: int) -> Recovery | None:
    """The decision on the run that stands open; None where none does, or it waits for a person.

    Args:
        now: UTC, ISO 8601. max_attempts: how often an input may be run, the first time included.
    """
    if not session.exists or session.ended or session.outcome is not None or session.awaiting:
        return None
    if has_answer(session):
        return Recovery("settle", "completed")
    if session.abort_asked:
        return Recovery("settle", "aborted")
    if session.attempts >= max_attempts:
        times = "once" if max_attempts == 1 else f"{max_attempts} times"
        return Recovery("settle", "failed", f"the host stopped during this run {times}, and no attempt is left", ATTEMPTS_EXHAUSTED)
    if session.run.deadline is not None and now >= session.run.deadline:
        return Recovery("settle", "failed", "the time for this input is up", TIMED_OUT)
    return Recovery("run")
