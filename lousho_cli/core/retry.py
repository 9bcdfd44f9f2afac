"""What to do about a failed model call: give up, ask again, or keep what came of the answer and have it gone on with."""

from __future__ import annotations

from typing import Literal

import msgspec

from lousho_cli.errors import ProviderError, RangeError

MAX_BACKOFF_MS = 900_000
"""No wait of our own choosing is longer than this, however many retries are allowed."""

MAX_RETRY_AFTER_MS = 900_000
"""A server that asks for a longer wait than this ends the retries, unless a policy says otherwise."""


class RetryDecision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model call that failed is made again.

    action: ``retry`` drops what came of the failed answer. ``continue`` keeps its text: the model gets it as an answer of
        its own, and behind it a note that asks it to go on. Where no text came, or none may be kept, it is ``retry``.
    wait_ms: how long to wait first; None for what the server asked for, else the waits of ``retry_transient_errors()``.
    note: the text of that note, or several, a message each; None for ``CONTINUE_NOTE``.
    """

    action: Literal["retry", "continue"] = "retry"
    wait_ms: int | None = None
    note: str | tuple[str, ...] | None = None

    @property
    def notes(self) -> tuple[str, ...] | None:
        return (self.note,) if isinstance(self.note, str) else self.note


def wait_before(
    error: ProviderError, retries_so_far: int, chance: float, base_delay_ms: int = 2000, max_retry_after_ms: int = MAX_RETRY_AFTER_MS
) -> int | None:
    """How many milliseconds to wait before asking again; None where the server asks for more than ``max_retry_after_ms``.

    ``chance`` is a number from 0 up to 1. What the server asked for replaces our own wait entirely.
    """
    if error.retry_after_ms is not None:
        return error.retry_after_ms if error.retry_after_ms <= max_retry_after_ms else None
    doubled: int = base_delay_ms << min(retries_so_far, 30)
    return round(min(doubled, MAX_BACKOFF_MS) * (0.75 + 0.25 * chance))


class RetryPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks again after a transient error, a few times, with growing waits.

    max_retries: how often, counted since the last finished tool phase.
    base_delay_ms: the first wait; each further one is twice as long; all are shortened by up to a quarter by chance.
    max_retry_after_ms: a server that asks for a longer wait than this ends the retries.
    continue_partial: keep the text of an answer that was cut, and have the model go on with it, instead of asking for it anew.
    """

    max_retries: int = 3
    base_delay_ms: int = 2000
    max_retry_after_ms: int = MAX_RETRY_AFTER_MS
    continue_partial: bool = False

    def __post_init__(self) -> None:
        for name in ("max_retries", "base_delay_ms", "max_retry_after_ms"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise RangeError(f"{name} is {value!r}, but must be a whole number, 0 or more", field=name)
        if not isinstance(self.continue_partial, bool):
            raise RangeError(f"continue_partial is {self.continue_partial!r}, but must be True or False", field="continue_partial")

    def decide(self, error: ProviderError, retries_so_far: int, chance: float) -> int | RetryDecision | None:
        """How many milliseconds to wait before asking again, a decision that says more, or None for giving up.

        ``chance`` is a number from 0 up to 1. What the server asked for replaces our own wait entirely.
        """
        if not error.retryable or retries_so_far >= self.max_retries:
            return None
        wait = wait_before(error, retries_so_far, chance, self.base_delay_ms, self.max_retry_after_ms)
        if wait is None or not (self.continue_partial and error.partial):
            return wait
        return RetryDecision("continue", wait)

    __call__ = decide  # so that it can be given wherever a function of the same kind can


def retry_transient_errors(
    max_retries: int = 3, base_delay_ms: int = 2000, max_retry_after_ms: int = MAX_RETRY_AFTER_MS, *, continue_partial: bool = False
) -> RetryPolicy:
    """The policy for ``on_model_error``: retries rate limits, overload, time-outs, network and server errors.

    ``continue_partial``: see ``RetryPolicy``.

    Raises:
        RangeError: a negative number.
    """
    return RetryPolicy(max_retries, base_delay_ms, max_retry_after_ms, continue_partial)
