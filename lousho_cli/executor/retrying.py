"""Asking a caller's policy what to do about a failed model call, and reading what it answers."""

from __future__ import annotations

import inspect
from typing import Any

from lousho_cli.core.retry import RetryDecision
from lousho_cli.domain.plain import text_of
from lousho_cli.errors import HookError, ProviderError
from lousho_cli.executor.interrupts import ESCAPES
from lousho_cli.executor.run_agent import OnModelError


def decided(policy: OnModelError, error: ProviderError, retries: int, chance: float) -> RetryDecision | None:
    """What a policy answers, as a decision; None where it gives up.

    Raises:
        HookError: it raised, or answered what can not be used.
    """
    try:
        answer: Any = policy(error, retries, chance)
    except (Exception, *ESCAPES) as raised:
        raise HookError("on_model_error", f"failed: {type(raised).__name__}: {text_of(raised)[:300]}") from raised
    if inspect.iscoroutine(answer):
        answer.close()
    if answer == "retry" or answer == "continue":
        return RetryDecision(answer)
    if isinstance(answer, RetryDecision) and answer.action in _ACTIONS and _is_note(answer.note):
        if answer.wait_ms is None or _is_wait(answer.wait_ms):
            return RetryDecision(answer.action, None if answer.wait_ms is None else int(answer.wait_ms), answer.note)
    elif answer is None or _is_wait(answer):
        return None if answer is None else RetryDecision("retry", int(answer))
    raise HookError("on_model_error", "must return milliseconds, retry, continue, a RetryDecision, or None to give up; it may not be async")


_ACTIONS = ("retry", "continue")


def _is_wait(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")


def _is_note(value: object) -> bool:
    notes = value if isinstance(value, tuple) else () if value is None else (value,)
    return all(isinstance(note, str) and note.strip() and note == text_of(note) for note in notes)
