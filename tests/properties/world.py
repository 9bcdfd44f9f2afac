"""A world in which anything may happen to sessions, and what must hold of them whatever did.

A script is a list of actions, each a list of small numbers: what it does, then what it draws (see ``Dice``).
Every action runs in a process of its own, which may die, be aborted or be stopped at any point of it. To let
more happen, write a coroutine method of ``World`` that takes a ``Dice`` and put ``@action(often)`` above it; to demand
more, add to ``hold``, which is asked behind every action, or to ``asked`` and ``started``, which see each
model call and each start of a tool at its very moment.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.core.states import session_from, state_from
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import ApprovalDecision
from lousho_cli.domain.codec import encode_line, encode_value
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message, user
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
from lousho_cli.ports.sessions import read_session
from lousho_cli.ports.tool import ToolContext
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.tools.function import function_tool

T = TypeVar("T")
NOW = "2026-01-01T00:00:00.000Z"
AGENT = {"name": "agent", "instructions": "Be brief."}
MAX_STEPS = 400
GATED = ("gated", "asked")


class Dice:
    """Numbers that say what happens; 0 for ever once they are used up, which is always the plainest."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = list(numbers)

    def below(self, count: int) -> int:
        return self._numbers.pop(0) % count if self._numbers else 0

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def flip(self) -> bool:
        return self.below(2) == 1


Action = Callable[["World", Dice], Awaitable[None]]
ACTIONS: list[Action] = []


def action(often: int) -> Callable[[Action], Action]:
    """Makes a method something that may happen, ``often`` times as often as the rarest."""

    def add(does: Action) -> Action:
        ACTIONS.extend([does] * often)
        return does

    return add


