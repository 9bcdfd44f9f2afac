"""A server of the official SDK on standard input and output. What it did stands in the file that ``NOTES`` names."""

from __future__ import annotations

import os
import sys
import time
from typing import Annotated, Any, Literal

import anyio
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

NOTES = os.environ.get("NOTES", os.devnull)


def note(word: str) -> None:
    with open(NOTES, "a") as file:
        file.write(word + "\n")


server = MCPServer("probe")
READS, DESTROYS = ToolAnnotations(read_only_hint=True), ToolAnnotations(destructive_hint=True)


class Passenger(BaseModel):
    name: str
    seats: Annotated[int, Field(ge=1, le=9, description="how many places")]


class Way(BaseModel):
    way: Literal["train", "bus"]


@server.tool(annotations=READS)
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool(annotations=DESTROYS)
def wipe(path: str) -> str:
    note(f"wiped {path}")
    return f"wiped {path}"


@server.tool()
def echo(text: str) -> str:
    note(f"echo {text}")
    return text


@server.tool(annotations=READS, structured_output=False)
def picture() -> list[Any]:
    return ["a map", Image(data=b"12345", format="png")]


@server.tool(annotations=READS)
def fails(why: str = "no such place") -> str:
    raise ToolError(why)


@server.tool(annotations=READS)
def dies() -> str:
    print("out of memory", file=sys.stderr, flush=True)
    note("dies")
    os._exit(3)


@server.tool(annotations=READS)
def big(size: int) -> str:
    return "x" * size


@server.tool(annotations=READS)
async def waits(seconds: float = 60) -> str:
    note("waits")
    try:
        await anyio.sleep(seconds)
    except anyio.get_cancelled_exc_class():
        note("cancelled")
        raise
    return "waited"


@server.tool(annotations=READS)
async def book(context: Context) -> dict[str, Any]:
    """Asks who travels, and then how."""
    note("book begins")
    who = await context.elicit("Who travels?", Passenger)
    how = await context.elicit("How?", Way)
    if who.action != "accept" or how.action != "accept":
        return {"booked": False, "why": f"{who.action}/{how.action}"}
    note("booked")
    return {"booked": True, "name": who.data.name, "seats": who.data.seats, "way": how.data.way}


@server.tool(annotations=READS)
async def opens(context: Context) -> str:
    done = await context.elicit_url("Sign in first", "https://example.com/sign-in", "id-1")
    return f"signed in: {done.action}"


@server.tool(annotations=READS)
async def names_roots(context: Context) -> str:
    try:
        return str(await context.session.list_roots())
    except Exception as error:
        return f"refused: {error}"


if __name__ == "__main__":
    note(f"pid {os.getpid()}")
    print("a line for people", file=sys.stderr, flush=True)
    if os.environ.get("SLOW"):
        time.sleep(float(os.environ["SLOW"]))
    server.run("stdio")
