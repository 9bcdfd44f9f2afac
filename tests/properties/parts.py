"""What a world is made of: numbers that decide, a model that is written down, tools that tell when they start."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from lousho_cli.errors import PropagatingToolError
from lousho_cli.ports.tool import ToolContext
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.tools.function import function_tool

T = TypeVar("T")


class Dice:
    """Numbers that say what happens; 0 for ever once they are used up, which is always the plainest."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = list(numbers)

    def below(self, count: int) -> int:
        return self._numbers.pop(0) % count if self._numbers else 0

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def flip(self) -> bool:
        return self.below(2) == 1


class Watched:
    """The scripted provider, with the world looking at each request."""

    name = "scripted"

    def __init__(self, world: Any, turns: Sequence[Any]) -> None:
        self._world, self._inner = world, ScriptedProvider([*turns, "done"], repeat_last=True)
        self.model = self._inner.model

    async def stream(self, request: Any) -> Any:
        await self._world.look(self._world.asked(request))
        async for event in self._inner.stream(request):
            yield event


def tools_of(world: Any) -> list[Any]:
    def tool(name: str, does: Callable[[int, ToolContext], Awaitable[Any]], **options: Any) -> Any:
        async def run(ctx: ToolContext, n: int = 0) -> Any:
            await world.look(world.started(ctx))
            return await does(n, ctx)

        return function_tool(run, name=name, description=name, **options)

    async def at_once(n: int, ctx: ToolContext) -> Any:
        return {"call": ctx.tool_call_id, "n": n}

    async def slowly(n: int, ctx: ToolContext) -> Any:
        for _ in range(n):
            await asyncio.sleep(0)
        return await at_once(n, ctx)

    async def fails(n: int, ctx: ToolContext) -> Any:
        raise ValueError(f"no {n}")

    async def stops(n: int, ctx: ToolContext) -> Any:
        if world.starts[ctx.session_id or "", ctx.tool_call_id] == 1:
            raise PropagatingToolError("stop here")
        return "went on"

    async def asks(args: Any) -> str:
        await asyncio.sleep(0)
        return ("ask", "approve", "deny")[args["n"] % 3]

    return [
        tool("removed", at_once),
        tool("plain", at_once),
        tool("slow", slowly),
        tool("fails", fails),
        tool("stops", stops),
        tool("never", slowly, replay="never"),
        tool("gated", at_once, needs_approval=True),
        tool("asked", at_once, needs_approval=asks),
    ]


TOOLS = ["plain", "slow", "gated", "scout", "never", "fails", "asked", "stops", "removed", "unknown"]


def turn(numbers: Sequence[int], tools: Sequence[str] = tuple(TOOLS)) -> Any:
    """An entry of the model's script: some calls, or a text."""
    dice = Dice(numbers)
    if dice.below(5) == 4:
        return dice.pick(["a text", {"error": {"status": 503, "times": 1}, "text": "after all"}])
    names = [dice.pick(tools) for _ in range(1 + dice.below(4))]
    calls = [(name, dice.below(6)) for name in names]
    return {"tool_calls": [{"name": name, "args": {"input": f"look {n}"} if name == "scout" else {"n": n}} for name, n in calls]}


class Listening:
    """Notes what was said to be saved; does something at one event."""

    def __init__(self) -> None:
        self.at, self.saved = -1, 0
        self.then: Callable[[], Any] = lambda: None

    def __call__(self, event: Any) -> None:
        if event.type == "step.saved":
            self.saved = max(self.saved, event.cursor)
        if self.at == 0:
            self.then()
        self.at -= 1
