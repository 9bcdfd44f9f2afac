"""What one thread of a host does with posts that its harness has a say in, and what it was handed that no log can keep.

``entered`` says what any post means, a user's own records with the projection of the harness. A command is carried out
beside the turns, by ``Commands``. Objects (a provider, tools, messages for one turn alone) are used by the host they were
handed to, in the turn they are for, and are gone with it: whoever takes the thread over runs the input without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from lousho_cli.core.entering import entered
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message
from lousho_cli.domain.session import Session
from lousho_cli.executor.inbox import Taker
from lousho_cli.executor.run_agent import RunAgent
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.host.commands import Commands
from lousho_cli.host.harness import Harness
from lousho_cli.host.overriding import with_overrides
from lousho_cli.host.standing import Standing, with_standing


class Handed(msgspec.Struct, frozen=True):
    """What came with an input and is in no log."""

    overrides: Mapping[str, Any] = {}
    ephemeral: tuple[Message, ...] = ()


NOTHING = Handed()


class Intake(Taker):
    """That of one thread, over all the times this host owns it."""

    def __init__(self, harness: Harness, standing: Standing, commands: Commands, tenant: str | None = None) -> None:
        self.commands = commands
        self._harness, self._standing, self._tenant = harness, standing, tenant
        self._handed: dict[str, Handed] = {}
        self.on_agents: Callable[[bool], None] = lambda anew: None
        """Told when background agents are to run; with True when somebody else changed one."""

    def hand(self, input_id: str, handed: Handed) -> None:
        """Keeps what came with an input until it has ended."""
        if handed.overrides or handed.ephemeral:
            self._handed[input_id] = handed

    def forget_ended(self, session: Session) -> None:
        """Lets go of what came with inputs that have ended."""
        for input_id in [i for i in self._handed if i in session.inputs and session.inputs[i].status in ("settled", "rejected")]:
            del self._handed[input_id]

    def entered(self, session: Session, post: Post, now: str, epoch: int) -> tuple[r.Record, ...]:
        """The records of a post at the owner of ``epoch``; as ``core.entering`` says."""
        if post.kind == "command" and post.id not in session.inputs:
            refusal = self.commands.refusal(post, epoch)
            if refusal is not None:
                return (*self._birth(session), r.InputRejected(post.id, refusal))
        records = entered(session, post, now, self._harness.project)
        return (*self._birth(session), *records) if records else ()

    def _birth(self, session: Session) -> tuple[r.Record, ...]:
        """What begins the log of a thread that has nothing yet: who looks for work must know whose it is before there is any."""
        name, path = self._harness.name, self._harness.agent_path
        return () if session.created_at else (r.Created(name, path, name, self._tenant, parent=self._harness.lead),)

    def carries_out(self, log: SessionLog, post: Post) -> bool:
        """Begins to carry a command out, where ``post`` is one that may be; its end is recorded later."""
        return post.kind == "command" and post.id not in log.session.inputs and self.commands.begin(log, post, self._birth)

    async def recorded(self, post: Post, records: Sequence[r.Record]) -> None:
        """Keeps what a person allowed for always, now that the answer counts, and has agents looked after that a post is about."""
        if post.kind == "agents":
            self.on_agents(not records)
        said = post.body if isinstance(post.body, Mapping) else {}
        if said.get("always") is True and said.get("tool") and any(isinstance(one, r.WaitAnswered) and one.approved for one in records):
            await self._standing.allow(str(said["tool"]))

    async def dressed(self, agent: RunAgent, input_id: str) -> RunAgent:
        """The agent of an input's turn with what this host was handed for it, and what people said always."""
        handed = self._handed.get(input_id, NOTHING)
        agent = with_overrides(agent, handed.overrides)
        agent = with_standing(agent, await self._standing.rules())
        return msgspec.structs.replace(agent, ephemeral=handed.ephemeral) if handed.ephemeral else agent
