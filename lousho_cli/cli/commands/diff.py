"""``lousho diff``: two sessions side by side."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from lousho_cli.cli.completing import complete_addresses
from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import face_of

EXAMPLES = (
    "lousho diff trip trip.fork-1                where they part, and what drifted",
    "lousho diff trip@1 trip@2                   two checkpoints of one session",
    "lousho diff trip trip-2 --exit-code -q      exit 10 when they differ, for scripts",
    "lousho diff trip trip-2 --html diff.html    side by side, in a browser",
)

_Side = "A session, or one of its checkpoints."


def run(
    ctx: typer.Context,
    a: Annotated[str, typer.Argument(metavar="A", help=_Side, autocompletion=complete_addresses)],
    b: Annotated[str, typer.Argument(metavar="B", help=_Side, autocompletion=complete_addresses)],
    mode: Annotated[
        Literal["strict", "unordered", "subset", "superset"] | None,
        typer.Option("--mode", help="Only the calls count: strict in their order, unordered, or B as a subset or superset of A."),
    ] = None,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit 10 when they differ.")] = False,
    html: Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write a page to look at in a browser, too.")] = None,
) -> int:
    """Compare two sessions step by step: where they part first, what differs, what drifted, their tokens."""
    from lousho_cli.app.comparing import compare
    from lousho_cli.app.sync import run_now
    from lousho_cli.cli.render.diff import diff_text
    from lousho_cli.cli.state_of_log import report

    face = face_of(ctx)
    if html is not None:
        from lousho_cli.app.report_files import check_report

        check_report(html, "--html")
    store = face.open_to_look()
    compared, points = run_now(lambda: compare(store, a, b, mode=mode))
    codes = [report(face, point.loaded) for point in points]
    face.answer(compared, text=lambda: diff_text(face.out, a, b, compared), quiet=str(compared.diverged_at or ""))
    if html is not None:
        from lousho_cli.app.comparing_page import comparison_page
        from lousho_cli.app.report_files import write_report

        face.out.flush()
        write_report(html, comparison_page((a, b), compared, points).encode(), "--html")
        face.err.note(f"written: {html}")
    if any(codes):
        return max(codes)
    return Exit.CHECK_FAILED if exit_code and not compared.matches else Exit.DONE
