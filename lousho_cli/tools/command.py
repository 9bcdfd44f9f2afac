"""A program as a tool: arguments as JSON on standard input, the result on standard output.

What it writes is read as JSON, and is text where it is none; bytes that are not UTF-8 become
U+FFFD. An exit code other than 0 is an error, told with the end of what stands on standard error.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from lousho_cli.domain.plain import json_text
from lousho_cli.domain.secret_references import reference_in
from lousho_cli.ports.tool import ToolContext
from lousho_cli.tools.function import check_name
from lousho_cli.tools.processes import kill_if_same
from lousho_cli.tools.running import DEFAULT_TIMEOUT_MS, CommandFailed, Finished, run_program
from lousho_cli.tools.schema import ArgumentSchema, BySchema

_SHOWN_STDERR = 1500  # an error result is cut at 2000 characters, and the end is what counts


class CommandTool(BySchema):
    """A tool that runs a program, in a folder of this host.

    Args:
        command: the program and its arguments. A program with a slash is found from ``cwd``, any other on the PATH.
        schema: JSON Schema of the arguments, an object.
        cwd: the folder it runs in.
        timeout_ms: how long it may take.
        env: variables beside those of this process.
        read_only: it changes nothing, so it may run in plan mode.
        secrets: arguments in which it takes a secret: the reference that a model got for one becomes what the person typed.

    Raises:
        ConfigurationError: a name or a schema that can not be one.
    """

    uses_host_folder = True

    def __init__(
        self,
        name: str,
        description: str,
        command: Sequence[str],
        schema: Mapping[str, Any],
        cwd: Path,
        replay: Literal["safe", "never"] | None = None,
        needs_approval: bool | Callable[..., Any] = False,
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
        env: Mapping[str, str] | None = None,
        *,
        read_only: bool = False,
        secrets: Sequence[str] = (),
    ) -> None:
        self.name = check_name(name)
        self.description = description
        self.replay = replay
        self.needs_approval = needs_approval
        self.read_only = read_only
        self.command = tuple(command)
        self.cwd = cwd
        self.timeout_ms = timeout_ms
        self.env = dict(env or {})
        self.secrets = tuple(secrets)
        self._arguments = ArgumentSchema(schema)

    async def call(self, args: Any, context: ToolContext) -> Any:
        finished = await run_program(
            self.command,
            cwd=self.cwd,
            env=environment(context, self.env),
            stdin=json_text(await self._with_secrets(args, context))[0].encode(),
            timeout_ms=self.timeout_ms,
            aborted=context.signal,
            spawned=context.spawned,
        )
        if finished.code != 0:
            raise failure(finished)
        return result_of(finished.stdout)

    async def _with_secrets(self, args: Any, context: ToolContext) -> Any:
        """The arguments with the secrets that a person typed for them; only the program sees those."""
        if not isinstance(args, Mapping) or not any(reference_in(args.get(name)) for name in self.secrets):
            return args
        whole = dict(args)
        for name in self.secrets:
            if reference_in(whole.get(name)) is not None:
                whole[name] = await context.context.run.credentials.take(whole[name])
                if whole[name] is None:
                    raise CommandFailed(f"the secret for {name} was used, is too old, or is another person's. Ask for it again")
        return whole

    async def reap(self, pid: int, started: str) -> bool:
        return kill_if_same(pid, started)


def environment(context: ToolContext, further: Mapping[str, str], without: Sequence[str] = ()) -> dict[str, str]:
    """What a program finds around it: ours, ``further``, and what tells it of its call.

    ``LOUSHO_TOOL_CALL_ID``, ``LOUSHO_IDEMPOTENCY_KEY``, ``LOUSHO_SESSION`` ("" without one) and
    ``LOUSHO_TOOL_RERUN``, ``1`` when the call was started before and has no result, else ``0``.
    ``without`` names variables of ours that it must not see.
    """
    told = {
        "LOUSHO_TOOL_CALL_ID": context.tool_call_id,
        "LOUSHO_IDEMPOTENCY_KEY": context.idempotency_key,
        "LOUSHO_SESSION": context.session_id or "",
        "LOUSHO_TOOL_RERUN": "1" if context.rerun else "0",
    }
    ours = {name: value for name, value in os.environ.items() if name not in without}
    # A model may put anything into a call id, but a variable ends at a NUL.
    return ours | dict(further) | {name: value.replace("\0", "") for name, value in told.items()}


def result_of(output: bytes) -> Any:
    """What a program wrote, as JSON data where it is JSON, else as text without its last line end."""
    text = output.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text.removesuffix("\n").removesuffix("\r")


def failure(finished: Finished) -> CommandFailed:
    """The error of a program that did not exit with 0."""
    how = f"ended with exit code {finished.code}" if finished.code > 0 else f"was killed by signal {-finished.code}"
    said = finished.stderr.decode("utf-8", "replace").strip()
    shown = said if len(said) <= _SHOWN_STDERR else "…" + said[-_SHOWN_STDERR:]
    return CommandFailed(f"{how}: {shown}" if shown else f"{how} and wrote nothing to standard error", finished.code)
