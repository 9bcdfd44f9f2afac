"""``lousho schema``: the JSON Schema of what lousho prints and reads."""

from __future__ import annotations

from typing import Annotated

import typer

from lousho_cli.cli.completing import complete_schemas
from lousho_cli.cli.face import face_of

EXAMPLES = (
    "lousho schema agent      what an agent file may hold, with the defaults",
    "lousho schema list       the data of: lousho list --json",
    "lousho schema event      a line of: lousho run --output ndjson, by its type",
    "lousho schema            the names there are",
)


def run(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Which one.", autocompletion=complete_schemas)] = None,
) -> None:
    """Print the JSON Schema of a command's JSON, or of the agent file."""
    from lousho_cli.app.schemas import NAMES, schema_of

    face = face_of(ctx)
    if name is None:
        face.answer(NAMES, text=lambda: face.out.lines(NAMES))
        return
    schema = schema_of(name)
    face.answer(schema, text=lambda: face.out.raw_json(schema))
