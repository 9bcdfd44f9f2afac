"""``lousho prune``: remove what nobody has touched for long."""

from __future__ import annotations

from typing import Annotated

import typer

from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import Face, face_of
from lousho_cli.cli.options import DryRun, Force, Yes

EXAMPLES = (
    "lousho prune --older-than 30d --dry-run     what would go",
    "lousho prune --older-than 30d               asks, then removes it",
    "lousho prune --older-than 12h --yes         without asking, for scripts",
)


def run(
    ctx: typer.Context,
    older_than: Annotated[str, typer.Option("--older-than", metavar="AGE", help="Not touched for so long: 12h, 30d, 8w.")],
    dry_run: DryRun = False,
    yes: Yes = False,
    force: Force = False,
) -> int:
    """Remove what nobody has touched for long. Of sessions in use, checkpoints and decided approvals that are as old.

    What waits for a person stays unless --force is given. What is driven now stays, and is named.
    """
    import asyncio

    return asyncio.run(_prune(face_of(ctx), older_than, dry_run=dry_run, yes=yes, force=force))


async def _prune(face: Face, age: str, *, dry_run: bool, yes: bool, force: bool) -> int:
    from lousho_cli.app.pruning import parse_age, prune
    from lousho_cli.cli.render.pruned import pruned_text, what_goes

    older_than_ms = parse_age(age)
    store = face.open_store(create=False)
    found = await prune(store, older_than_ms, force=force, dry_run=True)
    if not dry_run and not found.nothing:
        if not yes and not face.confirm(f"Remove {what_goes(found)}?", flag="--yes"):
            face.err.note("nothing was removed")
            return Exit.FAILED
        found = await prune(store, older_than_ms, force=force)
    for kept in found.kept:
        face.err.note(f"kept {kept.session}: {kept.why}")
    face.answer(found, text=lambda: pruned_text(face.out, found), quiet=found.sessions)
    return Exit.DONE
