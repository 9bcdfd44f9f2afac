"""``lousho follow``: the log of a session as it grows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import Face, face_of
from lousho_cli.cli.options import Session

if TYPE_CHECKING:
    from lousho_cli.ports.log_store import LogStore

EXAMPLES = (
    "lousho follow trip                  every record, then each new one as it comes",
    "lousho follow trip --since 40       only what stands behind batch 40",
    "lousho follow trip --json           a JSON line a record, with its cursor",
    "lousho follow trip --events         a JSON line an event, as run --output ndjson prints them",
)


def run(
    ctx: typer.Context,
    session: Session,
    since: Annotated[int, typer.Option("--since", min=0, metavar="SEQ", help="Only what stands behind this batch.")] = 0,
    content: Annotated[bool, typer.Option("--content", help="Show what was said in a pipe, too; a terminal always does.")] = False,
    events: Annotated[bool, typer.Option("--events", help="Events of the runs in place of records, as JSON lines.")] = False,
) -> int:
    """Show the log of a session as it grows, from any terminal. Ends once the run has ended and nobody drives it."""
    import asyncio

    face = face_of(ctx)
    if events:
        face.json = face.out.compact = True
        return asyncio.run(_follow_events(face, session, since))
    return asyncio.run(_follow(face, session, since, content=content or face.out.terminal))


async def _begin(face: Face, name: str) -> tuple[LogStore, str, int]:
    """The session that is meant, and the exit code that its state has."""
    from lousho_cli.app.loading import load
    from lousho_cli.app.sessions import find_session
    from lousho_cli.cli.state_of_log import report

    store, session_id = await find_session(face.open_store(create=False), name)
    return store, session_id, report(face, await load(store, session_id))


async def _follow_events(face: Face, name: str, since: int) -> int:
    from lousho_cli.app.following import follow_events
    from lousho_cli.app.streaming import Lines

    store, session_id, code = await _begin(face, name)
    lines = Lines()
    async for event in follow_events(store, session_id, since):
        face.out.json_line(lines.of(event))
        if event.type == "warning" and event.about == "damage":
            code = Exit.DAMAGED
        if face.out.closed:
            break
    return code


async def _follow(face: Face, name: str, since: int, *, content: bool) -> int:
    from lousho_cli.app.following import Gap, follow
    from lousho_cli.cli.render.record import RecordView

    store, session_id, code = await _begin(face, name)
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
