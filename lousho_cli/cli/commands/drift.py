"""``lousho drift``: which stored sessions no longer fit their agent."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lousho_cli.cli.completing import complete_sessions
from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import Face, face_of
from lousho_cli.cli.own_stdout import own_stdout
from lousho_cli.cli.run_options import AgentFile, AgentPaths, Model, OnDrift

EXAMPLES = (
    "lousho drift                          every session that did not end, with its agent of today",
    "lousho drift trip --agent trip.yaml   one session, with this agent",
    "lousho drift --on-drift error         which would be refused where a changed agent is an error",
)

Sessions = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SESSION]...", help="Ids, or prefixes that fit only one. All that did not end.", autocompletion=complete_sessions
    ),
]


def run(
    ctx: typer.Context,
    sessions: Sessions = None,
    agent: AgentFile = None,
    agents: AgentPaths = None,
    model: Model = None,
    on_drift: OnDrift = None,
) -> int:
    """Compare stored sessions with their agents of today. Nothing runs and nothing is written.

    Exit 6 when going on with one of them would be refused.
    """
    import asyncio

    from lousho_cli.app.agents import AgentChoice
    from lousho_cli.app.drifting import DriftOrder
    from lousho_cli.app.preparing import RunFlags

    face = face_of(ctx)
    flags = RunFlags(model=model, on_drift=on_drift)
    order = DriftOrder(tuple(sessions or ()), flags, AgentChoice(agent, tuple(agents or ()), face.store))
    with own_stdout(face.out):  # it loads the agents, whose modules may print
        return asyncio.run(_drift(face, order))


async def _drift(face: Face, order: Any) -> int:
    from lousho_cli.app.drifting import find_drift
    from lousho_cli.cli.render.drift import drift_table

    report = await find_drift(order)
    for session_id, detail in report.unread:
        face.err.warning(f"session {session_id} was left out: {detail}")
    for found in report.sessions:
        if found.reason:
            face.err.warning(f"session {found.session}: {found.reason}")
    face.answer(
        report.sessions,
        text=lambda: drift_table(face.out, report.sessions),
        quiet=[f"{found.session} {found.verdict}" for found in report.sessions],
    )
    return Exit.DRIFT if report.refused else Exit.DONE
