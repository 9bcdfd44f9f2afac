"""``lousho eval add``: a recorded session becomes a case."""

from __future__ import annotations

from typing import Annotated

import typer

from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import face_of
from lousho_cli.cli.options import Address
from lousho_cli.cli.own_stdout import own_stdout
from lousho_cli.cli.run_options import AgentFile, AgentPaths

EXAMPLES = (
    "lousho eval add trip                        what the session did, as a case of trip.eval.yaml",
    "lousho eval add trip.fork-1 --case rain     what its fork did",
    "lousho eval add trip@1                      only as far as step 1",
)


def run(
    ctx: typer.Context,
    session: Address,
    case: Annotated[str | None, typer.Option("--case", metavar="NAME", help="What the case is called; default: the session.")] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="FILE", help="The eval file; default: AGENT.eval.yaml beside the agent, made where there is none."),
    ] = None,
    agent: AgentFile = None,
    agents: AgentPaths = None,
) -> int:
    """Make a case of what a session did, with its cassette. No model is asked and no tool runs; the results of tools stand in the case."""
    import asyncio
    import shlex

    from lousho_cli.app.agents import AgentChoice
    from lousho_cli.app.evaluating.add import AddOrder, add_case

    face = face_of(ctx)
    order = AddOrder(session, case, to, AgentChoice(agent, tuple(agents or ()), face.store))
    with own_stdout(face.out):  # it loads the agent, whose module may print
        added = asyncio.run(add_case(order))
    name = f"{added.file}::{added.case}"
    told = f"{_counted(added.steps, 'step')}, {_counted(len(added.calls), 'tool result')}, cassette {added.cassette}"
    face.answer(added, text=lambda: face.out.line(f"{name}: {told}"), quiet=name)
    if added.stop_after is not None:
        face.err.note(f"it stops after step {added.stop_after}, as the session went no further there")
    face.err.note(f"Say in {added.file} what should have happened, then: {shlex.join(('lousho', 'eval', name))}")
    return Exit.DONE


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
