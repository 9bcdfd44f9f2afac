"""What a list shows of a session, and what others leave for its owner."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from lousho_cli.domain.checkpoint import Status


class WaitsFor(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a session waits for, enough to show and decide it without its transcript."""

    id: str
    tool: str
    args: Any
    digest: str
    created_at: str
    kind: str = "tool"
    expires_at: str | None = None
    path: tuple[str, ...] = ()
    question: str | None = None
    options: tuple[str, ...] = ()


class Head(msgspec.Struct, frozen=True, omit_defaults=True):
    """One session in a list. ``seq`` is the last batch it covers; ``id`` is filled in by the store."""

    id: str = ""
    seq: int = 0
    agent: str = ""
    path: str | None = None
    harness: str | None = None
    tenant: str | None = None
    parent: str | None = None
    status: Status = "in-progress"
    outcome: Literal["completed", "failed", "aborted"] | None = None
    error: str | None = None
    attempts: int = 0
    step: int = 0
    run: int = 0
    messages: int = 0
    waits_for: WaitsFor | None = None
    decided: tuple[str, ...] = ()
    wake_at: str | None = None
    created_at: str = ""
    updated_at: str = ""


class Post(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something left for the owner of a session by somebody who is not.

    kind input: ``messages`` and the input's id. kind answer: ``decision``. kind abort: nothing more.
    ``id`` is the input's id, or unique.
    """

    id: str
    kind: Literal["input", "answer", "abort"]
    at: str
    by: str | None = None
    body: Any = None
