"""A world in which anything may happen to sessions, and what must hold of them whatever did.

A script is a list of actions, each a list of small numbers: what it does, then what it draws (see ``Dice``).
Every action runs in a process of its own, which may die, be aborted or be stopped at any point of it. To let
more happen, write a coroutine method of ``World`` that takes a ``Dice`` and put ``@action(often)`` above it; to demand
more, add to ``hold``, which is asked behind every action, or to ``asked`` and ``started``, which see each
model call and each start of a tool at its very moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from properties_parts import Dice, Listening, Watched, tools_of, turn
from properties_promises import Known, Promises, same
from properties_wires import openai_takes

from lousho_cli.core.states import state_from
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import user
from lousho_cli.domain.plain import plain
from lousho_cli.domain.session import Session
from lousho_cli.errors import (
    AgentDriftError,
    ConfigurationError,
    NotFoundError,
    PropagatingToolError,
    ProviderError,
    SessionAwaitingApprovalError,
)
from lousho_cli.executor.abort import AbortController
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.approvals import record_decision, resume_after_approval
from lousho_cli.executor.input_queue import InputQueue
from lousho_cli.executor.sub_agents import SubAgent
from lousho_cli.executor.trimming import trim_session
from lousho_cli.ports.sessions import read_session

NOW = "2026-01-01T00:00:00.000Z"
AGENT = {"name": "agent", "instructions": "Be brief."}
MAX_STEPS = 400

Action = Callable[["World", Dice], Awaitable[None]]
ACTIONS: list[Action] = []


def action(often: int) -> Callable[[Action], Action]:
    """Makes a method something that may happen, ``often`` times as often as the rarest."""

    def add(does: Action) -> Action:
        ACTIONS.extend([does] * often)
        return does

    return add


class World(Promises):
    """Sessions, the disk they are on, one model and its tools."""

    def __init__(self, disk: Any, turns: Sequence[Any]) -> None:
        super().__init__()
        self.disk, self.provider, self.scout = disk, Watched(self, turns), Watched(self, turns[:2])
        self.agent: dict[str, Any] = dict(AGENT)
        self.tools = tools_of(self)
        self.process: Any = None
        self.story: list[str] = []
        self._numbers = 0

    # What happens

    async def play(self, script: Sequence[Sequence[int]]) -> None:
        """Does what a script says, and then brings every session to its end."""
        for numbers in script:
            dice = Dice(numbers)
            self.tell(ACTIONS[numbers[0] % len(ACTIONS) if numbers else 0].__name__)
            await ACTIONS[dice.below(len(ACTIONS))](self, dice)
            await self.hold()
        await self.end()

    def tell(self, what: str) -> None:
        """Notes what happens, for who reads why it went wrong."""
        self.story.append(what)

    @action(5)
    async def send(self, dice: Dice) -> None:
        """The next message of a session, or the first of a new one."""
        name = dice.pick(["s", *self.known, "t"])
        text = self._text()
        input_id = f"id of {text}" if dice.flip() else None

        async def begin(options: dict[str, Any]) -> Any:
            return await AgentExecutor.execute(self.agent, text, self.provider, input_id=input_id, **options)

        result = await self._drive(name, dice, begin)
        if result is not None:
            self.known[name].texts.add(text)

    @action(3)
    async def resume(self, dice: Dice) -> None:
        """Goes on, without anything new."""
        if not self.known:
            return
        await self._drive(dice.pick(list(self.known)), dice, self._just_go_on)

    async def _just_go_on(self, options: dict[str, Any]) -> Any:
        return await AgentExecutor.execute(self.agent, [], self.provider, **options)

    @action(5)
    async def decide(self, dice: Dice) -> None:
        """A person decides what waits, if anything does, and the run goes on."""
        waiting = await self._waiting()
        if not waiting:
            return
        name, wait = dice.pick(waiting)
        decision: dict[str, Any] = {"id": wait.id, "approved": not dice.flip()}
        if decision["approved"] and dice.below(4) == 1:
            decision["args"] = {"n": 7}

        async def begin(options: dict[str, Any]) -> Any:
            stores = {key: options.pop(key) for key in ("approval_store", "checkpoint_store", "session_id", "tool_registry")}
            options["agent"] = self.agent
            return await resume_after_approval(
                decision, stores["approval_store"], stores["tool_registry"], self.provider, options, stores["checkpoint_store"]
            )

        if await self._drive(name, dice, begin, queues=False) is not None:
            self.known[name].decided[wait.id] = decision["approved"]

    @action(2)
    async def decide_for_later(self, dice: Dice) -> None:
        """A person decides, and nobody goes on yet. Deciding once more is refused and changes nothing."""
        waiting = await self._waiting()
        if not waiting:
            return
        name, wait = dice.pick(waiting)
        decision = {"id": wait.id, "approved": not dice.flip()}
        if await self._alone(dice, lambda process: record_decision(decision, name, process.checkpoints), touched=name):
            self.known[name].decided[wait.id] = bool(decision["approved"])
            await self.hold()
            again = {"id": wait.id, "approved": not decision["approved"]}
            process = self.disk.process()
            with suppress(NotFoundError):
                await record_decision(again, name, process.checkpoints)
                raise AssertionError("an approval was decided twice")
            await self.disk.bury(process)

    @action(2)
    async def fork(self, dice: Dice) -> None:
        """A session from any kept moment of another, perhaps with a change."""
        if not self.known or len(self.known) > 4:
            return
        name = dice.pick(list(self.known))
        session = await self.session(name)
        if not session.marks:
            return
        mark = dice.pick(list(session.marks))
        calls = [call.id for message in mark.messages for call in message.tool_calls] or [""]
        patch = dice.pick(
            [
                None,
                {"append_input": self._text()},
                {"tool_result": {"tool_call_id": dice.pick(calls), "result": "patched"}},
                {"messages": lambda messages: messages[:-1] if len(messages) > 2 else messages},
                {"business_state": {"forked": True}},
            ]
        )
        number = self._number()

        async def begin(process: Any) -> None:
            with suppress(ConfigurationError):  # a patch that fits nothing, or a session of nothing
                await AgentExecutor.fork(name, mark.address, process.checkpoints, patch, f"f{number}")

        await self._alone(dice, begin, touched=f"f{number}")
        forked = await self.session(f"f{number}")
        assert (forked.wait, dict(forked.decisions), forked.waiting) == (None, {}, ()), "a fork has what is its parent's alone"

    @action(1)
    async def leave(self, dice: Dice) -> None:
        """Somebody leaves an input for whoever drives the session next."""
        if self.known:
            await self._leave(dice.pick(list(self.known)))

    async def _leave(self, name: str) -> None:
        text = self._text()
        post = Post(f"post of {text}", "input", NOW, "somebody", plain([user(text)])[0])
        other = self.disk.process()
        await other.post(name, post)
        await self.disk.bury(other)
        self.known[name].inputs[post.id] = text

    async def _ask_to_stop(self, name: str) -> None:
        other = self.disk.process()
        await other.post(name, Post(f"stop {self._number()}", "abort", NOW))
        await self.disk.bury(other)

    async def _send_along(self, name: str, queue: InputQueue) -> None:
        """Says something to a run that is going on."""
        text = self._text()
        with suppress(self.disk.Dead):
            if await queue.send(text):
                self.known[name].texts.add(text)

    @action(1)
    async def change_the_agent(self, dice: Dice) -> None:
        """From here on the agent is another."""
        names = [tool.name for tool in self.tools[1:]]
        asks = {"instructions": lambda ctx: f"Be {len(ctx.input)} times brief.", "tools": lambda ctx: [*names, "removed"]}
        self.agent = AGENT | dice.pick([{}, {"instructions": "Be long."}, {"model": "m-2"}, {"tools": names}, asks])

    @action(1)
    async def snapshot(self, dice: Dice) -> None:
        """Somebody caches what a log adds up to."""
        if not self.known:
            return
        name = dice.pick(list(self.known))

        async def begin(process: Any) -> None:
            claim = await process.claim(name, "host")
            await process.save_snapshot(claim, state_from(await read_session(process, name)))
            await process.release(claim)

        await self._alone(dice, begin, touched=None)

    @action(1)
    async def trim(self, dice: Dice) -> None:
        """The log of a session becomes one batch with its state."""
        if not self.known:
            return
        name = dice.pick(list(self.known))
        before = await self.session(name)

        async def begin(process: Any) -> None:
            if before.seq:
                await trim_session(name, process, force=True)

        await self._alone(dice, begin, touched=name, trims=True)
        after = await self.session(name)
        assert same(before, msgspec.structs.replace(after, epoch=before.epoch)), "a trim changed what the log adds up to"

    # How it happens

    async def _drive(self, name: str, dice: Dice, begin: Callable[[dict[str, Any]], Awaitable[Any]], *, queues: bool = True) -> Any:
        """Runs something in a process; None when it did not come back with a result."""
        controller, events = AbortController(), Listening()
        befalls = dice.pick(
            ["nothing", "death", "death", "abort", "stop", "post", "post and death", "queue", "queue and death", "asked to stop"]
        )
        death = self._death(dice) if "death" in befalls else None
        if befalls != "death":
            events.at = dice.below(20)
        left: list[asyncio.Task[None]] = []
        if befalls == "abort":
            events.then = controller.abort
        elif befalls == "stop":
            events.then = controller.stop
        elif "post" in befalls and name in self.known:
            events.then = lambda: left.append(asyncio.ensure_future(self._leave(name)))
        elif befalls == "asked to stop":
            events.then = lambda: left.append(asyncio.ensure_future(self._ask_to_stop(name)))
        queue = InputQueue()
        if "queue" in befalls and queues:
            events.then = lambda: left.append(asyncio.ensure_future(self._send_along(name, queue)))
        process = self.process = self.disk.process(death)
        self.tell(f"  drive {name}: {befalls} {death or events.at}")
        known = self.known.setdefault(name, Known())
        options = {
            "session_id": name,
            "checkpoint_store": process.checkpoints,
            "approval_store": process.approvals,
            "tool_registry": self.tools,
            "subagents": {"scout": SubAgent({"name": "scout", "prompt": "You look."}, "looks", self.scout, self.tools, MAX_STEPS)},
            "max_steps": MAX_STEPS,
            "tool_concurrency": dice.pick([None, 1, 2]),
            "on_agent_drift": dice.pick(["warn", "ignore", "error"]),
            "signal": controller.signal,
            "on_event": events,
        }
        if queues:
            options["input_queue"] = queue
        result = await self._outcome(name, begin(options), options["on_agent_drift"])
        if left:
            await asyncio.wait(left)
        await self.disk.bury(process)
        self.tell(f"  gave {result!r}, {'died' if process.dead else 'lived'}")
        known.saved = max(known.saved, events.saved)
        if result is not None:
            known.messages = result.messages
        await self.hold(touched=name)
        return result

    async def _outcome(self, name: str, running: Awaitable[Any], mode: str) -> Any:
        before = self.known[name].lines
        try:
            return await running
        except self.disk.Dead:
            return None
        except SessionAwaitingApprovalError as error:
            session = await self.session(name)
            assert session.awaiting
            assert session.wait is not None
            assert session.wait.id == error.approval_id
        except AgentDriftError as error:
            assert error.code == "LOUSHO_RESUME_TOOL_MISSING" or mode == "error"
            assert await self.lines(name) == before or await self._only_posts_came(name), "a refusal wrote something"
        except (ProviderError, PropagatingToolError):
            assert (await self.session(name)).outcome in ("failed", "completed", "aborted", None)
        except ConfigurationError as error:
            assert error.code == "LOUSHO_CONFIG_MISSING_INPUT", error
            assert not (await self.session(name)).exists, "there was something to go on with"
        return None

    async def _only_posts_came(self, name: str) -> bool:
        known = self.known[name].lines
        new = (await self.disk.reader.read(name)).batches[len(known) :]
        return all(
            type(record) in (r.Claimed, r.InputReceived, r.Note, r.WaitAnswered, r.Mark) for batch in new for record in batch.records
        )

    async def _alone(self, dice: Dice, begin: Callable[[Any], Awaitable[Any]], *, touched: str | None, trims: bool = False) -> bool:
        """Does something that runs no agent; True when the process came back."""
        process = self.process = self.disk.process(self._death(dice) if dice.below(3) == 1 else None)
        alive = True
        try:
            await begin(process)
        except self.disk.Dead:
            alive = False
        await self.disk.bury(process)
        if touched is not None and (touched in self.known or (await self.lines(touched))):
            known = self.known.setdefault(touched, Known())
            if trims:
                known.lines = []
        await self.hold(touched=touched)
        return alive

    async def end(self) -> None:
        """Everything that waits is approved, everything that was cut goes on, until each session has ended."""
        self.agent = dict(AGENT)
        for _ in range(80):
            open_ones = [name for name in self.known if not await self._is_at_its_end(name)]
            if not open_ones:
                break
            for name in open_ones:
                session = await self.session(name)
                if session.awaiting:
                    await self._approve(name, session)
                else:
                    await self._drive(name, Dice([]), self._just_go_on)
        else:
            raise AssertionError(f"these never came to their end: {open_ones}")
        for name, known in self.known.items():
            session = await self.session(name)
            said = [message.text for message in session.messages if message.role == "user"]
            for text in (*known.texts, *known.inputs.values()):
                assert said.count(text) == 1, f"{text!r} was acknowledged and is there {said.count(text)} times in {name}"
            assert openai_takes(session.messages)

    async def _approve(self, name: str, session: Session) -> None:
        async def begin(options: dict[str, Any]) -> Any:
            assert session.wait is not None
            checkpoints, approvals, tools = (options.pop(key) for key in ("checkpoint_store", "approval_store", "tool_registry"))
            options.pop("session_id")
            return await resume_after_approval(
                {"id": session.wait.id, "approved": True}, approvals, tools, self.provider, options | {"agent": self.agent}, checkpoints
            )

        await self._drive(name, Dice([]), begin, queues=False)

    async def _is_at_its_end(self, name: str) -> bool:
        session = await self.session(name)
        if not session.exists:
            return not await self.disk.reader.inbox(name)
        return session.ended and not session.waiting and not await self.disk.reader.inbox(name)

    def _death(self, dice: Dice) -> Any:
        return self.disk.Death(1 + dice.below(14), behind=dice.flip(), power=dice.flip())

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _text(self) -> str:
        return f"input {self._number()}"


__all__ = ["ACTIONS", "World", "action", "turn"]
