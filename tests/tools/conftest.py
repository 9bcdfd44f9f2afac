"""What a call is told, and how to wait for a fact about a process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from lousho_cli.ports.tool import ToolContext
from lousho_cli.tools.processes import start_time


class Switch:
    """A signal that a test can set."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.reason: Any = None

    @property
    def aborted(self) -> bool:
        return self._event.is_set()

    def abort(self) -> None:
        self._event.set()

    async def wait(self) -> None:
        await self._event.wait()


class Call:
    """A context with what its tool reported."""

    def __init__(self, **changed: Any) -> None:
        self.signal = Switch()
        self.spawned: list[tuple[int, str]] = []
        given = {
            "tool_call_id": "call_1",
            "tool_name": "probe",
            "session_id": "trip",
            "idempotency_key": "trip:call_1:probe",
            "signal": self.signal,
            "spawned": lambda pid, started: self.spawned.append((pid, started)),
        }
        self.context = ToolContext(**(given | changed))

    @property
    def pid(self) -> int:
        return self.spawned[0][0]


def until(fact: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Waits for a fact and gives it; fails when it does not come true."""
    end = time.monotonic() + seconds
    while not (found := fact()):
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.005)
    return found


async def until_async(fact: Callable[[], Any], seconds: float = 60.0) -> Any:
    """The same without holding up the loop."""
    end = time.monotonic() + seconds
    while not (found := fact()):
        assert time.monotonic() < end, "it never came true"
        await asyncio.sleep(0.005)
    return found


def lives(pid: int) -> bool:
    return start_time(pid) != ""


@pytest.fixture
def make_call() -> Callable[..., Call]:
    return Call


@pytest.fixture
def call() -> Call:
    return Call()


@pytest.fixture
def helpers() -> Any:
    class Helpers:
        until = staticmethod(until)
        until_async = staticmethod(until_async)
        lives = staticmethod(lives)

    return Helpers
