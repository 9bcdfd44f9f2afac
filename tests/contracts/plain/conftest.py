"""The checkpoint and approval stores that the same tests run over. A further one is a further entry of ``KINDS``.

``again`` opens the same data anew, as another process would.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.messages import Message, user
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.approvals import resume_after_approval
from lousho_cli.executor.results import RunResult
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.tools.function import function_tool

Opened = tuple[Any, Any]


# Stores that somebody else made


class ThreeMethods:
    """Just what a checkpoint store must have: JSON text inside, dictionaries out, no keyword of ours."""

    def __init__(self, texts: dict[str, str], rings: dict[str, list[str]]) -> None:
        self.texts, self.rings = texts, rings

    async def save(self, session_id: str, checkpoint: Checkpoint) -> None:
        self.texts[session_id] = msgspec.json.encode(checkpoint).decode()
        entry = {"step": checkpoint.step_index, "saved_at": "2026-01-01T00:00:00.000Z", "status": checkpoint.status}
        self.rings.setdefault(session_id, []).append(json.dumps(entry | {"checkpoint": json.loads(self.texts[session_id])}))

    async def load(self, session_id: str) -> dict[str, Any] | None:
        text = self.texts.get(session_id)
        return None if text is None else json.loads(text)

    async def delete(self, session_id: str) -> None:
        self.texts.pop(session_id, None)


class WithHistory(ThreeMethods):
    """The same with the optional ``history``."""

    async def history(self, session_id: str, limit: int | None = None) -> list[dict[str, Any]]:
        newest = [json.loads(text) for text in reversed(self.rings.get(session_id, []))]
        return newest if limit is None else newest[:limit]


class TwoMethods:
    """Just what an approval store must have."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts

    async def save(self, pending: Any, snapshot: Any) -> None:
        self.texts[pending.id] = msgspec.json.encode({"pending": pending, "snapshot": snapshot}).decode()

    async def resolve(self, approval_id: str) -> Any:
        text = self.texts.pop(approval_id, None)
        return None if text is None else json.loads(text)


class Storage:
    """What a local storage is: get, set, remove."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def get(self, key: str) -> str | None:
        return self.values.get(key)

    def set(self, key: str, value: str) -> None:
        self.values[key] = value

    def remove(self, key: str) -> None:
        self.values.pop(key, None)


class AsyncNamespace:
    """What a KV binding is: get, put, delete, each async; with ``list``."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    async def get(self, key: str) -> str | None:
        return self.values.get(key)

    async def put(self, key: str, value: str) -> None:
        self.values[key] = value

    async def delete(self, key: str) -> None:
        self.values.pop(key, None)


# The kinds


def _memory(_place: Path, _client: Any) -> Callable[..., Opened]:
    from lousho_cli.stores.memory import MemoryStore

    made: list[MemoryStore] = []

    def open_store(**options: Any) -> Opened:
        made.append(MemoryStore(**options))
        if len(made) > 1:
            made[-1]._logs = made[0]._logs
        return made[-1].checkpoints, made[-1].approvals

    return open_store


def _file(place: Path, _client: Any) -> Callable[..., Opened]:
    from lousho_cli.stores.file.store import FileStore

    return lambda **options: (FileStore(place / ".lousho", **options).checkpoints, FileStore(place / ".lousho").approvals)


def _sqlite(place: Path, _client: Any) -> Callable[..., Opened]:
    import lousho_cli

    def open_store(**options: Any) -> Opened:
        store = lousho_cli.SqliteStore(place / "runs.db", **options)
        return store.checkpoints, store.approvals

    return open_store


def _files(place: Path, _client: Any) -> Callable[..., Opened]:
    from lousho_cli.stores.checkpoint_files import FileApprovalStore, FileCheckpointStore

    return lambda **options: (FileCheckpointStore(place / "agent", **options), FileApprovalStore(place / "agent"))


def _local(_place: Path, _client: Any) -> Callable[..., Opened]:
    from lousho_cli.stores.local_storage import LocalStorageApprovalStore, LocalStorageCheckpointStore

    storage = Storage()
    return lambda **options: (LocalStorageCheckpointStore(storage, **options), LocalStorageApprovalStore(storage))


def _kv(_place: Path, _client: Any) -> Callable[..., Opened]:
    from lousho_cli.stores.kv.store import KVStore

    namespace = AsyncNamespace()

    def open_store(**options: Any) -> Opened:
        store = KVStore(namespace, **options)
        return store.checkpoints, store.approvals

    return open_store


def _workerd(_place: Path, client: Any) -> Callable[..., Opened]:
    from lousho_cli.stores.kv.store import KVStore

    prefix = f"{uuid.uuid4().hex[:8]}/"

    def open_store(**options: Any) -> Opened:
        store = KVStore(client, prefix, **options)
        return store.checkpoints, store.approvals

    return open_store


