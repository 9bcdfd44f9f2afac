"""Background agents: what it means to a session that some were started, and that one has ended.

An agent is a session of its own, driven like any other. The one that started it has two records of it: that it was
started, and how it ended. With the second comes one note for the model, or an input of that text where a turn was asked
for; of agents that were started together one note tells, once the last of them has ended.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from itertools import chain, count

import msgspec

from lousho_cli.core.recognise import digest_input
from lousho_cli.core.recovery import Recovery
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message
from lousho_cli.domain.plain import text_of
from lousho_cli.domain.session import AgentState, Session
from lousho_cli.domain.texts import HOST_STOPPED_MESSAGE, LEAD_ABORTED_MESSAGE

HOST_STOPPED = "host_stopped"
"""The code of an agent whose host stopped and that was not to run again."""

LEAD_ABORTED = "lead_aborted"
"""The code of an agent that was called off because its lead was aborted."""

LONGEST_TEXT = 2000
"""How many characters of an agent's answer its note holds."""

_READABLE = 40


class BackgroundLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many agents models may have run in the background. What code starts is not limited.

    max_depth: how many leads an agent may have above it: 1 lets no agent have agents of its own, 0 lets nobody have any.
    max_running: how many of one thread may run at once, whoever started them.
    max_started: how many a model may start in one thread since somebody else than an agent last said something.
    """

    max_depth: int = 2
    max_running: int = 3
    max_started: int = 12


def too_many(session: Session, depth: int, limits: BackgroundLimits) -> str | None:
    """Why a model may not start a further agent, for that model; None where it may.

    Args:
        depth: how many leads are above the session's own thread.
    """
    if depth >= limits.max_depth:
        return f"an agent at this depth ({depth}) can have none in the background. Do it yourself, or leave background out"
    if sum(agent.outcome is None for agent in session.agents.values()) >= limits.max_running:
        return (
            f"at most {limits.max_running} may run in the background at once, and so many do. Wait for one to end, or leave background out"
        )
    if _started_by_itself(session) >= limits.max_started:
        return f"at most {limits.max_started} may be started for what you were asked, and so many were. Answer with what you have"
    return None


def _started_by_itself(session: Session) -> int:
    """How many agents the model has started since somebody else than an agent last said something."""
    started = 0
    for message in reversed(session.messages):
        if message.role == "user" and "agents" not in (message.metadata or {}):
            break
        started += sum(call.id in session.agents for call in message.tool_calls)
    return started


class Start(msgspec.Struct, frozen=True, omit_defaults=True):
    """One agent that is to be started; see ``AgentStarted``."""

    id: str
    name: str
    session: str
    messages: tuple[Message, ...]
    run_again: bool = False
    wake: bool = False


class Starts(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of a post that starts agents."""

    agents: tuple[Start, ...]
    group: str | None = None


