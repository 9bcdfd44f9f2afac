"""``lousho export``: take a session away, in a form that others read."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from lousho_cli.cli.face import face_of
from lousho_cli.cli.options import Address

EXAMPLES = (
    "lousho export trip --to jsonl -o trip.jsonl      the session itself; lousho import reads it",
    "lousho export trip -o trip.html                  one page to look at in a browser; asks no network",
    "lousho export trip@2 --to openai                 its messages up to a checkpoint, as that API takes them",
    "lousho export trip -o trip.md --redact           without keys and tokens",
)


def run(
    ctx: typer.Context,
    session: Address,
    to: Annotated[
        Literal["jsonl", "atif", "openai", "anthropic", "markdown", "html"] | None,
        typer.Option("--to", help="The form; told by the end of FILE where it is left out."),
    ] = None,
    file: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write a file, whole or not at all; - is stdout.")
    ] = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="Take out keys, tokens, passwords in addresses, and what the setting redact matches.")
    ] = False,
    redact_pattern: Annotated[
        list[str] | None,
        typer.Option("--redact-pattern", metavar="REGEX", help="Take out what this matches, too. May be given several times."),
    ] = None,
) -> int:
    """Export a session: as JSON lines that load back, ATIF, the messages of an API, Markdown, or one HTML page."""
    from msgspec.structs import replace

    from lousho_cli.app.exporting import export, form_of
    from lousho_cli.app.report_files import check_report, write_report
    from lousho_cli.app.sync import run_now
    from lousho_cli.cli.state_of_log import report

    face = face_of(ctx)
    wanted = form_of(to, file)
    target = None if file == "-" else file
    if target is not None:
        check_report(target, "-o")
    out = None
    if redact or redact_pattern:
        from lousho_cli.app.config import load_settings
        from lousho_cli.app.redacting import taking_out

        settings = load_settings()
        out = taking_out([*(settings.redact or ()), *(redact_pattern or ())], settings.redact_keys or ())
    store = face.open_to_look()
    told, data, loaded = run_now(lambda: export(store, session, wanted, out))
    code = report(face, loaded)
    for said in told.left:
        face.err.warning(said)
    if told.redactions is not None:
        face.err.note(f"taken out of {told.redactions} text{'' if told.redactions == 1 else 's'}")
    if target is not None:
        write_report(target, data, "-o")
        face.err.note(f"written: {target}")
        face.answer(replace(told, file=target), quiet=target)
    elif face.json:
        face.answer(replace(told, content=data.decode()))
    else:
        face.out.data(data)
    return code
