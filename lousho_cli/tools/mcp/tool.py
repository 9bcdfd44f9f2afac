"""A tool of a server as any other tool."""

from __future__ import annotations

from typing import Any, Literal

from lousho_cli.ports.tool import ToolContext
from lousho_cli.tools.mcp.approval import needs_approval, replay
from lousho_cli.tools.mcp.names import clean
from lousho_cli.tools.mcp.server import McpServer, Offer
from lousho_cli.tools.schema import ArgumentSchema, BySchema

_DESCRIPTION = 16_000


class McpTool(BySchema):
    """One tool of a server.

    Args:
        name: what the model calls it. offer: what its server says of it.

    Raises:
        ConfigurationError: its schema is none, or not one of an object.
    """

    edits = False

    def __init__(self, server: McpServer, name: str, offer: Offer) -> None:
        self.name = name
        self.server = server.spec.name
        self.description = clean(offer.description, _DESCRIPTION)
        self.replay: Literal["safe", "never"] | None = replay(server.spec, offer.hints)
        self.needs_approval: bool = needs_approval(server.spec, offer.name, offer.hints)
        self.read_only = offer.hints.read_only is True
        self._server, self._own_name = server, offer.name
        self._arguments = ArgumentSchema(offer.schema)

    async def call(self, args: Any, context: ToolContext) -> Any:
        return await self._server.call(self._own_name, args, context)

    async def reap(self, pid: int, started: str) -> bool:
        return False
