"""A server as a process of ours: messages as lines on its standard input and output.

In place of the SDK's own transport, because a server must not outlive us however we end, its complaints must not reach
the terminal, and neither a line without an end nor lines that are no messages may take us down with them.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from lousho_cli.core.masking import names_secret
from lousho_cli.domain.plain import plain
from lousho_cli.domain.texts import MASKED_ANSWER as MASK
from lousho_cli.tools.guardian import guardian
from lousho_cli.tools.mcp.names import one_line
from lousho_cli.tools.mcp.spec import ServerSpec
from lousho_cli.tools.processes import kill_group
from lousho_cli.tools.running import close_pipes, find_program, spawn_held

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

MAX_LINE_BYTES = 64 * 1024 * 1024
"""A server that writes a longer line is ended."""

INHERITED = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")
"""The variables of ours that every server sees. None of them holds a key."""

_CHUNK = 256 * 1024
_STDERR_BYTES = 16 * 1024
_SHOWN_LINES = 3
_LEAST_SECRET = 6  # a shorter value would take ordinary words out
_CLOSED_S, _ASKED_S, _POLL_S = 0.5, 1.0, 0.01
"""How long a server may take to end when its input was closed, and then when it was asked to; and how often is looked."""


def environment(spec: ServerSpec, ours: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a server."""
    return {name: ours[name] for name in (*INHERITED, *spec.pass_env) if name in ours} | spec.env


class StdioTransport:
    """The process of a server and the streams of messages to and from it; entered and left by one task.

    Raises (when entered):
        CommandFailed: it can not be started.
    """

    def __init__(self, spec: ServerSpec) -> None:
        self._spec = spec
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._stderr = bytearray()
        self._no_message = ""
        self._too_long = False
        self._code: int | None = None
        self._left = False
        self._incoming, self._read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self._write, self._outgoing = anyio.create_memory_object_stream[SessionMessage](0)

    async def __aenter__(self) -> Streams:
        try:
            env = environment(self._spec, os.environ)
            folder = self._spec.folder or Path.cwd()
            process = await spawn_held(find_program((self._spec.command, *self._spec.args), folder, env), folder, env)
        except BaseException:
            self._close_streams()
            raise
        self._process = process
        guardian().begun(process.pid)
        assert process.stdin is not None
        process.stdin.write(b"\n")  # lets it begin
        parts = (self._read_lines(), self._write_lines(), self._keep_stderr(), self._watch())
        self._tasks = [asyncio.ensure_future(part) for part in parts]
        return self._read, self._write

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        process = self._process
        assert process is not None, "it was entered"
        try:
            await self._note_end()
            self._left = True
            self._write.close()
            if process.stdin is not None:
                process.stdin.close()
            if not await self._ended_within(_CLOSED_S):
                kill_group(process.pid, signal.SIGTERM)
                await self._ended_within(_ASKED_S)
        finally:
            kill_group(process.pid)
            guardian().ended(process.pid)
            for task in self._tasks:
                task.cancel()
            self._close_streams()
        await self._ended_within(_ASKED_S)
        await asyncio.wait(self._tasks)
        close_pipes(process)

    @property
    def ended(self) -> bool:
        """Whether nothing comes from it any more."""
        return bool(self._tasks) and self._tasks[0].done()

    async def how_it_stands(self) -> str:
        """What became of the process, and the end of what it wrote besides messages, for an error: '' for nothing to tell."""
        await self._note_end()
        said = bytes(self._stderr).decode("utf-8", "replace").strip().splitlines()[-_SHOWN_LINES:]
        told = one_line(self._without_secrets(" | ".join(said)), 600)
        parts = [self._how_it_ended(), told and f"it said: {told}"]
        if self._no_message and not told:
            parts.append(f"it wrote what is no message: {self._no_message}")
        return "; ".join(part for part in parts if part)

    def _without_secrets(self, text: str) -> str:
        """``text`` without the secrets it was given: what it complains of is kept with the session and told to the model."""
        lent = [os.environ.get(name, "") for name in self._spec.pass_env]
        lent += [value for name, value in self._spec.env.items() if names_secret(name)]
        for value in sorted(lent, key=len, reverse=True):
            if len(value) >= _LEAST_SECRET:
                text = text.replace(value, MASK)
        return text

    def _how_it_ended(self) -> str:
        if self._too_long:
            return f"it wrote a line of more than {MAX_LINE_BYTES // 1024 // 1024} MiB"
        if (code := self._code) is None:
            return ""
        return f"it ended with exit code {code}" if code >= 0 else f"it was killed by signal {-code}"

    async def _note_end(self) -> None:
        """How it ended, when it did so by itself."""
        if self._process is not None and not self._left:
            if self.ended:
                await self._ended_within(_CLOSED_S)  # its output ends a moment before it does
            self._code = self._process.returncode

    async def _ended_within(self, seconds: float) -> bool:
        """Whether the process ends in that time. Some Pythons let ``wait`` return only when every pipe is closed."""
        assert self._process is not None
        end = asyncio.get_running_loop().time() + seconds
        while self._process.returncode is None:
            if asyncio.get_running_loop().time() >= end:
                return False
            await asyncio.sleep(_POLL_S)
        return True

    async def _read_lines(self) -> None:
        """Hands on each line that is a message, passes over any other, and closes the stream at the end of the output."""
        assert self._process is not None
        assert self._process.stdout is not None
        pending: list[bytes] = []
        size = 0
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError), self._incoming:
            while chunk := await self._process.stdout.read(_CHUNK):
                *lines, rest = chunk.split(b"\n")
                for line in lines:
                    await self._hand_on(b"".join((*pending, line)))
                    pending, size = [], 0
                pending.append(rest)
                size += len(rest)
                if size > MAX_LINE_BYTES:
                    self._too_long = True
                    kill_group(self._process.pid)
                    return

    async def _hand_on(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = _message_of(line)
        except (ValueError, RecursionError):
            self._no_message = one_line(line[:500].decode("utf-8", "replace"))
            return
        await self._incoming.send(SessionMessage(message))

    async def _write_lines(self) -> None:
        assert self._process is not None
        stdin = self._process.stdin
        assert stdin is not None
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError), self._outgoing:
            async for sent in self._outgoing:
                stdin.write(sent.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await stdin.drain()
            return
        self._incoming.close()  # nothing can be asked of it any more, so nothing is waited for

    async def _keep_stderr(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        with suppress(OSError):
            while chunk := await self._process.stderr.read(_CHUNK):
                self._stderr += chunk
                del self._stderr[:-_STDERR_BYTES]

    async def _watch(self) -> None:
        """Ends what the process left behind, which may hold its output open, so that its end is seen."""
        assert self._process is not None
        while not await self._ended_within(60):
            pass
        await asyncio.sleep(_CLOSED_S)
        kill_group(self._process.pid)

    def _close_streams(self) -> None:
        for stream in (self._incoming, self._read, self._write, self._outgoing):
            stream.close()


def _message_of(line: bytes) -> types.JSONRPCMessage:
    """The message in a line. Bytes that are no text, and half characters, become U+FFFD: the call would wait for ever else.

    Raises:
        ValueError, RecursionError: it is none.
    """
    try:
        return types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        mended = plain(json.loads(line.decode("utf-8", "replace")))[0]
        return types.jsonrpc_message_adapter.validate_python(mended, by_name=False)
