"""``lousho init``: a project that runs as it is."""

from __future__ import annotations

from typing import Annotated

import typer

from lousho_cli.cli.face import face_of

EXAMPLES = (
    "lousho init             agent.yaml, a tool and an eval, here",
    "lousho init my-agent    the same in a new folder",
)


def run(
    ctx: typer.Context,
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Where; made if it is not there.", show_default=False)] = ".",
) -> None:
    """Write a small project that runs as it is, without a network or a key. Nothing that is there is overwritten."""
    import shlex
    from pathlib import Path

    from lousho_cli.app.init_project import init_project

    face = face_of(ctx)
    written = [str(path) for path in init_project(Path(folder))]
    face.answer(written, text=lambda: face.out.lines(written), quiet=written)
    target = "" if folder == "." else f"{shlex.quote(folder)} "
    face.err.note(f'run it: lousho run {target}"Plan my trip"')