class End(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of a post that tells how an agent ended."""

    id: str
    outcome: r.Outcome
    text: str = ""
    error: str | None = None
    code: str | None = None


def agent_session_id(lead: str, name: str, agent_id: str) -> str:
    """The session of a background agent: the same whoever starts it, and one that any store takes."""
    digest = hashlib.sha256(f"{lead}:{name}:{agent_id}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{lead[:_READABLE]}.{re.sub(r'[^A-Za-z0-9_-]+', '-', name)[:_READABLE]}.{digest}"


def agent_in(session_id: str) -> str:
    """The name of the background agent that has this session, as its id has it; "" where the id is none that ``agent_session_id`` makes."""
    found = _AGENT_SESSION.fullmatch(session_id)
    return found[1] if found else ""


_AGENT_SESSION = re.compile(r".+\.([A-Za-z0-9_-]+)\.[0-9a-f]{16}")


def harness_of_agent(lead: str, name: str) -> str:
    """The harness that is stored with an agent: no sweep takes one for a thread that stands for itself."""
    return f"{lead}:{name}"


def started_agents(session: Session, post: Post) -> tuple[r.Record, ...]:
    """The records of a post that starts agents; none of those that were started before. Raises like ``entering.entered``."""
    body = msgspec.convert(post.body, Starts)
    return tuple(
        r.AgentStarted(one.id, one.name, one.session, one.messages, one.run_again, one.wake, body.group, post.by)
        for one in body.agents
        if one.id not in session.agents
    )


def ended_agent(session: Session, post: Post) -> tuple[r.Record, ...]:
    """The records of a post that tells of an end; none where the log has it. Raises like ``entering.entered``."""
    body = msgspec.convert(post.body, End)
    known = session.agents.get(body.id)
    if known is None or known.outcome is not None:
        return ()
    ended = r.AgentEnded(body.id, body.outcome, clipped(body.text), body.error, body.code)
    mates = {i: mate for i, mate in session.agents.items() if i != body.id and known.group is not None and mate.group == known.group}
    if any(mate.outcome is None for mate in mates.values()):
        return (ended,)
    now = msgspec.structs.replace(known, outcome=ended.outcome, text=ended.text, error=ended.error, code=ended.code)
    return (ended, _note(_unused(session, f"agents.{known.group or body.id}"), {**mates, body.id: now}))


def _unused(session: Session, named: str) -> str:
    """An id that no input has: a group that was added to has been told of before, and anybody may have given the same id to another."""
    return next(one for one in chain((named,), (f"{named}.{n}" for n in count(2))) if one not in session.inputs)


def _note(named: str, agents: dict[str, AgentState]) -> r.Record:
    """What the model is told of agents that have ended; it begins a turn where one of them was to, and was not cancelled.

    None begins where the lead was aborted meanwhile: who stopped it wants none.
    """
    by = next(iter(agents.values())).by
    said = (Message("user", "\n\n".join(_told(i, agent) for i, agent in sorted(agents.items())), metadata={"agents": sorted(agents)}),)
    called_off = any(agent.code == LEAD_ABORTED for agent in agents.values())
    if not called_off and any(agent.wake and agent.outcome != "aborted" for agent in agents.values()):
        return r.InputReceived(named, said, by)
    return r.Appended(named, said, by, digest_input(said))


def _told(agent_id: str, agent: AgentState) -> str:
    how = {"completed": "has ended", "failed": "has failed", "aborted": "was cancelled"}[agent.outcome or "completed"]
    what = agent.error if agent.outcome == "failed" else agent.error or agent.text
    return text_of(f"[background agent {agent.name} ({agent_id}) {how}]" + (f"\n{what}" if what else ""))


def clipped(text: str) -> str:
    """A text no longer than a note may hold of it."""
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def end_of(agent_id: str, session: Session) -> End | None:
    """How an agent ended, by its own session; None while it has not, or agents of its own have not."""
    if not session.exists or session.outcome is None or session.waiting or running(session.agents.values()):
        return None
    error = session.error if session.outcome == "failed" else None
    return End(agent_id, session.outcome, clipped(session.answer), error, session.error_code if error is not None else None)


def calling_off(session: Session, now: str, by: str | None) -> tuple[Post, ...]:
    """The posts by which the agents of a lead that is aborted have ended for it. What it hears of them later counts no more."""
    left = [key for key, agent in session.agents.items() if agent.outcome is None]
    ends = [End(key, "aborted", error=LEAD_ABORTED_MESSAGE, code=LEAD_ABORTED) for key in left]
    # No id of those that tell how an agent itself ended: such a post may wait beside it.
    return tuple(Post(f"agent-called-off.{end.id}", "agent_ended", now, by, msgspec.to_builtins(end)) for end in ends)


def running(agents: Iterable[AgentState]) -> bool:
    """Whether one of them has not ended."""
    return any(agent.outcome is None for agent in agents)


def stopped(recovery: Recovery) -> Recovery:
    """What becomes of an agent that is not to run again, in place of doing so. Finished work and a wish to stop count all the same."""
    return Recovery("settle", "failed", HOST_STOPPED_MESSAGE, HOST_STOPPED) if recovery.action == "run" else recovery
