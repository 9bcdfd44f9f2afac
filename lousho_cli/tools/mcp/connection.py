"""One connection to a server: a task that opens, holds and closes it, and calls that other tasks make over it.

What the SDK opens must be closed by the task that opened it, and calls come from any; so the connection has a task of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from contextvars import copy_context
from typing import Any

import mcp_types as types
from mcp.client.session import ClientRequestContext, ClientSession
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from lousho_cli.domain.texts import SHUTDOWN_REASON
from lousho_cli.ports.tool import Signal
from lousho_cli.tools.mcp.attempts import CURRENT, Attempt
from lousho_cli.tools.mcp.elicitation import is_web_address, sign_in
from lousho_cli.tools.mcp.failures import Forgotten, Gone, McpToolError, words_of
from lousho_cli.tools.mcp.http import HttpTransport
from lousho_cli.tools.mcp.names import one_line
from lousho_cli.tools.mcp.spec import ServerSpec
from lousho_cli.tools.mcp.stdio import StdioTransport

MAX_PAGES, MAX_TOOLS = 100, 2000
"""A server that lists more than this never ends."""

MAX_ROUNDS = 50
"""And one that asks more often than this in one call."""

_GIVE_UP_S = 0.5
_NOT_READY_S = 0.1
_CLOSE_S = 5.0

for _name in ("mcp", "client"):
    logging.getLogger(_name).addHandler(logging.NullHandler())  # else what it logs goes to the terminal where nobody set logging up


class Connection:
    """A connection to one server. ``spec`` says how; it is opened once and closed once.

    Raises:
        ConfigurationError: a header's value is not in the environment.
    """

    def __init__(self, spec: ServerSpec) -> None:
        self._spec = spec
        self._transport = StdioTransport(spec) if spec.command else HttpTransport(spec)
        self._stop = asyncio.Event()
        self._session: ClientSession | None = None
        self._owner: asyncio.Task[None] | None = None
        self._attempts: set[Attempt] = set()
        self._one_at_a_time: asyncio.Lock | None = None
        self._broken = False

    @property
    def alive(self) -> bool:
        """Whether calls may be made over it."""
        return self._owner is not None and not self._owner.done() and not self._transport.ended and not self._broken

    async def open(self) -> list[types.Tool]:
        """Opens it and gives the tools of the server.

        Raises:
            Gone: it can not be reached, does not speak the protocol, or does not answer in time.
        """
        listed: asyncio.Future[list[types.Tool]] = asyncio.get_running_loop().create_future()
        self._owner = owner = asyncio.create_task(self._own(listed))
        owner.add_done_callback(_seen)  # it may end long after anybody waits for it
        timeout_s = self._spec.connect_timeout_ms / 1000
        watched: set[asyncio.Future[Any]] = {owner, listed}
        try:
            await asyncio.wait(watched, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self._cancel()
            raise
        if listed.done():
            return listed.result()
        if owner.done():
            error = None if owner.cancelled() else owner.exception()
            reason = "its connection ended" if error is None else words_of(error)
        else:
            reason = f"it did not answer within {timeout_s:g} s"
            await self._cancel()
        raise Gone(await self._with_end(reason))

    @property
    def forgotten(self) -> bool:
        """Whether the server is there and has lost our session, which is no death."""
        return bool(self._spec.url) and self._transport.ended

    async def close(self) -> None:
        """Closes it, whatever it does; gives no error."""
        if self._owner is None:
            return
        self._stop.set()
        await asyncio.wait({self._owner}, timeout=_CLOSE_S)
        await self._cancel()

    async def call(self, tool: str, args: Any, answers: tuple[str, ...], signal: Signal) -> types.CallToolResult:
        """Makes a call, by the tool's own name.

        Raises:
            AskPerson: the server asks what ``answers`` do not answer.
            McpToolError: it was refused, took too long, was given up on an abort, or its answer can not be read.
            Forgotten: the server has lost our session, and did not begin the call.
            Gone: the server went away.
        """
        async with self._one_at_a_time or nullcontext():
            if signal.aborted:
                raise McpToolError("the call was not made because the run was aborted")
            async with self._attempt(answers) as attempt:
                return await self._made(tool, args, attempt, signal)

    @asynccontextmanager
    async def _attempt(self, answers: tuple[str, ...]) -> AsyncIterator[Attempt]:
        attempt = Attempt(self._spec.name, answers)
        self._attempts.add(attempt)
        try:
            yield attempt
        finally:
            self._attempts.discard(attempt)
            attempt.over.set()

    async def _made(self, tool: str, args: Any, attempt: Attempt, signal: Signal) -> types.CallToolResult:
        assert self._owner is not None, "it was opened"
        context = copy_context()
        context.run(CURRENT.set, attempt)
        work = asyncio.create_task(self._in_rounds(tool, args, attempt), context=context)
        stop = asyncio.ensure_future(signal.wait())
        loop, timeout_s = asyncio.get_running_loop(), self._spec.timeout_ms / 1000
        until = loop.time() + timeout_s
        watched: set[asyncio.Future[Any]] = {work, attempt.asked, self._owner}
        try:
            await asyncio.wait({*watched, stop}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
            if stop.done() and signal.reason == SHUTDOWN_REASON:
                # Who stops only for now lets what runs come to its end, and cancels us when its patience is over.
                await asyncio.wait(watched, timeout=max(until - loop.time(), 0), return_when=asyncio.FIRST_COMPLETED)
            if attempt.asked.done():
                raise attempt.asked.result()
            if work.done():
                return await self._result_of(work, attempt)
            if self._owner.done():
                raise Gone(await self._with_end("its connection ended"))
            raise McpToolError("was stopped because the run was aborted" if signal.aborted else f"did not answer within {timeout_s:g} s")
        finally:
            stop.cancel()
            await _given_up(work)

    async def _result_of(self, work: asyncio.Task[types.CallToolResult], attempt: Attempt) -> types.CallToolResult:
        """What a call gave, and its failure as one of ours."""
        error = asyncio.CancelledError() if work.cancelled() else work.exception()
        if error is None:
            return work.result()
        if isinstance(error, MCPError):
            if error.code == types.URL_ELICITATION_REQUIRED:
                self._sign_in(error)
            if self.forgotten:
                raise Forgotten("it has forgotten its session") from error
            if error.code != types.CONNECTION_CLOSED:
                raise McpToolError(words_of(error)) from error
            raise Gone(await self._with_end("its connection was closed")) from error
        raise McpToolError(words_of(error)) from error

    def _sign_in(self, error: MCPError) -> None:
        """A refusal that says where a person has to go first. One that can not be read is any other refusal."""
        try:
            wanted = UrlElicitationRequiredError.from_error(error.error).elicitations
        except (ValueError, TypeError, AttributeError):
            return
        for one in wanted:
            if is_web_address(one.url):
                raise sign_in(self._spec.name, one.url, one.message)

    async def _own(self, listed: asyncio.Future[list[types.Tool]]) -> None:
        us = types.Implementation(name="lousho", version=_version())
        async with (
            self._transport as (read, write),
            ClientSession(read, write, elicitation_callback=self._elicited, client_info=us) as session,
        ):
            self._session = session
            await _greet(session)
            if self._spec.command and session.protocol_version not in MODERN_PROTOCOL_VERSIONS:
                # Nothing there says which of several calls it is that asks a person.
                self._one_at_a_time = asyncio.Lock()
            tools = await _all_tools(session)
            if not listed.done():
                listed.set_result(tools)
            await self._stop.wait()

    async def _in_rounds(self, tool: str, args: Any, attempt: Attempt) -> types.CallToolResult:
        """A call to its result: a server of today asks by ending it, and is called again with what it asked for."""
        assert self._session is not None, "it was opened"
        responses: types.InputResponses | None = None
        state: str | None = None
        for _ in range(MAX_ROUNDS):
            result = await self._session.call_tool(tool, args, input_responses=responses, request_state=state, allow_input_required=True)
            if isinstance(result, types.CallToolResult):
                return result
            responses, state = {}, result.request_state
            for key, request in (result.input_requests or {}).items():
                if not isinstance(request, types.ElicitRequest):
                    raise McpToolError(f"it asks for {one_line(request.method, 60)}, which it does not get")
                responses[key] = await attempt.answer(request.params)
            if not responses:
                await asyncio.sleep(_NOT_READY_S)
        raise McpToolError("it asks without end")

    async def _elicited(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult | types.ErrorData:
        attempt = CURRENT.get() or (next(iter(self._attempts)) if len(self._attempts) == 1 else None)
        if attempt is None:
            return types.ErrorData(code=types.INVALID_REQUEST, message="a person is asked only for a call that runs")
        return await attempt.answer(params)

    async def _with_end(self, reason: str) -> str:
        self._broken = True
        ended = await self._transport.how_it_stands()
        return f"{reason}; {ended}" if ended else reason

    async def _cancel(self) -> None:
        if self._owner is not None:
            await _given_up(self._owner, _CLOSE_S)


async def _greet(session: ClientSession) -> None:
    """Agrees on the protocol. By the older handshake where the server knows it: there it may ask while a call runs."""
    try:
        await session.initialize()
    except MCPError as error:
        if error.code == types.CONNECTION_CLOSED:
            raise
        try:
            await session.discover()
        except (MCPError, RuntimeError):
            raise error from None


async def _all_tools(session: ClientSession) -> list[types.Tool]:
    if session.server_capabilities is None or session.server_capabilities.tools is None:
        return []
    tools: list[types.Tool] = []
    seen: set[str] = set()
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await session.list_tools(params=types.PaginatedRequestParams(cursor=cursor) if cursor else None)
        tools += page.tools
        cursor = page.next_cursor
        if not cursor:
            return tools
        if cursor in seen or len(tools) > MAX_TOOLS:
            break
        seen.add(cursor)
    raise Gone("it lists its tools without end")


async def _given_up(task: asyncio.Task[Any], seconds: float = _GIVE_UP_S) -> None:
    """Cancels a task and waits for it to be gone, for a while; what it raises then interests nobody."""
    if not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=seconds)
    if task.done():
        _seen(task)


def _seen(task: asyncio.Task[Any]) -> None:
    """Takes note of how a task ended, so that nothing is printed about it."""
    if not task.cancelled():
        task.exception()


def _version() -> str:
    from lousho_cli import __version__

    return __version__