class Known:
    """What was promised about one session, and what was seen of it."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.saved = 0
        self.messages: tuple[Message, ...] = ()
        self.results: dict[str, str] = {}
        self.decided: dict[str, bool] = {}
        self.inputs: dict[str, str] = {}
        self.texts: set[str] = set()
        self.turns = 0


class World:
    """Sessions, the disk they are on, one model and its tools."""

    def __init__(self, disk: Any, turns: Sequence[Any]) -> None:
        self.disk, self.provider = disk, _Watched(self, turns)
        self.known: dict[str, Known] = {}
        self.starts: Counter[tuple[str, str]] = Counter()
        self.agent: dict[str, Any] = dict(AGENT)
        self.tools = _tools(self)
        self.process: Any = None
        self.broken: AssertionError | None = None
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

        if await self._drive(name, dice, begin) is not None:
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
                {"messages": lambda messages: messages[:-1]},
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

    @action(1)
    async def change_the_agent(self, dice: Dice) -> None:
        """From here on the agent is another."""
        self.agent = AGENT | dice.pick([{}, {"instructions": "Be long."}, {"model": "m-2"}, {"tools": [tool.name for tool in self.tools[1:]]}])

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
        from lousho_cli.core.trimming import base_batch, trimmed_state

        if not self.known:
            return
        name = dice.pick(list(self.known))

        async def begin(process: Any) -> None:
            claim = await process.claim(name, "host")
            session = await read_session(process, name)
            if session.seq:
                await process.trim(claim, base_batch(trimmed_state(session), claim.epoch, "host"))
            await process.release(claim)

        before = await self.session(name)
        await self._alone(dice, begin, touched=name, trims=True)
        after = await self.session(name)
        assert _same(before, msgspec.structs.replace(after, epoch=before.epoch)), "a trim changed what the log adds up to"

    # How it happens

    async def _drive(self, name: str, dice: Dice, begin: Callable[[dict[str, Any]], Awaitable[Any]]) -> Any:
        """Runs something in a process; None when it did not come back with a result."""
        controller, events = AbortController(), _Listening()
        befalls = dice.pick(["nothing", "death", "death", "abort", "stop", "post", "post and death"])
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
        process = self.process = self.disk.process(death)
        self.tell(f"  drive {name}: {befalls} {death or events.at}")
        known = self.known.setdefault(name, Known())
        options = {
            "session_id": name,
            "checkpoint_store": process.checkpoints,
            "approval_store": process.approvals,
            "tool_registry": self.tools,
            "max_steps": MAX_STEPS,
            "tool_concurrency": dice.pick([None, 1, 2]),
            "on_agent_drift": dice.pick(["warn", "ignore", "error"]),
            "signal": controller.signal,
            "on_event": events,
        }
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
            assert error.code == "LOUSHO_CONFIG_MISSING_INPUT"
            assert not (await self.session(name)).exists, "there was something to go on with"
        return None

    async def _only_posts_came(self, name: str) -> bool:
        known = self.known[name].lines
        new = (await self.disk.reader.read(name)).batches[len(known) :]
        return all(type(record) in (r.Claimed, r.InputReceived, r.Note, r.WaitAnswered, r.Mark) for batch in new for record in batch.records)

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
            assert _openai_takes(session.messages)

    async def _approve(self, name: str, session: Session) -> None:
        async def begin(options: dict[str, Any]) -> Any:
            assert session.wait is not None
            checkpoints, approvals, tools = (options.pop(key) for key in ("checkpoint_store", "approval_store", "tool_registry"))
            options.pop("session_id")
            return await resume_after_approval(
                {"id": session.wait.id, "approved": True}, approvals, tools, self.provider, options | {"agent": self.agent}, checkpoints
            )

        await self._drive(name, Dice([]), begin)

    async def _is_at_its_end(self, name: str) -> bool:
        session = await self.session(name)
        if not session.exists:
            return not await self.disk.reader.inbox(name)
        return session.ended and not session.waiting and not await self.disk.reader.inbox(name)

    # What is there

    async def session(self, name: str) -> Session:
        return fold((await self.disk.reader.read(name)).batches)

    async def lines(self, name: str) -> list[bytes]:
        """A log as bytes."""
        return [encode_line(batch) for batch in (await self.disk.reader.read(name)).batches]

    async def _waiting(self) -> list[tuple[str, Any]]:
        found = []
        for name in self.known:
            session = await self.session(name)
            if session.wait is not None:
                found.append((name, session.wait))
        return found

    def _death(self, dice: Dice) -> Any:
        return self.disk.Death(1 + dice.below(14), behind=dice.flip(), power=dice.flip())

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _text(self) -> str:
        return f"input {self._number()}"

    # What must hold

    async def hold(self, touched: str | None = None) -> None:
        """Asks for every invariant. Only the session ``touched`` may have got new lines since the last time."""
        if self.broken is not None:
            raise self.broken
        for name, known in self.known.items():
            lines = await self.lines(name)
            if lines != known.lines:
                assert name == touched, f"{name} changed while something else happened"
                assert lines[: len(known.lines)] == known.lines, f"what stood in {name} changed"
                known.lines = lines
                await self._hold_of(name, known)
            await self._promised(name, known)

    async def _hold_of(self, name: str, known: Known) -> None:
        batches = (await self.disk.reader.read(name)).batches
        session = fold(batches)
        assert _paired(session), "calls and results do not pair up"
        for call_id, content in _results(session).items():
            assert known.results.setdefault(call_id, content) == content, "a recorded result changed"
        assert known.results.keys() <= _results(session).keys(), "a recorded result is gone"
        assert session.turns >= known.turns, "a recorded turn is gone"
        known.turns = session.turns
        answered = Counter(record.id for batch in batches for record in batch.records if isinstance(record, r.WaitAnswered))
        assert all(count == 1 for count in answered.values()), "an approval was decided twice"
        await self._one_fold(name, batches, session)

    async def _promised(self, name: str, known: Known) -> None:
        """What was acknowledged is there."""
        session = await self.session(name)
        assert session.seq >= known.saved, "what was said to be saved is gone"
        assert tuple(session.messages[: len(known.messages)]) == known.messages, "what a caller was given is gone"
        for approval_id, approved in known.decided.items():
            assert session.decided[approval_id] == approved, "a decision is gone"
        posted = {post.id for post in await self.disk.reader.inbox(name)}
        assert known.inputs.keys() <= posted | session.inputs.keys(), "an input that was taken is gone"

    async def _one_fold(self, name: str, batches: Sequence[r.Batch], session: Session) -> None:
        """The fold is the same however it is made, and its head is that of the list."""
        reader = self.disk.reader
        assert _same(fold(batches), session)
        assert _same(await read_session(reader, name), session), "the snapshot says something else"
        for cut in {len(batches) // 2, len(batches) - 1} - {-1, 0}:
            middle = session_from(state_from(fold(batches[:cut])))
            assert _same(fold(batches[cut:], middle), session), "a fold from the middle says something else"
        head = await reader.head(name)
        if batches:
            assert head is not None
            expected = msgspec.structs.replace(head_of(session), id=name, wake_at=head.wake_at)
            assert head == expected, "the head says something else"

    async def look(self, looking: Awaitable[None]) -> None:
        """Asks for something in the middle of a run, which makes a result of whatever is raised there: it is told when the run is over."""
        try:
            await looking
        except AssertionError as error:
            self.broken = self.broken or error

    async def asked(self, request: Any) -> None:
        """The model is asked: with exactly what is recorded, which no provider could refuse."""
        messages = tuple(request.messages)
        assert _openai_takes(messages)
        assert _anthropic_takes(messages)
        sessions = [await self._as_the_process_sees_it(name) for name in self.known]
        assert any(tuple(session.messages) == messages and session.turn is None for session in sessions), "asked with what is not recorded"
        said = [message for message in messages if message.role != "tool"]
        on_disk = [await self.session(name) for name in self.known]
        assert any(_said(session)[: len(said)] == said for session in on_disk), "asked with what a power cut could take"

    async def started(self, context: ToolContext) -> None:
        """A tool starts: its call has no result, nobody rejected it, and it is not one that must not run twice."""
        name = context.session_id or ""
        session = await self._as_the_process_sees_it(name)
        call = next((call for call in session.pending if call.id == context.tool_call_id), None)
        assert call is not None, "a call ran that had its result, or was never asked for"
        decision = session.decisions.get(call.id)
        assert decision is None or decision.approved, "a call ran that was rejected"
        assert call.name != "gated" or decision is not None, "a call ran that nobody approved"
        self.starts[name, call.id] += 1
        assert call.name != "never" or self.starts[name, call.id] == 1, "a call ran twice that must not"
        assert context.rerun or self.starts[name, call.id] == 1 or self.disk.power_cuts, "a call ran again without being told"
        on_disk = (await self.session(name)).turn
        assert on_disk is not None, "a call ran whose turn a power cut could take"
        assert call in on_disk.calls, "a call ran whose turn a power cut could take"
        assert call.name != "never" or call.id in on_disk.started, "a power cut could make a call run twice that must not"

    async def _as_the_process_sees_it(self, name: str) -> Session:
        return fold((await self.process.read(name)).batches)


# The model and the tools


class _Watched:
    """The scripted provider, with the world looking at each request."""

    name = "scripted"

    def __init__(self, world: World, turns: Sequence[Any]) -> None:
        self._world, self._inner = world, ScriptedProvider([*turns, "done"], repeat_last=True)
        self.model = self._inner.model

    async def stream(self, request: Any) -> Any:
        await self._world.look(self._world.asked(request))
        async for event in self._inner.stream(request):
            yield event


def _tools(world: World) -> list[Any]:
    def tool(name: str, does: Callable[[int, ToolContext], Awaitable[Any]], **options: Any) -> Any:
        async def run(ctx: ToolContext, n: int = 0) -> Any:
            await world.look(world.started(ctx))
            return await does(n, ctx)

        return function_tool(run, name=name, description=name, **options)

    async def at_once(n: int, ctx: ToolContext) -> Any:
        return {"call": ctx.tool_call_id, "n": n}

    async def slowly(n: int, ctx: ToolContext) -> Any:
        for _ in range(n):
            await asyncio.sleep(0)
        return await at_once(n, ctx)

    async def fails(n: int, ctx: ToolContext) -> Any:
        raise ValueError(f"no {n}")

    async def stops(n: int, ctx: ToolContext) -> Any:
        if world.starts[ctx.session_id or "", ctx.tool_call_id] == 1:
            raise PropagatingToolError("stop here")
        return "went on"

    async def asks(args: Any) -> str:
        await asyncio.sleep(0)
        return ("ask", "approve", "deny")[args["n"] % 3]

    return [
        tool("removed", at_once),
        tool("plain", at_once),
        tool("slow", slowly),
        tool("fails", fails),
        tool("stops", stops),
        tool("never", slowly, replay="never"),
        tool("gated", at_once, needs_approval=True),
        tool("asked", at_once, needs_approval=asks),
    ]


TOOLS = ["plain", "slow", "gated", "never", "fails", "asked", "stops", "removed", "unknown"]


def turn(numbers: Sequence[int], tools: Sequence[str] = tuple(TOOLS)) -> Any:
    """An entry of the model's script: some calls, or a text."""
    dice = Dice(numbers)
    if dice.below(5) == 4:
        return dice.pick(["a text", {"error": {"status": 503, "times": 1}, "text": "after all"}])
    names = [dice.pick(tools) for _ in range(1 + dice.below(4))]
    return {"tool_calls": [{"name": name, "args": {"n": dice.below(6)}} for name in names]}


