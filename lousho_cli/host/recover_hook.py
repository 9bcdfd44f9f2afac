"""The hook ``durability.recover``: what it is asked with, and reading what it answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Literal

import msgspec

from lousho_cli.core.recovery import InterruptedTool, Recovery
from lousho_cli.domain import records as r
from lousho_cli.domain.events import Event
from lousho_cli.domain.messages import Message
from lousho_cli.domain.plain import plain
from lousho_cli.domain.session import Session
from lousho_cli.errors import HookError
from lousho_cli.executor.hooks import ask
from lousho_cli.executor.log_events import session_events
from lousho_cli.ports.log_store import LogStore

HOOK = "durability.recover"


class ThreadView(msgspec.Struct, frozen=True):
    """The thread that is recovered, to read. ``state`` is what its log adds up to."""

    thread_id: str
    harness: str
    tenant_id: str | None
    state: Session
    store: LogStore

    def events(self, after: tuple[int, int] | None = None) -> AsyncIterator[Event]:
        """What happened in it so far, behind ``after`` (``(cursor, index)``)."""
        return session_events(self.store, self.thread_id, after=after)


class InputInfo(msgspec.Struct, frozen=True):
    """The input that is recovered.

    attempt: how often it was run, 0 for one that never ran. timeout_at: UTC, ISO 8601; None for no limit.
    retries: the model calls that failed since the last finished tool phase.
    """

    input_id: str
    attempt: int = 0
    timeout_at: str | None = None
    abort_requested: bool = False
    retries: int = 0


class RecoverInfo(msgspec.Struct, frozen=True):
    """What the hook is asked with.

    decision: what is done by default: ``action`` is ``run`` or ``settle``; ``outcome``, ``error`` and ``code`` of the latter.
    interrupted_tools: the calls that recovery closes with a result text, also where the input is settled.
    """

    session: ThreadView
    input: InputInfo
    messages: tuple[Message, ...]
    decision: Recovery
    interrupted_tools: tuple[InterruptedTool, ...] = ()


class Answer(msgspec.Struct, frozen=True):
    """What is done: the decision, and what this attempt wants otherwise than its harness."""

    recovery: Recovery
    overrides: Mapping[str, Any] = {}


class _Error(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    message: str
    code: str | None = None


class _Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="action", tag="run"):
    overrides: dict[str, Any] | None = None


class _Settle(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="action", tag="settle"):
    outcome: Literal["completed", "failed", "aborted"]
    error: _Error | None = None


async def asked(hook: Callable[..., Any], info: RecoverInfo) -> Answer:
    """What the hook answers; the default where it says nothing.

    Raises:
        HookError: it raised, or gave what can not be used.
    """
    given = await ask(HOOK, hook, info)
    if given is None:
        return Answer(info.decision)
    if isinstance(given, Recovery):
        return Answer(given)
    try:
        read = msgspec.convert(dict(given) if isinstance(given, Mapping) else given, _Run | _Settle)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise HookError(HOOK, f"gave what can not be used: {error}") from error
    if isinstance(read, _Run):
        return Answer(Recovery("run"), read.overrides or {})
    said = read.error or _Error("the recover hook ended this input") if read.outcome == "failed" else read.error
    message, code = (None, None) if said is None else (plain(said.message)[0], said.code and plain(said.code)[0])
    outcome: r.Outcome = read.outcome
    return Answer(Recovery("settle", outcome, message, code))
