"""What a sender is told: that an input is kept, and later how it ended."""

from __future__ import annotations

from typing import Literal

import msgspec

from lousho_cli.domain.messages import Message


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of an input when it was sent; given only once it is stored, or refused.

    accepted: it runs now, or joins the turn that is running. queued: it waits behind other work, or for the owner
    on another host. rejected: it never runs; ``reason`` says why (``conflict``, ``busy``, ``not_waiting``, …).
    operation: the input whose turn it is part of, where that is known.
    """

    input_id: str
    status: Literal["accepted", "queued", "rejected"]
    operation: str | None = None
    reason: str | None = None


class Settlement(msgspec.Struct, frozen=True, omit_defaults=True):
    """How an input ended. ``text`` is the answer of its turn, ``operation`` the input whose turn it was part of.

    Where the turn answered what joined it too, ``text`` is each of its answers, a blank line between two.

    interrupted: its turn stopped for a person, ``waits_for`` names what; deciding it goes on with the same input.
    """

    input_id: str
    outcome: Literal["completed", "failed", "aborted", "interrupted"]
    text: str = ""
    error: str | None = None
    code: str | None = None
    waits_for: str | None = None
    operation: str | None = None


class Waiting(msgspec.Struct, frozen=True, omit_defaults=True):
    """An input that waits. ``delivery``: it is to join the turn that runs, or waits for a turn of its own."""

    input_id: str
    delivery: Literal["queue", "steer"]
    messages: tuple[Message, ...] = ()
    by: str | None = None
