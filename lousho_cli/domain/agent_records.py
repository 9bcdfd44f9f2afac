"""The records of background agents, each a session of its own, in the log of the session that started them. Part of ``domain.records``."""

from __future__ import annotations

import msgspec

from lousho_cli.domain.input_records import Outcome
from lousho_cli.domain.messages import Message


class _Record(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    pass


class AgentStarted(_Record, frozen=True, gc=False, tag="lousho.agent_started"):
    """A background agent is to run, as the session ``session``, with ``messages``.

    run_again: should its host go, the next one runs it again. wake: its end begins a turn here. group: what it was started
    with; those of one group are told of together, once the last has ended. by: who started it.
    """

    id: str
    name: str
    session: str
    messages: tuple[Message, ...]
    run_again: bool = False
    wake: bool = False
    group: str | None = None
    by: str | None = None


class AgentEnded(_Record, frozen=True, gc=False, tag="lousho.agent_ended"):
    """A background agent came to its end. ``text`` is its answer, perhaps clipped; the whole is in its own session."""

    id: str
    outcome: Outcome
    text: str = ""
    error: str | None = None
    code: str | None = None
