"""The same conversation with and without crashes: what is said and decided is the same, and so must be what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.errors import NotFoundError, ProviderError, SessionAwaitingApprovalError
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.approvals import resume_after_approval
from lousho_cli.executor.sub_agents import SubAgent
from lousho_cli.ports.tool import ToolContext
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.tools.function import function_tool

AGENT = {"name": "agent", "instructions": "Be brief."}
TOOLS = ["plain", "slow", "gated", "scout", "fails", "asked", "unknown"]


class Conversation:
    """One session on a disk. Each step of it is tried, in process after process, until one lived to see it done.

    Args:
        deaths: of the processes, in order; None for one that lives. Behind the last all live.
        named: each message has an input id, where the disk keeps those; else it is known again by its text.
    """

    def __init__(self, disk: Any, turns: Sequence[Any], deaths: Sequence[Any], *, named: bool) -> None:
        self.disk, self.deaths, self.named = disk, list(deaths), named and disk.keeps_input_ids
        self.provider, scout = (ScriptedProvider([*script, "done"], repeat_last=True) for script in (turns, turns[:2]))
        self.scout = SubAgent({"name": "scout", "prompt": "You look."}, "looks", scout, _tools(), max_steps=200)
        self.process: Any = None

    async def say(self, text: str) -> None:
        """Says something and goes on until there is an answer. A person approves two of three calls."""

        async def send(options: dict[str, Any]) -> Any:
            return await AgentExecutor.execute(AGENT, text, self.provider, input_id=f"id of {text}" if self.named else None, **options)

        step: Callable[[dict[str, Any]], Awaitable[Any]] = send
        for _ in range(200):
            try:
                result = await self._in_a_process(step)
            except SessionAwaitingApprovalError as error:
                step = self._deciding(error.approval_id)
                continue
            except NotFoundError:  # it was decided by a process that did not live to tell
                step = self._go_on
                continue
            except ProviderError:
                continue
            if result is None:
                step = send if step is send and not await self._is_there(text) else self._go_on
            elif result.approval_id is not None:
                step = self._deciding(result.approval_id)
            else:
                return
        raise AssertionError("it never came to its end")

    async def _is_there(self, text: str) -> bool:
        """Whether a message that has no id of its own was saved: sent once more to a session that has ended, it would be the next."""
        saved = None if self.named else await self.saved()
        return saved is not None and any(message.text == text for message in saved.messages)

    async def _go_on(self, options: dict[str, Any]) -> Any:
        return await AgentExecutor.execute(AGENT, [], self.provider, **options)

    def _deciding(self, approval_id: str) -> Callable[[dict[str, Any]], Awaitable[Any]]:
        async def decide(options: dict[str, Any]) -> Any:
            found = await options["approval_store"].load(approval_id)
            args = {} if found is None else msgspec.to_builtins(found if isinstance(found, dict) else found.pending)
            args = args.get("pending", args).get("args", {})
            decision = {"id": approval_id, "approved": args.get("n") != 2}
            approvals, tools = options.pop("approval_store"), options.pop("tool_registry")
            checkpoints = options.pop("checkpoint_store")
            del options["session_id"]
            return await resume_after_approval(decision, approvals, tools, self.provider, options | {"agent": AGENT}, checkpoints)

        return decide

    async def _in_a_process(self, step: Callable[[dict[str, Any]], Awaitable[Any]]) -> Any:
        """What a step gave; None when its process died."""
        process = self.process = self.disk.process(self.deaths.pop(0) if self.deaths else None)
        options = {
            "session_id": "s",
            "checkpoint_store": process.checkpoints,
            "approval_store": process.approvals,
            "tool_registry": _tools(),
            "subagents": {"scout": self.scout},
            "max_steps": 200,
        }
        try:
            return await step(options)
        except BaseException:
            if not process.dead:
                raise
            return None
        finally:
            await self.disk.bury(process)

    async def saved(self) -> Checkpoint | None:
        """The checkpoint, as somebody sees it who only looks."""
        process = self.disk.process()
        found = await process.checkpoints.load("s")
        await self.disk.bury(process)
        return msgspec.convert(found, Checkpoint) if isinstance(found, dict) else found

    async def outcome(self) -> dict[str, Any]:
        """All that is the same for everybody: not the ids of approvals, nor when something happened."""
        saved = await self.saved()
        told = msgspec.to_builtins(saved)
        for message in told["messages"]:
            message.get("metadata", {}).get("approval", {}).pop("id", None)
        return {key: told.get(key) for key in ("messages", "step_index", "tool_calls", "usage", "step_usage", "finish_reason", "status")}


def _tools() -> list[Any]:
    async def at_once(ctx: ToolContext, n: int = 0) -> Any:
        return {"call": ctx.tool_call_id, "n": n}

    async def slowly(ctx: ToolContext, n: int = 0) -> Any:
        for _ in range(n):
            await asyncio.sleep(0)
        return n

    async def fails(n: int = 0) -> Any:
        raise ValueError(f"no {n}")

    async def asks(args: Any) -> str:
        await asyncio.sleep(0)
        return ("ask", "approve", "deny")[args["n"] % 3]

    made = {"plain": at_once, "slow": slowly, "fails": fails, "gated": at_once, "asked": at_once}
    needs = {"gated": True, "asked": asks}
    return [function_tool(does, name=name, description=name, needs_approval=needs.get(name, False)) for name, does in made.items()]
