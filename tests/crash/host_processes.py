"""Hosts in processes of their own, each forked from this one, which has loaded everything: a host costs milliseconds, not half a second.

    python host_processes.py        one JSON line in: what to do; one JSON line out: how the process ended

    do      "run" (a turn with two tools and a retry), "wait" (one that stops for an approval), "approve" (decides it), each to its end
    place   a folder for the store and for ``effects``, a file with a line for each thing done in the world
    kind    "file" or "sqlite"
    kill    the number of the write at which it kills itself with SIGKILL, None for never
    torn    whether half of what it was to write is there by then

A write is, over files, any call that changes something of the store, made on any thread; over SQLite, which keeps its own
calls to itself, the beginning or the end of a call of the store. Its number is counted from the first after the host was made.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from lousho_cli import FileStore, SqliteStore, define_harness, define_tool, retry_transient_errors
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.errors import ProviderError
from lousho_cli.host.host import create_harness_host
from lousho_cli.ports.provider import Answer, ModelRequest

CALLS = {"pwrite", "fsync", "fdatasync", "link", "rename", "replace", "unlink", "mkdir", "write"}
STORE = ("claim", "append", "post", "discard", "release", "save_snapshot")


class Effects:
    """A file that everything done in the world leaves a line in. Written with ``writev``, which no store uses."""

    def __init__(self, place: Path) -> None:
        self.path = place / "effects"
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def line(self, *words: object) -> None:
        os.writev(self._file, [(" ".join(map(str, words)) + "\n").encode()])

    def once(self, *words: object) -> bool:
        """Leaves a line where it is not there yet; whether it did."""
        there = " ".join(map(str, words)) in self.path.read_text().splitlines()
        if not there:
            self.line(*words)
        return not there


class Model:
    """Fails the first time it is asked for each of its answers: two calls, then the end."""

    name, model = "failing", "failing"

    def __init__(self, effects: Effects, calls: tuple[str, ...]) -> None:
        self._effects, self._calls = effects, calls

    async def stream(self, request: ModelRequest) -> AsyncIterator[Answer]:
        turn = sum(message.role == "assistant" for message in request.messages)
        self._effects.line("model", turn)
        if self._effects.once("failed", turn):
            raise ProviderError("overloaded", category="overloaded", retryable=True)
        calls = tuple(ToolCall(f"c-{name}", name, "{}") for name in self._calls) if turn == 0 else ()
        yield Answer(Message("assistant", "" if calls else "Done.", calls), "tool_calls" if calls else "stop")


def harness_of(effects: Effects, do: str) -> Any:
    def look() -> str:
        effects.line("start", "c-look")
        return "seen"

    async def pay() -> str:
        effects.line("start", "c-pay")
        return "paid"

    tools = [
        define_tool(name="look", execute=look, replay="safe"),
        define_tool(name="pay", execute=pay, replay="never", needs_approval=do != "run"),
    ]
    model = Model(effects, ("look", "pay") if do == "run" else ("pay",))
    return define_harness("acme/assistant", model, tools=tools, turn={"on_model_error": retry_transient_errors(base_delay_ms=1)})


async def work(do: str, store: Any, effects: Effects) -> None:
    host = create_harness_host({"log": store})
    session = await host.open(harness_of(effects, do), "t")
    await session.send("Go", input_id="a")
    ended = await session.settled("a")
    if do == "approve" and ended.waits_for is not None:
        await session.approve(ended.waits_for)
        effects.line("told", "approved")
        while (ended := await session.settled("a")).outcome == "interrupted":
            await asyncio.sleep(0.001)
    effects.line("settled", ended.outcome, ended.text)
    await host.close()


class Killing:
    """Counts the writes of this process, and ends it at one of them."""

    def __init__(self, kill: int | None, torn: bool) -> None:
        self._kill, self._torn = kill, torn
        self.count = 0

    def at(self, half: Callable[[], Any] = lambda: None) -> None:
        self.count += 1
        if self.count == self._kill:
            if self._torn:
                half()
            os.kill(os.getpid(), signal.SIGKILL)

    def calls(self, name: str) -> None:
        real = getattr(os, name)

        def counted(*args: Any, **options: Any) -> Any:
            self.at(lambda: real(args[0], args[1][: len(args[1]) // 2]) if name == "write" else None)
            return real(*args, **options)

        setattr(os, name, counted)

    def store(self, store: Any, name: str) -> None:
        real = getattr(store, name)

        async def counted(*args: Any, **options: Any) -> Any:
            self.at()
            result = await real(*args, **options)
            self.at()
            return result

        setattr(store, name, counted)


def child(order: dict[str, Any]) -> None:
    place = Path(order["place"])
    effects = Effects(place)
    killing = Killing(order.get("kill"), order.get("torn", False))
    store: Any = FileStore(place / ".lousho") if order["kind"] == "file" else SqliteStore(place / "lousho.db")
    if order["kind"] == "file":
        for name in CALLS:
            killing.calls(name)
    else:
        for name in STORE:
            killing.store(store, name)
    asyncio.run(work(order["do"], store, effects))
    effects.line("writes", killing.count)
    effects.line("modules", *sorted(sys.modules))


def forked(order: dict[str, Any]) -> dict[str, Any]:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            child(order)
            code = 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    return {"code": os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}


def warm(effects: Path) -> None:
    """Loads what a host loaded while it worked, so that the next one need not; what ends with us is taken away."""
    lines = effects.read_text().splitlines()
    for name in next(line for line in lines if line.startswith("modules ")).split()[1:]:
        if name not in sys.modules and not name.startswith("__"):
            import_module(name)


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        print(json.dumps({"warm": warm(Path(order["warm"]))} if "warm" in order else forked(order)), flush=True)


if __name__ == "__main__":
    main()
