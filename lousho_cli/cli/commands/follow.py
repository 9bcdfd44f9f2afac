"""``lousho follow``: the log of a session as it grows."""

from __future__ import annotations

from typing import Annotated

import typer

from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import Face, face_of
from lousho_cli.cli.options import Session

EXAMPLES = (
    "lousho follow trip                  every record, then each new one as it comes",
    "lousho follow trip --since 40       only what stands behind batch 40",
    "lousho follow trip --json           a JSON line a record, with its cursor",
)


def run(
    ctx: typer.Context,
    session: Session,
    since: Annotated[int, typer.Option("--since", min=0, metavar="SEQ", help="Only what stands behind this batch.")] = 0,
    content: Annotated[bool, typer.Option("--content", help="Show what was said in a pipe, too; a terminal always does.")] = False,
) -> int:
    """Show the log of a session as it grows, from any terminal. Ends once the run has ended and nobody drives it."""
    import asyncio

    face = face_of(ctx)
    return asyncio.run(_follow(face, session, since, content=content or face.out.terminal))


async def _follow(face: Face, name: str, since: int, *, content: bool) -> int:
    from lousho_cli.app.following import Gap, follow
    from lousho_cli.app.loading import load
    from lousho_cli.app.sessions import find_session
    from lousho_cli.cli.render.record import RecordView
    from lousho_cli.cli.state_of_log import report

    store = face.open_store(create=False)
    store, session_id = await find_session(store, name)
    code = report(face, await load(store, session_id))
    view = RecordView(face.out, content=content)
    async for item in follow(store, session_id, since):
        if isinstance(item, Gap):
            code = Exit.DAMAGED
        elif face.json:
            face.out.json_line(item)
        else:
            view.show(item)
        if face.out.closed:
            break
    return code
