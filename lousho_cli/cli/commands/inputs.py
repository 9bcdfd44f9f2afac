"""``lousho inputs``: what waits for its turn in a session."""

from __future__ import annotations

from typing import Annotated

import typer

from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import face_of
from lousho_cli.cli.options import Session

EXAMPLES = (
    "lousho inputs trip                 what was sent with --leave or --queue and has not begun, in its order",
    "lousho inputs trip --drop 4f2a     takes one back: it never runs",
)


def run(
    ctx: typer.Context,
    session: Session,
    drop: Annotated[str | None, typer.Option("--drop", metavar="ID", help="Take this one back.")] = None,
) -> int:
    """List the inputs of a session that wait for their turn, or take one back. One that has begun is stopped with abort."""
    from lousho_cli.app.inputs import drop as take_back
    from lousho_cli.app.inputs import inputs
    from lousho_cli.app.sync import run_now

    face = face_of(ctx)
    if drop is not None:
        import asyncio

        found = asyncio.run(take_back(face.store, session, drop))
        face.answer(found, text=lambda: face.out.line(f"input {drop} of {found.session} was taken back"), quiet=drop)
        return Exit.DONE
    found = run_now(lambda: inputs(face.store, session))
    rows = [(one.id, one.delivery, one.by or "-", one.text) for one in found.waiting]
    columns = ("ID", "DELIVERY", "BY", "INPUT")
    face.answer(found, text=lambda: face.out.table(columns, rows, {"INPUT": 20}) if rows else None, quiet=[row[0] for row in rows])
    if not rows:
        face.err.note(f"nothing waits in {found.session}")
    return Exit.DONE
