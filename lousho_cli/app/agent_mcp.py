"""The MCP servers of an agent file and of its sub-agents: started, their tools handed on, closed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lousho_cli.app.agent_spec import AgentFile
from lousho_cli.app.secrets import mask_url
from lousho_cli.core.masking import names_secret
from lousho_cli.errors import SDKError
from lousho_cli.ports.tool import Tool
from lousho_cli.tools.mcp.spec import ServerSpec, meaning_issues

if TYPE_CHECKING:
    from lousho_cli.app.agent_schema import McpServer


class Offered(msgspec.Struct, frozen=True):
    """The tools of an agent's MCP servers, and those of its sub-agents' by the name of each."""

    tools: tuple[Tool, ...] = ()
    subagents: dict[str, Offered] = {}

    def of(self, subagent: str) -> Offered:
        """What is offered to one of the sub-agents."""
        return self.subagents.get(subagent, NOTHING)


NOTHING = Offered()

OfferedTo = Callable[[AgentFile], Awaitable[Offered]]
"""Starts the servers of an agent and gives their tools."""

CREDENTIAL_HEADERS = ("authorization", "proxy-authorization", "cookie")
_NO_CREDENTIAL = "no credential belongs in an agent file; "


@asynccontextmanager
async def servers_of(file: AgentFile) -> AsyncIterator[Offered]:
    """Starts every server that an agent and its sub-agents use, and closes them behind the block. None is none.

    Raises:
        McpServerError: one can not be started or reached.
        ConfigurationError: one is set up wrongly, or the extra ``mcp`` is not installed.
    """
    async with AsyncExitStack() as stack:
        yield await _started(file, stack)


@asynccontextmanager
async def servers_of_each() -> AsyncIterator[OfferedTo]:
    """A function that gives what ``servers_of`` does; it starts the servers of one agent only once, and the end of the block closes all."""
    known: dict[str, Offered | SDKError] = {}
    async with AsyncExitStack() as stack:

        async def offered_to(file: AgentFile) -> Offered:
            if file.address not in known:
                try:
                    known[file.address] = await _started(file, stack)
                except SDKError as error:
                    known[file.address] = error
            outcome = known[file.address]
            if isinstance(outcome, SDKError):
                raise outcome
            return outcome

        yield offered_to


async def _started(file: AgentFile, stack: AsyncExitStack) -> Offered:
    tools: list[Tool] = []
    if file.mcp_servers:
        from lousho_cli.tools.mcp.opening import mcp_tools

        tools = await stack.enter_async_context(mcp_tools(file.mcp_servers))
    inside = {entry.name: await _started(entry.file, stack) for entry in file.subagents}
    return Offered(tuple(tools), inside) if tools or inside else NOTHING


def server_specs(given: Mapping[str, McpServer], folder: Path) -> tuple[ServerSpec, ...]:
    """The servers of a checked agent file. ``folder``: where commands start."""
    return tuple(_spec(name, server, folder) for name, server in given.items())


def _spec(name: str, server: McpServer, folder: Path) -> ServerSpec:
    return ServerSpec(
        name=name,
        command=server.command or "",
        args=tuple(server.args),
        env=dict(server.env),
        pass_env=tuple(server.pass_env),
        folder=folder,
        url=server.url or "",
        headers=dict(server.headers),
        headers_env=dict(server.headers_env),
        approval=server.approval if isinstance(server.approval, str) else dict(server.approval),
        timeout_ms=server.timeout,
        connect_timeout_ms=server.connect_timeout,
        replay=server.replay,
        tools=None if server.tools is None else tuple(server.tools),
    )


def server_issues(servers: Any) -> Iterator[tuple[str, str]]:
    """What is wrong with the servers of an agent file and pydantic can not see, each as the path in the file and why."""
    for name, given in servers.items() if isinstance(servers, Mapping) else ():
        if isinstance(given, Mapping):
            path = f"mcp_servers.{name}"
            for field, why in (*meaning_issues(str(name), given), *_credentials(given)):
                yield (f"{path}.{field}" if field else path), why


def _credentials(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    headers, env, url = given.get("headers"), given.get("env"), given.get("url")
    for name in headers if isinstance(headers, Mapping) else ():
        if str(name).lower() in CREDENTIAL_HEADERS or names_secret(str(name)):
            yield f"headers.{name}", _NO_CREDENTIAL + "name its environment variable with headers_env"
    for name in env if isinstance(env, Mapping) else ():
        if names_secret(str(name)):
            yield f"env.{name}", _NO_CREDENTIAL + "set the variable where lousho runs and name it in pass_env"
    if isinstance(url, str) and mask_url(url) != url:
        yield "url", _NO_CREDENTIAL + "send it in a header with headers_env"
