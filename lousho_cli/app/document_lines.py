"""Where a field stands in a YAML or JSON file, for whoever has to mend it there.

Asked only once something is wrong: the file is read again, so what is right costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from lousho_cli.app.documents import node_of
from lousho_cli.errors import ConfigurationError


def with_lines(path: Path | None, wrong: list[tuple[str, str]]) -> str:
    """What is wrong with the fields of a file, in one sentence, in the order of its lines.

    Args:
        path: the file; None, or another kind of file, has no lines to name.
        wrong: each a field's path and what is wrong with it.
    """
    root = cache(lambda: _root(path))  # the file is read once, and only where it has a line to give
    places = [(_line(root(), field) or 0, f"{field}: {said}") for field, said in wrong]
    return "; ".join(f"line {line}, {told}" if line else told for line, told in sorted(places, key=lambda place: place[0]))


@contextmanager
def telling_where(path: Path | None) -> Iterator[None]:
    """Has an error that begins with a field of this file say the file and the line, too; ``path`` as for ``with_lines``."""
    try:
        yield
    except ConfigurationError as error:
        ours = bool(error.field) and error.detail.startswith((f"{error.field}: ", f"{error.field} "))
        line = _line(_root(path), error.field) if ours else None
        if path is None or line is None or type(error) is not ConfigurationError:
            raise
        told = f"{path.name}, line {line}: {error.detail}"
        raise ConfigurationError(told, field=error.field, code=error.code, hint=error.hint) from error


def _root(path: Path | None) -> Any:
    return None if path is None else node_of(path)


def _line(node: Any, field: str) -> int | None:
    """The line, from 1, of the deepest part of a dotted path that is there; None where not even the first is."""
    line = None
    while field and isinstance(getattr(node, "value", None), list):
        found = max(_parts(node, field), key=lambda part: len(part[0]), default=None)
        if found is None:
            break
        name, mark, node = found
        line, field = mark.line + 1, field[len(name) + 1 :]
    return line


def _parts(node: Any, field: str) -> Iterator[tuple[str, Any, Any]]:
    """What the path may go on with, as (name, mark, node): a key may hold dots itself."""
    for number, item in enumerate(node.value):
        name, at, inner = (item[0].value, item[0].start_mark, item[1]) if isinstance(item, tuple) else (str(number), item.start_mark, item)
        if field == name or field.startswith(f"{name}."):
            yield name, at, inner
