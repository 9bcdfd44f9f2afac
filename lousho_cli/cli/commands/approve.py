"""``lousho approve``: let a call run that waits for a person."""

from __future__ import annotations

from typing import Annotated

import typer

from lousho_cli.cli.face import face_of
from lousho_cli.cli.run_options import (
    AgentFile,
    AgentPaths,
    Approval,
    ApproveAll,
    Cassette,
    Format,
    Interrupted,
    MaxSteps,
    Model,
    NoInput,
    NoResume,
    OnDrift,
)

EXAMPLES = (
    "lousho approve 7f3a                   runs the call, then goes on with the run",
    "lousho approve booking                the same by session",
    "lousho approve 7f3a --edit args.json  runs it with these arguments instead",
    "lousho approve 7f3a --no-resume       only records it; lousho resume goes on",
)


def run(
    ctx: typer.Context,
    approval: Approval,
    edit: Annotated[
        str | None, typer.Option("--edit", metavar="FILE|-|JSON", help="Arguments in place of the model's: a file, - for stdin, or {…}.")
    ] = None,
    note: Annotated[
        str | None, typer.Option("--note", metavar="TEXT", help="For the model, beside the call's result; kept with the decision.")
    ] = None,
    no_resume: NoResume = False,
    agent: AgentFile = None,
    agents: AgentPaths = None,
    max_steps: MaxSteps = None,
    model: Model = None,
    yes: ApproveAll = False,
    cassette: Cassette = None,
    on_drift: OnDrift = None,
    interrupted: Interrupted = None,
    no_input: NoInput = False,
    output: Format = "text",
) -> int:
    """Let a call run that waits for a person, and go on with the run at once. What runs is exactly what was shown."""
    import asyncio

    from lousho_cli.app.deciding import DecisionOrder
    from lousho_cli.app.json_input import read_object
    from lousho_cli.app.people import login_name
    from lousho_cli.app.preparing import RunFlags
    from lousho_cli.app.wiring import current_folder
    from lousho_cli.cli.deciding import choice_of, decide

    face = face_of(ctx)
    edited = () if edit is None else (read_object(edit, "--edit", current_folder()),)
    flags = RunFlags(max_steps, model, on_drift, interrupted, yes, login_name(), cassette)
    choice = choice_of(face, agent, agents)
    return asyncio.run(decide(face, DecisionOrder(approval, "approve", note, edited, not no_resume, flags, choice), output))
