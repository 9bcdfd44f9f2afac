"""The bench of the executor's tests: a clock that is moved, a model that is written down, stores of four kinds.

``store`` runs a test over the memory store, the file store, the SQLite store, and stores that somebody else made:
three plain methods for checkpoints, two for approvals, JSON text inside.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lousho_cli.core.transcript import check
from lousho_cli.domain.approvals import ExecutionSnapshot, PendingApproval
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.cut_answers import count_answers
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.domain.usage import CallUsage
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.approvals import resume_after_approval
from lousho_cli.executor.results import RunResult
from lousho_cli.ports.provider import Answer, ModelRequest, ProviderEvent, TextDelta
from lousho_cli.ports.tool import ToolContext
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.memory import MemoryStore
from lousho_cli.stores.sqlite.store import SqliteStore
from lousho_cli.tools.function import FunctionTool, function_tool

# The bench


class Killed(BaseException):
    """The process dies here: nothing of ours catches it, nothing more is written."""


class FakeClock:
    """A clock a test moves. Sleeping moves it too; ``at_sleep`` is called before."""

    def __init__(self, start: str = "2026-01-01T00:00:00.000+00:00") -> None:
        self.ms = int(datetime.fromisoformat(start).timestamp() * 1000)
        self.slept: list[float] = []
        self.at_sleep: Callable[[float], Any] = lambda seconds: None
        self._ids = 0

    def now(self) -> str:
        return datetime.fromtimestamp(self.ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def now_ms(self) -> int:
        return self.ms

    def monotonic(self) -> float:
        return self.ms / 1000

    async def sleep(self, seconds: float) -> None:
        self.at_sleep(seconds)
        self.slept.append(seconds)
        self.ms += round(seconds * 1000)
        await asyncio.sleep(0)

    def new_id(self) -> str:
        self._ids += 1
        return f"{self._ids:012x}"

    def chance(self) -> float:
        return 0.0


class Calls:
    """An answer that asks for tools: ``Calls("book", ("book", {"n": 2}))``. Ids are c1, c2, … over the session."""

    def __init__(self, *calls: Any, text: str = "", finish_reason: str = "tool_calls") -> None:
        self.calls, self.text, self.finish_reason = calls, text, finish_reason

    def answer(self, known: Sequence[Message]) -> Answer:
        number = sum(len(message.tool_calls) for message in known)
        calls = []
        for call in self.calls:
            number += 1
            if isinstance(call, ToolCall):
                calls.append(call)
                continue
            name, args = call if isinstance(call, tuple) else (call, {})
            calls.append(ToolCall(f"c{number}", name, args if isinstance(args, str) else json.dumps(args)))
        return Answer(Message(role="assistant", content=self.text, tool_calls=tuple(calls)), self.finish_reason)


class Model:
    """A model that answers from a list, by how many answers the transcript holds, and keeps what it was asked.

    An entry is a text, ``Calls``, an ``Answer``, an exception to raise, or a function of the request that gives
    one of those. Like a real provider it refuses a transcript whose calls and results do not pair up.
    """

    name = "written"

    def __init__(self, *turns: Any, model: str | None = "m-1") -> None:
        self.turns, self.model = turns, model
        self.asked: list[tuple[Message, ...]] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        messages = tuple(request.messages)
        self.asked.append(messages)
        assert check(messages) is None, check(messages)
        assert request.turns == count_answers(messages)
        entry = self.turns[request.turns]
        if callable(entry):
            entry = entry(request)
            if isinstance(entry, Awaitable):
                entry = await entry
        if isinstance(entry, BaseException):
            raise entry
        if isinstance(entry, Calls):
            entry = entry.answer(messages)
        if isinstance(entry, str):
            entry = Answer(Message(role="assistant", content=entry), usage=CallUsage(10, 5))
        if entry.message.text:
            yield TextDelta(entry.message.text)
        yield entry


class Box:
    """Tools that note each call: ``log`` holds (name, args, call id) in the order they started."""

    def __init__(self) -> None:
        self.log: list[tuple[str, dict[str, Any], str]] = []
        self.contexts: list[Any] = []
        self.tools: list[FunctionTool] = []

    def tool(self, name: str, does: Callable[..., Any] | None = None, **options: Any) -> FunctionTool:
        """Adds a tool. ``does(args, context)`` gives or awaits its result; it answers with its name when not given."""

        async def run(ctx: ToolContext, n: int = 0) -> Any:
            self.log.append((name, {"n": n}, ctx.tool_call_id))
            self.contexts.append(ctx)
            if does is None:
                return name
            value = does({"n": n}, ctx)
            return await value if isinstance(value, Awaitable) else value

        self.tools.append(function_tool(run, name=name, description=f"does {name}", **options))
        return self.tools[-1]

    @property
    def ran(self) -> list[str]:
        """The ids of the calls that ran, in order of their starts."""
        return [call_id for _, _, call_id in self.log]


# Stores


class PlainCheckpoints:
    """Somebody's checkpoint store: three methods, JSON text inside, gives dictionaries back."""

    def __init__(self, texts: dict[str, str] | None = None) -> None:
        self.texts = {} if texts is None else texts
        self.saved: list[Checkpoint] = []

    async def save(self, session_id: str, checkpoint: Checkpoint) -> None:
        self.saved.append(checkpoint)
        self.texts[session_id] = msgspec.json.encode(checkpoint).decode()

    async def load(self, session_id: str) -> dict[str, Any] | None:
        text = self.texts.get(session_id)
        return None if text is None else json.loads(text)

    async def delete(self, session_id: str) -> None:
        self.texts.pop(session_id, None)


