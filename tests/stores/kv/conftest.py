"""Namespaces that behave as KV does where its local form does not: slow to show, one write a second, and noted down."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from lousho_cli.domain.agent import Agent
from lousho_cli.domain.approvals import ExecutionSnapshot, PendingApproval
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.messages import Message, ToolCall, user


class Noted:
    """A namespace over a dictionary, or over another one, that keeps what it was asked."""

    def __init__(self, inner: Any = None) -> None:
        self.values: dict[str, str] = {}
        self.inner = inner
        self.asked: list[tuple[str, ...]] = []

    async def get(self, key: str) -> Any:
        self.asked.append(("get", key))
        return await self.inner.get(key) if self.inner else self.values.get(key)

    async def put(self, key: str, value: str, expiration_ttl: int | None = None) -> None:
        self.asked.append(("put", key) if expiration_ttl is None else ("put", key, str(expiration_ttl)))
        if self.inner:
            await self.inner.put(key, value, expiration_ttl)
        else:
            self.values[key] = value

    async def delete(self, key: str) -> None:
        self.asked.append(("delete", key))
        if self.inner:
            await self.inner.delete(key)
        else:
            self.values.pop(key, None)

    async def list(self, prefix: str) -> list[str]:
        if self.inner:
            return await self.inner.list(prefix)
        return [key for key in self.values if key.startswith(prefix)]


class Elsewhere:
    """Another edge location: what it has read once, a missing key too, it shows until it catches up."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self._seen: dict[str, Any] = {}

    async def get(self, key: str) -> Any:
        if key not in self._seen:
            self._seen[key] = await self.inner.get(key)
        return self._seen[key]

    async def put(self, key: str, value: str, expiration_ttl: int | None = None) -> None:
        await self.inner.put(key, value)

    async def delete(self, key: str) -> None:
        await self.inner.delete(key)

    def catch_up(self) -> None:
        self._seen.clear()


class TooManyRequests(Exception):
    """As the Workers binding says it: in words alone."""


class OneWriteASecond:
    """A namespace that takes one write a second for each key, by the clock of the test."""

    def __init__(self, inner: Any, clock: FakeClock) -> None:
        self.inner, self._clock = inner, clock
        self._written: dict[str, int] = {}
        self.refused = 0

    async def get(self, key: str) -> Any:
        return await self.inner.get(key)

    async def put(self, key: str, value: str) -> None:
        self._take_turn(key)
        await self.inner.put(key, value)

    async def delete(self, key: str) -> None:
        self._take_turn(key)
        await self.inner.delete(key)

    def _take_turn(self, key: str) -> None:
        if self._clock.ms - self._written.get(key, -1000) < 1000:
            self.refused += 1
            raise TooManyRequests("KV PUT failed: 429 Too Many Requests")
        self._written[key] = self._clock.ms


class FakeClock:
    """A clock that sleeping moves."""

    def __init__(self) -> None:
        self.ms = 1_780_000_000_000
        self.slept: list[float] = []

    def now(self) -> str:
        return datetime.fromtimestamp(self.ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def now_ms(self) -> int:
        return self.ms

    def monotonic(self) -> float:
        return self.ms / 1000

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.ms += round(seconds * 1000)
        await asyncio.sleep(0)

    def new_id(self) -> str:
        return uuid.uuid4().hex[:12]

    def chance(self) -> float:
        return 0.0


class Bench:
    Noted, Elsewhere, OneWriteASecond, TooManyRequests, FakeClock = Noted, Elsewhere, OneWriteASecond, TooManyRequests, FakeClock

    @staticmethod
    def checkpoint(step: int, **more: Any) -> Checkpoint:
        return Checkpoint("s", (user(f"step {step}"),), step_index=step, **more)

    @staticmethod
    def pause(approval_id: str) -> tuple[PendingApproval, ExecutionSnapshot]:
        pending = PendingApproval(approval_id, "c1", "pay", {"n": 1}, "0" * 16, "2026-01-01T00:00:00.000Z", session_id="s")
        messages = (user("go"), Message("assistant", "", (ToolCall("c1", "pay", '{"n":1}'),)))
        return pending, ExecutionSnapshot(Agent("agent"), messages, pending, 1, "s", remaining_tool_calls=())

    @staticmethod
    def entries(values: dict[str, str], session: str = "s") -> tuple[list[str], list[str]]:
        """The entry ids that the index names, and those that are there."""
        named = json.loads(values[f"{session}#history"])
        there = [key.removeprefix(f"{session}#history/") for key in values if key.startswith(f"{session}#history/")]
        return named, there


@pytest.fixture
def bench() -> type[Bench]:
    return Bench


@pytest.fixture
def noted() -> Noted:
    return Noted()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def prefix() -> str:
    """What the keys of this test begin with, in a namespace that others use too."""
    return f"{uuid.uuid4().hex[:8]}/"


@pytest.fixture
def open_again(kv_front: Any) -> Callable[..., Any]:
    """A further client of the same namespace, as another process would have."""
    return kv_front.client
