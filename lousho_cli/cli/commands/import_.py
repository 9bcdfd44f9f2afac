"""``lousho import``: bring in sessions that something else stored."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import Face, face_of
from lousho_cli.cli.options import DryRun

EXAMPLES = (
    "lousho import ../app/.lousho             checkpoints, their history and what waits, from a folder of the original",
    "lousho import ../app/.lousho/jobs.db     the same from its SQLite file",
    "lousho import trip.json --dry-run        what one record would become; writes nothing",
)


def run(
    ctx: typer.Context,
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Folders, JSON records or SQLite files.")],
    dry_run: DryRun = False,
) -> int:
    """Import sessions: their checkpoints, their history, and what waits for a person. Their source is not changed."""
    import asyncio

    return asyncio.run(_import(face_of(ctx), paths, dry_run=dry_run))


async def _import(face: Face, paths: list[Path], *, dry_run: bool) -> int:
    from lousho_cli.app.importing import import_paths
    from lousho_cli.cli.render.imported import imported_table

    done = await import_paths(face.open_store(create=not dry_run), paths, dry_run=dry_run)
    for failed in done.failed:
        face.err.warning(f"{failed.source}: {failed.why}")
    for one in done.sessions:
        if one.result == "skipped":
            face.err.warning(f"session {one.session} is left as it is: {one.why}")
        elif one.was is not None:
            face.err.warning(f"session {one.was} is {one.session} here: its id can not be one")
    for said in done.left:
        face.err.warning(said)
    face.answer(done, text=lambda: imported_table(face.out, done), quiet=[one.session for one in done.sessions if one.checkpoints])
    count = sum(one.result in ("imported", "extended") for one in done.sessions)
    face.err.note(f"{'would import' if dry_run else 'imported'} {count} of {len(done.sessions)} sessions")
    if any(one.waits_for for one in done.sessions) and not dry_run:
        face.err.note("what waits: lousho pending")
    return Exit.FAILED if done.empty_handed else Exit.DONE