class PlainWithHistory(PlainCheckpoints):
    """The same with the optional ``history`` and ``keep_history``."""

    def __init__(self, texts: dict[str, str] | None = None, rings: dict[str, list[str]] | None = None) -> None:
        super().__init__(texts)
        self.rings = {} if rings is None else rings

    async def save(self, session_id: str, checkpoint: Checkpoint) -> None:
        await super().save(session_id, checkpoint)
        entry = {"step": checkpoint.step_index, "saved_at": f"2026-01-01T00:00:{len(self.saved):02}.000Z", "status": checkpoint.status}
        entry["checkpoint"] = json.loads(self.texts[session_id])
        self.rings.setdefault(session_id, []).append(json.dumps(entry))

    async def history(self, session_id: str, limit: int | None = None) -> list[dict[str, Any]]:
        newest = [json.loads(text) for text in reversed(self.rings.get(session_id, []))]
        return newest if limit is None else newest[:limit]


class PlainApprovals:
    """Somebody's approval store: save and take once, JSON text inside."""

    def __init__(self, texts: dict[str, str] | None = None) -> None:
        self.texts = {} if texts is None else texts

    async def save(self, pending: PendingApproval, snapshot: ExecutionSnapshot) -> None:
        self.texts[pending.id] = msgspec.json.encode({"pending": pending, "snapshot": snapshot}).decode()

    async def resolve(self, approval_id: str) -> dict[str, Any] | None:
        text = self.texts.pop(approval_id, None)
        return None if text is None else json.loads(text)


class PlainWithLoad(PlainApprovals):
    """The same with the optional look that does not take."""

    async def load(self, approval_id: str) -> dict[str, Any] | None:
        text = self.texts.get(approval_id)
        return None if text is None else json.loads(text)


class Stores:
    """A checkpoint store and an approval store of one kind. ``again`` opens the same data as another process would."""

    def __init__(self, kind: str, again: Callable[[], Stores], checkpoints: Any, approvals: Any, log_store: Any = None) -> None:
        self.kind, self.again = kind, again
        self.checkpoints, self.approvals, self.log_store = checkpoints, approvals, log_store

    async def saved(self, session_id: str = "s") -> Checkpoint | None:
        """The stored checkpoint, whatever form the store keeps it in."""
        found = await self.checkpoints.load(session_id)
        return msgspec.convert(found, Checkpoint) if isinstance(found, dict) else found


def memory_stores(**options: Any) -> Stores:
    log_store = MemoryStore(**options)

    def again() -> Stores:
        return Stores("memory", again, log_store.checkpoints, log_store.approvals, log_store)

    return again()


def file_stores(place: Path, **options: Any) -> Stores:
    def again() -> Stores:
        log_store = FileStore(place / ".lousho", **options)
        return Stores("file", again, log_store.checkpoints, log_store.approvals, log_store)

    return again()


def sqlite_stores(place: Path, **options: Any) -> Stores:
    def again() -> Stores:
        log_store = SqliteStore(place / "lousho.db", **options)
        return Stores("sqlite", again, log_store.checkpoints, log_store.approvals, log_store)

    return again()


