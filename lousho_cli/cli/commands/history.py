"""``lousho history``: the kept checkpoints of a session."""

from __future__ import annotations

import typer

from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import face_of
from lousho_cli.cli.options import Limit, Session

EXAMPLES = (
    "lousho history trip              every kept checkpoint, newest first",
    "lousho history trip --limit 5    the newest five",
)


def run(ctx: typer.Context, session: Session, limit: Limit = None) -> int:
    """List the kept checkpoints of a session, newest first. Their addresses are what show, fork and diff take."""
    from lousho_cli.app.histories import history
    from lousho_cli.app.sync import run_now
    from lousho_cli.cli.render.history import history_table
    from lousho_cli.cli.state_of_log import report

    face = face_of(ctx)
    store = face.open_to_look()
    entries, loaded = run_now(lambda: history(store, session, limit))
    code = report(face, loaded) if loaded is not None else Exit.DONE
    if loaded is None:
        face.err.note(f"there is no session {session}")
    face.answer(entries, text=lambda: history_table(face.out, entries), quiet=[entry.address for entry in entries])
    return code