class _Listening:
    """Notes what was said to be saved; does something at one event."""

    def __init__(self) -> None:
        self.at, self.saved = -1, 0
        self.then: Callable[[], Any] = lambda: None

    def __call__(self, event: Any) -> None:
        if event.type == "step.saved":
            self.saved = max(self.saved, event.cursor)
        if self.at == 0:
            self.then()
        self.at -= 1


# What providers demand, said apart from the library's own words for it


def _openai_takes(messages: Sequence[Message]) -> bool:
    """Every call is answered once by the tool messages right behind its message, and no other tool message is there."""
    at = 0
    while at < len(messages):
        message = messages[at]
        at += 1
        if message.role == "tool":
            return False
        wanted = [call.id for call in message.tool_calls]
        answers = [answer.tool_call_id for answer in messages[at : at + len(wanted)] if answer.role == "tool"]
        if sorted(wanted) != sorted(str(answer) for answer in answers):
            return False
        at += len(wanted)
    return True


def _anthropic_takes(messages: Sequence[Message]) -> bool:
    """The same where results are blocks of the next user message: in it, before its text, once each, and ids never come again."""
    turns: list[tuple[str, list[Any]]] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks: list[Any] = [("use", call.id) for call in message.tool_calls]
        blocks += [("result", message.tool_call_id)] if message.role == "tool" else [("text", message.text)]
        if turns and turns[-1][0] == role == "user":
            turns[-1][1].extend(blocks)
        else:
            turns.append((role, blocks))
    used = [block[1] for _, blocks in turns for block in blocks if block[0] == "use"]
    if len(set(used)) < len(used) or turns[0][0] != "user" or turns[-1][0] != "user":
        return False
    for (_, before), (role, blocks) in zip([("user", []), *turns[:-1]], turns, strict=True):
        wanted = [block[1] for block in before if block[0] == "use"] if role == "user" else []
        if [block[1] for block in blocks[: len(wanted)] if block[0] == "result"] != wanted:
            return False
        if sum(block[0] == "result" for block in blocks) != len(wanted):
            return False
    return True