def _custom(kind: type[ThreeMethods]) -> Callable[..., Callable[..., Opened]]:
    def made(_place: Path, _client: Any) -> Callable[..., Opened]:
        texts, rings, paused = {}, {}, {}
        return lambda: (kind(texts, rings), TwoMethods(paused))

    return made


KINDS: dict[str, Callable[[Path, Any], Callable[..., Opened]]] = {
    "memory": _memory,
    "file": _file,
    "sqlite": _sqlite,
    "checkpoint files": _files,
    "local storage": _local,
    "kv": _kv,
    "workerd": _workerd,
    "custom": _custom(ThreeMethods),
    "custom with history": _custom(WithHistory),
}
OURS = [kind for kind in KINDS if not kind.startswith("custom")]
IN_KV = ("kv", "workerd")

GROUPS = {
    "any_store": list(KINDS),
    "ours": OURS,
    "ringed": [*OURS, "custom with history"],  # that keep a history
    "ringless": ["custom"],
    "plain": [kind for kind in KINDS if kind not in ("memory", "file", "sqlite")],  # with a save that can fail
    "careful": [kind for kind in OURS if kind not in IN_KV],  # that give an approval away once, and lie in files or could
    "listing": [kind for kind in OURS if kind not in ("local storage", "kv")],  # that can list their approvals
}
"""The argument of a test says over which kinds it runs."""


class Kind:
    """One kind of store with nothing in it yet. ``again`` opens what is there by now."""

    def __init__(self, name: str, open_store: Callable[..., Opened]) -> None:
        self.name, self._open = name, open_store

    def again(self, **options: Any) -> Kind:
        self.checkpoints, self.approvals = self._open(**options)
        return self

    async def saved(self, session_id: str = "s") -> Checkpoint | None:
        found = await self.checkpoints.load(session_id)
        return msgspec.convert(found, Checkpoint) if isinstance(found, dict) else found


@pytest.fixture
async def opened(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Kind]:
    name = request.param
    client = request.getfixturevalue("kv_front").client() if name == "workerd" else None
    yield Kind(name, KINDS[name](tmp_path, client)).again()
    if client is not None:
        await client.aclose()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for group, kinds in GROUPS.items():
        if group in metafunc.fixturenames:
            metafunc.parametrize("opened", kinds, indirect=True)


for _group in GROUPS:
    globals()[_group] = pytest.fixture(name=_group)(lambda opened: opened)


# Running


SCRIPT: list[Any] = [
    {"text": "I look.", "tool_calls": [{"name": "weather", "args": {"city": "Lisbon"}, "id": "w"}]},
    {"tool_calls": [{"name": "note", "args": {"text": "a"}, "id": "n"}, {"name": "book", "args": {"table": 2}, "id": "b"}]},
    [{"when": {"result": {"w": {"forecast": "rain"}}}, "text": "Stay in."}, {"text": "Booked."}],
    {"text": "You are welcome."},
]


class Bench:
    """A script of two turns with calls, the second with one that needs a person, and an answer for each forecast."""

    Checkpoint = Checkpoint

    def __init__(self) -> None:
        self.ran: list[str] = []

        def weather(city: str) -> dict[str, str]:
            self.ran.append("weather")
            return {"forecast": "sun"}

        def note(text: str) -> str:
            self.ran.append("note")
            return text

        def book(table: int) -> str:
            self.ran.append("book")
            return "booked"

        self.tools = [
            function_tool(weather, replay="safe"),
            function_tool(note, replay="safe"),
            function_tool(book, needs_approval=True, replay="safe"),
        ]
        self.provider = ScriptedProvider(SCRIPT)

    async def run(self, kind: Kind, text: Any = "go", session_id: str = "s") -> RunResult:
        return await AgentExecutor.execute(
            agent={"name": "agent", "prompt": "Be brief."},
            input=text,
            provider=self.provider,
            tool_registry=self.tools,
            tool_concurrency=1,
            session_id=session_id,
            checkpoint_store=kind.checkpoints,
            approval_store=kind.approvals,
        )

    async def approve(self, kind: Kind, approval_id: str | None) -> RunResult:
        assert approval_id is not None
        decision = {"id": approval_id, "approved": True}
        return await resume_after_approval(decision, kind.approvals, self.tools, self.provider, None, kind.checkpoints)

    @staticmethod
    def checkpoint(step: int, **more: Any) -> Checkpoint:
        return Checkpoint("s", (user(f"step {step}"),), step_index=step, **more)

    @staticmethod
    def shape(messages: tuple[Message, ...]) -> list[str]:
        return [message.tool_call_id or "+".join(call.id for call in message.tool_calls) or message.text for message in messages]


@pytest.fixture
def bench() -> Bench:
    return Bench()
