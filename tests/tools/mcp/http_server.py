"""A server of the official SDK over streamable HTTP on loopback. Prints its port; asks for a token where ``TOKEN`` is set."""

from __future__ import annotations

import os
import socket

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("web")
READS = ToolAnnotations(read_only_hint=True)


class Name(BaseModel):
    name: str


@server.tool(annotations=READS)
def add(a: int, b: int) -> int:
    return a + b


@server.tool(annotations=READS)
async def greet(context: Context, greeting: str = "Hello") -> str:
    who = await context.elicit(f"{greeting} whom?", Name)
    return f"{greeting} {who.data.name}" if who.action == "accept" else who.action


@server.tool(annotations=READS)
def dies() -> str:
    os._exit(3)


def guarded(app):
    async def checks(scope, receive, send):
        wanted = os.environ.get("TOKEN")
        sent = dict(scope.get("headers", ())).get(b"authorization", b"").decode()
        if scope["type"] == "http" and wanted and sent != f"Bearer {wanted}":
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"no"})
            return
        await app(scope, receive, send)

    return checks


if __name__ == "__main__":
    listening = socket.create_server(("127.0.0.1", int(os.environ.get("PORT", "0"))))
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(guarded(server.streamable_http_app()), log_level="error")
    uvicorn.Server(config).run(sockets=[listening])
