"""``mcp_tools``: servers started, their tools for as long as they are needed, servers closed.

async with mcp_tools({"fs": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]}}) as tools:
    await AgentExecutor.execute(agent, "List the files", provider, tools)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from difflib import get_close_matches
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from lousho_cli.errors import ConfigurationError, McpServerError
from lousho_cli.ports.tool import Tool
from lousho_cli.tools.mcp.names import one_line, tool_names
from lousho_cli.tools.mcp.spec import ServerSpec, spec_from

if TYPE_CHECKING:
    from lousho_cli.tools.mcp.server import McpServer, Offer

EXTRA_MISSING = "LOUSHO_EXTRA_MISSING"


@asynccontextmanager
async def mcp_tools(servers: Mapping[str, Any] | Iterable[ServerSpec]) -> AsyncIterator[list[Tool]]:
    """Starts servers and gives their tools, called ``<server>__<tool>``; closes them behind the block.

    Args:
        servers: by name, each a dictionary with the fields of ``ServerSpec``: ``command`` and ``args``, or ``url``.

    Raises:
        ConfigurationError: a field is wrong (``field`` names it), or the extra ``mcp`` is not installed
            (code LOUSHO_EXTRA_MISSING).
        McpServerError: a server can not be started or reached.
    """
    given = servers.items() if isinstance(servers, Mapping) else [(spec.name, spec) for spec in servers]
    specs = [spec_from(name, value) for name, value in given]
    if not specs:
        yield []
        return
    require_sdk()
    from lousho_cli.tools.mcp.server import McpServer

    started = [McpServer(spec) for spec in specs]
    try:
        yield await _all_started(started)
    finally:
        await asyncio.gather(*(server.close() for server in started))


def require_sdk() -> None:
    """Lets pass only where the official SDK is installed.

    Raises:
        ConfigurationError: it is not, or not in a version that can be used.
    """
    if find_spec("mcp") is None or find_spec("mcp_types") is None:
        raise ConfigurationError(
            "the agent uses MCP servers, and the extra mcp is not installed",
            field="mcp_servers",
            code=EXTRA_MISSING,
            hint="Install it: pip install 'lousho[mcp]'",
        )


async def _all_started(servers: Sequence[McpServer]) -> list[Tool]:
    """The tools of all servers, started side by side. The first in their order that can not be used is the error."""
    offered = await asyncio.gather(*(server.start() for server in servers), return_exceptions=True)
    for outcome in offered:
        if isinstance(outcome, BaseException):
            raise outcome
    return [tool for server, offers in zip(servers, offered, strict=True) for tool in _tools_of(server, offers)]  # type: ignore[arg-type]


def _tools_of(server: McpServer, offers: Sequence[Offer]) -> list[Tool]:
    from lousho_cli.tools.mcp.tool import McpTool

    spec = server.spec
    by_name = {offer.name: offer for offer in offers}
    asked = spec.approval if isinstance(spec.approval, dict) else {}
    for field, wanted in (("tools", spec.tools or ()), ("approval", asked)):
        for name in wanted:
            if name not in by_name:
                raise _no_such_tool(spec, field, name, list(by_name))
    names = tool_names(spec.name, by_name)
    tools: list[Tool] = []
    for name, offer in sorted(by_name.items()):  # a server may list them in another order each time; what a model gets stays
        if spec.tools is not None and name not in spec.tools:
            continue
        try:
            tools.append(McpTool(server, names[name], offer))
        except (ConfigurationError, RecursionError) as error:
            said = error.detail if isinstance(error, ConfigurationError) else "it is nested too deeply"
            raise McpServerError(
                spec.name, f"its tool {one_line(name, 80)!r} can not be used: {said}", hint=f"Name the others in {spec.field}.tools."
            ) from error
    return tools


def _no_such_tool(spec: ServerSpec, field: str, name: str, known: Sequence[str]) -> ConfigurationError:
    near = get_close_matches(name, known, n=1)
    listed = f"It has {', '.join(one_line(tool, 80) for tool in known[:20])}." if known else "It has none."
    return ConfigurationError(
        f"{spec.field}.{field}: the server has no tool {name}" + (f"; did you mean {one_line(near[0], 80)}?" if near else ""),
        field=f"{spec.field}.{field}",
        hint=listed,
    )
