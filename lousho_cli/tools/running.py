"""Runs one program for a tool: input, output, time limit, abort, and nothing left behind.

The program is started by a shell that first waits for a line on standard input. Between the two
the process is written down and made known to the guardian; so whatever kills us, no program has
begun that nobody knows of. What a program started ends with it, unless it left its session.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from lousho_cli.domain.texts import SHUTDOWN_REASON
from lousho_cli.ports.tool import Signal
from lousho_cli.tools.guardian import guardian
from lousho_cli.tools.processes import kill_group, start_time

DEFAULT_TIMEOUT_MS = 600_000
"""How long a program may run when nothing else is said."""

MAX_OUTPUT_BYTES = 64 * 1024 * 1024
"""A program that writes more than this to standard output is killed."""

GRACE_SECONDS = 2.0
"""How long a program that is asked to end may take before it is killed."""

_STDERR_BYTES = 16 * 1024
_CHUNK = 256 * 1024
_LINGER_SECONDS = 0.5
_WAIT_THEN_BECOME = 'IFS= read -r line || exit 125; exec "$@"'


class CommandFailed(Exception):
    """A program that could not be started, did not end well, or was stopped. ``exit_code`` is None where it has none."""

    def __init__(self, message: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class Finished(NamedTuple):
    """How a program ended: its exit code, negative for a signal, all it wrote, and the end of what it complained about."""

    code: int
    stdout: bytes
    stderr: bytes


class _Sink:
    """Takes what a stream gives: all of it, or with ``tail`` only the end."""

    def __init__(self, limit: int, tail: bool) -> None:
        self.bytes = bytearray()
        self.limit = limit
        self.tail = tail
        self.full = False

    async def fill(self, stream: asyncio.StreamReader, on_full: Callable[[], None]) -> None:
        while chunk := await stream.read(_CHUNK):
            if self.full:
                continue
            self.bytes += chunk
            if len(self.bytes) <= self.limit:
                continue
            if self.tail:
                del self.bytes[: -self.limit]
            else:
                self.full = True
                on_full()


def find_program(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> list[str]:
    """``argv`` with its program found on the PATH of ``env``; ``python`` is this one where there is none.

    Raises:
        CommandFailed: there is no such program, or it may not be run.
    """
    name = argv[0]
    if os.sep in name:
        path = cwd / name
        if not path.is_file() or not os.access(path, os.X_OK):
            raise CommandFailed(f"can not start {name}: {'it is not executable' if path.is_file() else 'there is no such program'}")
        return [str(path), *argv[1:]]
    found = shutil.which(name, path=env.get("PATH"))
    if found is None and name in ("python", "python3") and sys.executable:
        found = sys.executable
    if found is None:
        raise CommandFailed(f"can not start {name}: there is no such program on the PATH")
    return [found, *argv[1:]]


async def run_program(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes,
    timeout_ms: int,
    aborted: Signal,
    spawned: Callable[[int, str], None],
) -> Finished:
    """Runs a program to its end.

    Args:
        argv: the program and its arguments; see ``find_program``.
        env: its whole environment.
        stdin: what it may read.
        timeout_ms: how long it may take.
        aborted: ends it early.
        spawned: is told the process id and start time before the program begins.

    Raises:
        CommandFailed: it could not be started, took too long, wrote too much, or was aborted.
    """
    command = find_program(argv, cwd, env)
    process = await spawn_held(command, cwd, env)
    group = process.pid
    guardian().begun(group)
    out, err = _Sink(MAX_OUTPUT_BYTES, tail=False), _Sink(_STDERR_BYTES, tail=True)
    work: asyncio.Task[int] | None = None
    stop = asyncio.ensure_future(aborted.wait())
    try:
        spawned(group, start_time(group))
        work = asyncio.ensure_future(_drive(process, b"\n" + stdin, out, err))
        started_at = monotonic()
        await asyncio.wait({work, stop}, timeout=timeout_ms / 1000, return_when=asyncio.FIRST_COMPLETED)
        if stop.done() and aborted.reason == SHUTDOWN_REASON:
            # Whoever stops only for now lets what runs come to its end, and cancels us when its patience is over.
            await asyncio.wait({work}, timeout=max(timeout_ms / 1000 - (monotonic() - started_at), 0))
        if not work.done():
            await _end(process, work)
            raise CommandFailed("was stopped because the run was aborted" if stop.done() else f"did not end within {timeout_ms / 1000:g} s")
        if out.full:
            raise CommandFailed(f"wrote more than {MAX_OUTPUT_BYTES // 1024 // 1024} MiB and was stopped")
        return Finished(work.result(), bytes(out.bytes), bytes(err.bytes))
    except asyncio.CancelledError:
        await _end(process, work)
        raise
    finally:
        kill_group(group)
        guardian().ended(group)
        for task in (stop, work):
            if task is not None:
                task.cancel()
        close_pipes(process)


def close_pipes(process: asyncio.subprocess.Process) -> None:
    """Closes the pipes of a program that is over. What it left behind may hold them open for longer than our event loop lives."""
    process._transport.close()  # type: ignore[attr-defined]


async def spawn_held(command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> asyncio.subprocess.Process:
    """Starts a program that leads a session of its own and is held until a line end is written to its input.

    The caller tells the guardian of its group before that.

    Raises:
        CommandFailed: it can not be started.
    """
    pipe = asyncio.subprocess.PIPE
    try:
        guardian().ready()
        return await asyncio.create_subprocess_exec(
            "/bin/sh", "-c", _WAIT_THEN_BECOME, "sh", *command,
            stdin=pipe, stdout=pipe, stderr=pipe, cwd=cwd, env=env, start_new_session=True, limit=_CHUNK,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise CommandFailed(f"can not start {command[0]} in {cwd}: {error}") from error


async def _drive(process: asyncio.subprocess.Process, stdin: bytes, out: _Sink, err: _Sink) -> int:
    """Feeds and drains a process until it has ended and everything it wrote is here; gives its exit code."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    group = process.pid
    drains = [
        asyncio.ensure_future(out.fill(process.stdout, lambda: kill_group(group))),
        asyncio.ensure_future(err.fill(process.stderr, lambda: None)),
    ]
    rest = [asyncio.ensure_future(_feed(process.stdin, stdin)), asyncio.ensure_future(process.wait())]
    try:
        while process.returncode is None:
            # Some Pythons let ``wait`` return only when every pipe is closed, which a process left behind may hold open.
            await asyncio.wait(rest[1:], timeout=0.05)
        await asyncio.wait(drains, timeout=_LINGER_SECONDS)
        kill_group(group)
        await asyncio.wait(drains, timeout=_LINGER_SECONDS)
        return process.returncode
    finally:
        for task in (*drains, *rest):
            task.cancel()


async def _feed(stream: asyncio.StreamWriter, data: bytes) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):  # a program need not read its input
        stream.write(data)
        await stream.drain()
        stream.close()


async def _end(process: asyncio.subprocess.Process, work: asyncio.Task[int] | None) -> None:
    """Asks the whole group to end, and after a while makes it."""
    kill_group(process.pid, signal.SIGTERM)
    try:
        if work is not None:
            await asyncio.wait({work}, timeout=GRACE_SECONDS)
    finally:
        kill_group(process.pid)
    if work is not None:
        await asyncio.wait({work}, timeout=2 * _LINGER_SECONDS)
