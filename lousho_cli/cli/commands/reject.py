"""``lousho reject``: keep a call from running."""

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
    'lousho reject 7f3a --reason "not on Fridays"   the model is told so, and goes on',
    "lousho reject booking --no-resume              only records it; lousho resume goes on",
)


def run(
    ctx: typer.Context,
    approval: Approval,
    reason: Annotated[str | None, typer.Option("--reason", "--note", metavar="TEXT", help="Why; the model is told.")] = None,
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
    """Keep a call from running that waits for a person, and go on with the run at once. Declines a question, too."""
    import asyncio

    from lousho_cli.app.deciding import DecisionOrder
    from lousho_cli.app.people import login_name
    from lousho_cli.app.preparing import RunFlags
    from lousho_cli.cli.deciding import choice_of, decide

    face = face_of(ctx)
    flags = RunFlags(max_steps, model, on_drift, interrupted, yes, login_name(), cassette)
    choice = choice_of(face, agent, agents)
    return asyncio.run(decide(face, DecisionOrder(approval, "reject", reason, (), not no_resume, flags, choice), output))
