"""``lousho pending``: what waits for a person."""

from __future__ import annotations

import typer

from lousho_cli.cli.face import face_of

EXAMPLES = (
    "lousho pending           what waits, oldest first; its id is what approve, reject and answer take",
    "lousho pending --json    the same as JSON, with the whole arguments",
)


def run(ctx: typer.Context) -> None:
    """List everything that waits for a person: calls to approve, and questions to answer."""
    from lousho_cli.app.pending import list_pending
    from lousho_cli.app.sync import run_now
    from lousho_cli.app.wiring import open_store
    from lousho_cli.cli.render.pending import pending_table

    face = face_of(ctx)
    store = open_store(face.store, create=False)
    found = run_now(lambda: list_pending(store))
    for session_id, detail in found.damaged:
        face.err.warning(f"session {session_id} is damaged: {detail}")
    face.answer(found.items, text=lambda: pending_table(face.out, found.items), quiet=[item.id for item in found.items])
    if not found.items:
        face.err.note("nothing waits")