def _paired(session: Session) -> bool:
    """The transcript pairs up, but for the last turn while it is open: then its results stand in call order."""
    messages = list(session.messages)
    if session.turn is None:
        return _openai_takes(messages) and not session.held
    at = max(index for index, message in enumerate(messages) if message.role == "assistant")
    ids = [call.id for call in messages[at].tool_calls]
    behind = [message.tool_call_id for message in messages[at + 1 :]]
    return _openai_takes(messages[:at]) and behind == ids[: len(behind)] and len(behind) < len(ids)


def _results(session: Session) -> dict[str, str]:
    early = session.turn.results if session.turn else {}
    in_order = {message.tool_call_id or "": message.text for message in session.messages if message.role == "tool"}
    return in_order | {call_id: message.text for call_id, message in early.items()}


def _said(session: Session) -> list[Message]:
    return [message for message in (*session.messages, *session.held) if message.role != "tool"]


def _same(one: Session, other: Session) -> bool:
    return encode_value(state_from(one)) == encode_value(state_from(other))


def words(messages: Sequence[Message]) -> list[str]:
    """A transcript without what differs from one decision to the next: its ids."""
    return [json.dumps(msgspec.to_builtins(msgspec.structs.replace(message, metadata=None))) for message in messages]


__all__ = ["ApprovalDecision", "Dice", "World", "turn", "words"]
