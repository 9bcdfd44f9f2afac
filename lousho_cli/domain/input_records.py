"""The records of an input's life: it is received, perhaps moved, applied or rejected, and settled. Part of ``domain.records``."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from lousho_cli.domain.messages import Message

Outcome = Literal["completed", "failed", "aborted"]


class _Record(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    pass


class InputReceived(_Record, frozen=True, gc=False, tag="lousho.input_received"):
    """An input arrived and is durable: its receipt may be given. ``messages`` are those that were not there already.

    ``joins``: it enters the run that is going on, before its next model call; any other waits for a run of its own.
    ``overrides``: what this input wants otherwise than its agent, such as its model; plain JSON.
    """

    id: str
    messages: tuple[Message, ...]
    by: str | None = None
    joins: bool = False
    overrides: dict[str, Any] = {}


class InputApplied(_Record, frozen=True, gc=False, tag="lousho.input_applied"):
    """An input entered the transcript; behind unanswered calls its messages wait until those have results."""

    id: str


class InputMoved(_Record, frozen=True, gc=False, tag="lousho.input_moved"):
    """An input that waits is to enter the run that is going on, or no longer is."""

    id: str
    joins: bool


class InputTakenBack(_Record, frozen=True, gc=False, tag="lousho.input_taken_back"):
    """An input that waited was cancelled: it never runs, and ends aborted. It says nothing of the run before it."""

    id: str


class InputRejected(_Record, frozen=True, gc=False, tag="lousho.input_rejected"):
    """The owner refused what was left for it: it never runs. ``reason`` is one word, such as ``busy``."""

    id: str
    reason: str


class Appended(_Record, frozen=True, gc=False, tag="lousho.appended"):
    """A user's own records, in front of this in its batch, were taken in.

    ``messages``, of users, are what they say to the model, often nothing.
    ``digest`` tells whether what comes under the same id is the same once more.
    """

    id: str
    messages: tuple[Message, ...] = ()
    by: str | None = None
    digest: str = ""


class InputSettled(_Record, frozen=True, gc=False, tag="lousho.input_settled"):
    """An input came to its end. A failed or aborted one is never run again unless the session is named."""

    id: str
    outcome: Outcome
    error: str | None = None
    code: str | None = None
