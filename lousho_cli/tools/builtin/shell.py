"""``shell``: one command line in the working folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from lousho_cli.ports.tool import Tool, ToolContext
from lousho_cli.tools.command import environment
from lousho_cli.tools.function import FunctionTool, Replay
from lousho_cli.tools.processes import kill_if_same
from lousho_cli.tools.running import DEFAULT_TIMEOUT_MS, run_program
from lousho_cli.tools.signature import read_signature

MAX_TEXT = 100_000
"""No more characters than this of what a command wrote are told."""


class ShellTool(FunctionTool):
    """A function tool whose calls are processes."""

    async def reap(self, pid: int, started: str) -> bool:
        return kill_if_same(pid, started)


def make(
    workspace: Path,
    needs_approval: bool | None = None,
    replay: Replay | None = None,
    timeout_ms: int = DEFAULT_TIMEOUT_MS,
    hidden: Sequence[str] = (),
) -> Tool:
    """``hidden`` names variables that a command must not see: a model chose it, and what it prints is kept."""

    async def shell(command: Annotated[str, Field(description="for /bin/sh")], context: ToolContext) -> dict[str, Any]:
        if "\0" in command:
            raise ValueError("a command can not hold a NUL character")
        finished = await run_program(
            ["/bin/sh", "-c", command],
            cwd=workspace,
            env=environment(context, {}, without=hidden),
            stdin=b"",
            timeout_ms=timeout_ms,
            aborted=context.signal,
            spawned=context.spawned,
        )
        # A command that fails is an answer, not a failure of the tool: the model reads what it said.
        return {"exit_code": finished.code, "stdout": _shown(finished.stdout), "stderr": _shown(finished.stderr)}

    described = "Runs a shell command in the working folder; what it starts in the background ends with it."
    gated = True if needs_approval is None else needs_approval
    return ShellTool(shell, read_signature(shell), "shell", described, replay or "never", gated)


def _shown(output: bytes) -> str:
    text = output.decode("utf-8", "replace")
    if len(text) <= MAX_TEXT:
        return text
    half = MAX_TEXT // 2
    return f"{text[:half]}\n[… {len(text) - MAX_TEXT} characters left out …]\n{text[-half:]}"
