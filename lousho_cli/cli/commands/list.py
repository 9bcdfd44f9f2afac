"""``lousho list``: the sessions here, newest first."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from lousho_cli.cli.face import face_of
from lousho_cli.cli.options import AgentName, Limit

EXAMPLES = (
    "lousho list                                  the newest sessions here",
    "lousho list --status awaiting-approval       those that wait for a person",
    "lousho list --since 2d --json                those touched in two days, as JSON",
)

TERMINAL_LIMIT = 30
"""How many a terminal is shown unless more are asked for. A pipe and ``--json`` get all."""

Status = Literal["in-progress", "awaiting-approval", "finished"]


def run(
    ctx: typer.Context,
    status: Annotated[Status | None, typer.Option("--status", help="Only those.")] = None,
    agent: AgentName = None,
    limit: Limit = None,
    since: Annotated[str | None, typer.Option("--since", metavar="WHEN", help="Touched since: 30m, 2h, 3d, or a date.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All of them, however many, those with only a history left included.")] = False,
) -> None:
    """List the sessions here, newest first."""
    from lousho_cli.app.sessions import list_sessions
    from lousho_cli.app.sync import run_now
    from lousho_cli.cli.render.sessions import sessions_table

    face = face_of(ctx)
    at = None
    if since is not None:
        from lousho_cli.app.moments import moment

        at = moment(since, "--since")
    if limit is None and not every and face.out.terminal and not face.json:
        limit = TERMINAL_LIMIT
    limit = None if every else limit
    store = face.open_store(create=False)
    listing = run_now(lambda: list_sessions(store, status=status, agent=agent, since=at, limit=limit, cleared=every))
    for session_id, detail in listing.damaged:
        face.err.warning(f"session {session_id} is damaged: {detail}")
    for newer in listing.newer:
        face.err.warning(newer)
    face.answer(
        listing.sessions,
        text=lambda: sessions_table(face.out, listing.sessions),
        quiet=[session.id for session in listing.sessions],
    )
    face.err.note(f"{len(listing.sessions)} of {listing.total} sessions")
    if listing.cleared:
        face.err.note(f"{listing.cleared} more with only a history left; --all lists them too")
    elif not listing.total and not listing.damaged and not face.json:
        face.err.note(face.named("begin with: lousho run"))
