"""``lousho show``: one session or one checkpoint."""

from __future__ import annotations

from typing import Annotated

import typer

from lousho_cli.cli.face import face_of
from lousho_cli.cli.options import Address

EXAMPLES = (
    "lousho show trip             the session: transcript, tools, usage, state",
    "lousho show trip@2           its checkpoint of step 2",
    "lousho show trip --json      the same as JSON, with all content",
)


def run(
    ctx: typer.Context,
    session: Address,
    content: Annotated[bool, typer.Option("--content", help="Show what was said in a pipe, too; a terminal always does.")] = False,
) -> int:
    """Show one session, or one checkpoint of it. In a pipe, text is left out unless --content is given."""
    from lousho_cli.app.showing import show
    from lousho_cli.app.sync import run_now
    from lousho_cli.cli.render.transcript import transcript
    from lousho_cli.cli.state_of_log import report

    face = face_of(ctx)
    store = face.open_to_look()
    shown, loaded = run_now(lambda: show(store, session))
    code = report(face, loaded)
    whole = content or face.out.terminal
    face.answer(shown, text=lambda: transcript(face.out, shown, content=whole), quiet=shown.session)
    if not whole and not face.json:
        face.err.note("text is left out in a pipe; --content shows it")
    return code
