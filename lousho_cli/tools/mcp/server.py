"""A server in a run: started before the first model call, started again when it died, closed at the end."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as types
import msgspec

from lousho_cli.errors import McpServerError
from lousho_cli.ports.tool import ToolContext
from lousho_cli.tools.mcp.approval import Hints
from lousho_cli.tools.mcp.connection import Connection
from lousho_cli.tools.mcp.failures import Forgotten, Gone, McpToolError
from lousho_cli.tools.mcp.results import text_of_blocks, value_of
from lousho_cli.tools.mcp.spec import ServerSpec

MOST_RESTARTS = 3
"""How often a server that died is started again in one run."""


class Offer(msgspec.Struct, frozen=True):
    """A tool as its server lists it, by its own name."""

    name: str
    description: str
    schema: dict[str, Any]
    hints: Hints


class McpServer:
    """One server. Its tools are those it listed first: what it says of them later holds from the next run on."""

    def __init__(self, spec: ServerSpec) -> None:
        self.spec = spec
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._restarts = 0

    async def start(self) -> tuple[Offer, ...]:
        """Starts it and gives its tools.

        Raises:
            McpServerError: it can not be started, or does not answer as a server should.
            ConfigurationError: what it needs from the environment is not there.
        """
        connection = Connection(self.spec)
        try:
            listed = await connection.open()
        except Gone as error:
            raise McpServerError(self.spec.name, str(error)) from error
        self._connection = connection
        offers: dict[str, Offer] = {}
        for tool in listed:
            said = tool.annotations
            hints = Hints(said.read_only_hint, said.destructive_hint, said.idempotent_hint) if said is not None else Hints()
            # Two of one name are one tool: a call can only name it.
            offers.setdefault(tool.name, Offer(tool.name, tool.description or "", tool.input_schema, hints))
        return tuple(offers.values())

    async def call(self, tool: str, args: Any, context: ToolContext) -> Any:
        """Makes a call, by the tool's own name, and gives the value of its result.

        Raises:
            AskPerson: the server asks a person something that was not answered yet.
            McpToolError: the call failed; its text is for the model.
        """
        try:
            result = await self._called(tool, args, context)
        except Gone as error:
            raise McpToolError(f"the MCP server {self.spec.name} is gone: {error}") from error
        except McpToolError as error:
            raise McpToolError(f"the MCP server {self.spec.name}: {error}") from error
        data = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        if result.is_error:
            raise McpToolError(text_of_blocks(data.get("content") or []) or "the tool failed and said nothing")
        return value_of(data)

    async def _called(self, tool: str, args: Any, context: ToolContext) -> types.CallToolResult:
        connection = await self._living()
        try:
            return await connection.call(tool, args, context.answers, context.signal)
        except Forgotten:
            connection = await self._living()
            return await connection.call(tool, args, context.answers, context.signal)

    async def close(self) -> None:
        """Ends it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _living(self) -> Connection:
        """The connection, a new one where the server died, or has lost our session."""
        async with self._connecting:
            died = True
            if self._connection is not None:
                if self._connection.alive:
                    return self._connection
                died = not self._connection.forgotten
                await self.close()
            if died and self._restarts >= MOST_RESTARTS:
                raise Gone(f"it died {MOST_RESTARTS + 1} times in this run and is not started again")
            self._restarts += died
            connection = Connection(self.spec)
            await connection.open()
            self._connection = connection
            return connection
