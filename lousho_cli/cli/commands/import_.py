"""``lousho import``: bring in sessions that something else stored."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import Face, face_of
from lousho_cli.cli.options import DryRun

EXAMPLES = (
    "lousho import ~/.claude/projects/x        every session of Claude Code in a folder, sub-agents too",
    "lousho import rollout.jsonl --dry-run     what a session of Codex would become; writes nothing",
    "lousho import chat.json --from anthropic  a message list, with its kind said",
    "lousho import ../app/.lousho              checkpoints, their history and what waits, from a folder of the original",
)

KINDS = (
    "claude-code",
    "codex",
    "openai-chat",
    "openai-responses",
    "anthropic",
    "atif",
    "inspect",
    "swe-agent",
    "openai-agents",
    "lousho",
    "original",
)
"""Those of ``app.import_kinds``, which is too much to load for a line of help."""

_TOLD = 5
"""So many repairs, and so many bad lines, of one session are told one by one."""


def run(
    ctx: typer.Context,
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files, or folders that are searched for them.")],
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="KIND", help=f"What it is: {', '.join(KINDS)}.", autocompletion=lambda: list(KINDS)),
    ] = None,
    branches: Annotated[bool, typer.Option("--branches", help="Also what a talk left when it went back and another way.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Import nothing where something can not be read.")] = False,
    dry_run: DryRun = False,
) -> int:
    """Import sessions that other agents stored: Claude Code, Codex, message lists, trajectories, logs of evals, our own exports.

    Their source is not changed. A second import adds only what is new.
    """
    import asyncio

    return asyncio.run(_import(face_of(ctx), paths, from_, branches=branches, strict=strict, dry_run=dry_run))


async def _import(face: Face, paths: list[Path], forced: str | None, *, dry_run: bool, **how: bool) -> int:
    from lousho_cli.app.importing import import_paths
    from lousho_cli.cli.render.imported import imported_table

    done = await import_paths(face.open_store(create=not dry_run), paths, dry_run=dry_run, forced=forced, **how)
    for failed in done.failed:
        face.err.warning(f"{failed.source}: {failed.why}")
    for one in done.sessions:
        _tell(face, one)
    for said in done.left:
        face.err.warning(said)
    if not how["branches"] and any(": a branch of " in said for said in done.left):
        face.err.note("branches become sessions of their own with --branches")
    new = [one.session for one in done.sessions if one.result in ("imported", "extended")]
    face.answer(done, text=lambda: imported_table(face.out, done), quiet=new)
    face.err.note(f"{'would import' if dry_run else 'imported'} {len(new)} of {len(done.sessions)} sessions")
    if any(one.waits_for for one in done.sessions) and not dry_run:
        face.err.note(face.named("what waits: lousho pending"))
    if done.empty_handed:
        return Exit.FAILED
    return Exit.DAMAGED if done.partial else Exit.DONE


def _tell(face: Face, one: Any) -> None:
    """What a person should know of one session."""
    if one.result == "skipped":
        face.err.warning(f"session {one.session} is left as it is: {one.why}")
    elif one.was is not None:
        from lousho_cli.app.import_names import session_name

        taken = session_name(one.was) == one.was or session_name(one.was) != one.session
        why = "another session, or one with another past, has its id" if taken else "its id can not be one"
        face.err.warning(f"session {one.was} is {one.session} here: {why}")
    unread = [f"{one.unit} {bad.line} was left out: {bad.why}" for bad in one.bad_lines]
    for told in (unread, one.repaired):
        for text in told[:_TOLD]:
            face.err.warning(f"session {one.session}: {text}")
        if len(told) > _TOLD:
            face.err.warning(f"session {one.session}: {len(told) - _TOLD} more of these; --json names all")
    if one.skipped_types:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(one.skipped_types.items()))
        face.err.note(f"session {one.session}: no part of the talk: {kinds}")
