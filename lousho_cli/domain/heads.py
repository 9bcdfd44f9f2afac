"""What a list shows of a session, and what others leave for its owner."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from lousho_cli.domain.checkpoint import Status
from lousho_cli.domain.usage import RunUsage


class WaitsFor(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a session waits for, enough to show and decide it without its transcript.

    ``url``: where to sign in. ``reason``: why a rule has it asked. ``step``: the name under which running code asks.
    ``schema``: the JSON Schema of the answer.
    """

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
    allow_free_text: bool = True
    url: str | None = None
    reason: str | None = None
    step: str | None = None
    schema: Any = None

    @property
    def named_tool(self) -> str:
        """The tool behind the names of the sub-agents that it is called in: ``scout/pay``."""
        return "/".join((*self.path, self.tool))


class Arrived(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """An input that waits: how many messages it adds and, of a history, what its last turn leaves open.

    ``alone`` False means that it can not be told without the transcript it joins.
    """

    messages: int
    history: bool = False
    alone: bool = True
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    held: int = 0


class Outline(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What it takes, beside what a list shows, to bring a head up to date without the transcript.

    calls: ids of the open turn's calls from the first unanswered one on; results: which of them have a result.
    held: how many messages wait behind them. waiting: the inputs that were received and not applied.
    wait_call: the call of what waits; taken: what waits while an approval store gave it away.
    children: the heads of the sub-agents that open calls have started, by call id.
    asks: for each of the head's ``asks`` the calls that lead to it, the one it is of last.
    """

    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    held: int = 0
    waiting: dict[str, Arrived] = {}
    wait_call: str | None = None
    taken: WaitsFor | None = None
    children: dict[str, Head] = {}
    asks: tuple[tuple[str, ...], ...] = ()


class Head(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One session in a list. ``seq`` is the last batch it covers; ``id`` is filled in by the store.

    ``messages`` counts all that stands in the transcript or waits behind an unanswered call. ``format`` is
    that of the log, ``unknown`` names the reserved types in it that this version does not know. ``usage`` is
    that of the newest run, ``earlier`` that of those before it. ``asks``: what calls that run ask a person.
    ``agents``: the sessions of its background agents that have not ended, by their ids. ``lead``: whose background agent
    it is itself.
    ``wake`` is when the session itself wants to be taken up, ``wake_at`` when who gave it back wants it to be.
    ``pinned_to``: the host whose folder its tools have used. ``importing``: an import of it goes on, or was cut off.
    """

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
    outline: Outline = Outline()
    format: int = 1
    unknown: tuple[str, ...] = ()
    usage: RunUsage = RunUsage()
    earlier: RunUsage = RunUsage()
    asks: tuple[WaitsFor, ...] = ()
    agents: dict[str, str] = {}
    lead: str | None = None
    wake: str | None = None
    pinned_to: str | None = None
    importing: bool = False

    @property
    def waits(self) -> tuple[WaitsFor, ...]:
        """All that a person can decide now: what running code asks, and what the run stopped for."""
        return self.asks if self.waits_for is None else (*self.asks, self.waits_for)


class Post(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Something left for the owner of a session by somebody who is not.

    What the body of each kind holds, and what becomes of it, is in ``core.entering``. ``id`` is the input's id, or unique.
    """

    id: str
    kind: Literal["input", "answer", "abort", "cancel", "move", "reset", "append", "setting", "command", "agents", "agent_ended", "wake"]
    at: str
    by: str | None = None
    body: Any = None