def custom_stores(checkpoints: type = PlainCheckpoints, approvals: type = PlainApprovals) -> Stores:
    kept, paused, rings = {}, {}, {}

    def again() -> Stores:
        more = (rings,) if issubclass(checkpoints, PlainWithHistory) else ()
        return Stores("custom", again, checkpoints(kept, *more), approvals(paused))

    return again()


@pytest.fixture(params=["memory", "file", "sqlite", "custom"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    return custom_stores() if request.param == "custom" else stores_of(request.param, tmp_path)


def stores_of(kind: str, place: Path) -> Stores:
    """A log store of one kind and its two views."""
    kinds: dict[str, Callable[[], Stores]] = {
        "memory": memory_stores,
        "file": lambda: file_stores(place),
        "sqlite": lambda: sqlite_stores(place),
    }
    return kinds[kind]()


@pytest.fixture(params=["memory", "file", "sqlite"])
def log_stores(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    return stores_of(request.param, tmp_path)


@pytest.fixture(params=["memory", "file", "sqlite", "custom"])
def ringed(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    """Stores that keep a history; the custom one by its own ``history``."""
    if request.param == "custom":
        return custom_stores(PlainWithHistory, PlainWithLoad)
    return stores_of(request.param, tmp_path)


# Running


class Bench:
    """Runs things over a pair of stores with everything a test does not care about filled in."""

    Killed, Calls, Model, Box, FakeClock = Killed, Calls, Model, Box, FakeClock
    PlainCheckpoints, PlainWithHistory = PlainCheckpoints, PlainWithHistory
    PlainApprovals, PlainWithLoad = PlainApprovals, PlainWithLoad
    memory, file, custom = staticmethod(memory_stores), staticmethod(file_stores), staticmethod(custom_stores)
    sqlite = staticmethod(sqlite_stores)

    @staticmethod
    async def run(stores: Stores | None, model: Any, tools: Any = (), text: Any = "go", **options: Any) -> RunResult:
        """``AgentExecutor.execute`` for session ``s``."""
        options.setdefault("agent", {"name": "agent", "prompt": "Be brief."})
        if stores is not None:
            options.setdefault("session_id", "s")
            options.setdefault("checkpoint_store", stores.checkpoints)
            options.setdefault("approval_store", stores.approvals)
        return await AgentExecutor.execute(input=text, provider=model, tool_registry=tools, **options)

    @staticmethod
    async def decide(stores: Stores, decision: Any, model: Any, tools: Any = (), *, keep: bool = True, options: Any = None) -> RunResult:
        """``resume_after_approval``; ``keep`` passes the checkpoint store. A text approves that id."""
        given = {"id": decision, "approved": True} if isinstance(decision, str) else decision
        return await resume_after_approval(given, stores.approvals, tools, model, options, stores.checkpoints if keep else None)

    @staticmethod
    async def paused(stores: Stores, box: Box, *calls: Any, **options: Any) -> str:
        """Runs one turn of these calls up to its pause; gives the approval's id."""
        result = await Bench.run(stores, Model(Calls(*calls)), box.tools, **options)
        assert result.finish_reason == "awaiting-approval"
        assert result.approval_id is not None
        return result.approval_id

    @staticmethod
    async def dies(running: Awaitable[Any]) -> None:
        """Runs until the process dies there."""
        with pytest.raises(Killed):
            await running

    @staticmethod
    async def until(fact: Callable[[], Any]) -> None:
        """Waits for a fact; fails when it does not come true."""
        async with asyncio.timeout(30):
            while not fact():
                await asyncio.sleep(0)

    @staticmethod
    def shape(messages: Sequence[Message]) -> list[str]:
        """A transcript in words: ``user:go``, ``calls:c1+c2``, ``result:c1``, ``assistant:done``."""
        return [_word(message) for message in messages]

    @staticmethod
    def result(messages: Sequence[Message], call_id: str) -> Any:
        """The one result of a call, from its JSON."""
        found = [message for message in messages if message.role == "tool" and message.tool_call_id == call_id]
        assert len(found) == 1, f"{len(found)} results of {call_id}"
        return json.loads(found[0].text)


def _word(message: Message) -> str:
    if message.role == "tool":
        return f"result:{message.tool_call_id}"
    if message.tool_calls:
        return f"calls:{'+'.join(call.id for call in message.tool_calls)}"
    return f"{message.role}:{message.text}"


@pytest.fixture
def bench() -> type[Bench]:
    return Bench


@pytest.fixture
def box() -> Box:
    return Box()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()
