"""What can be imported, one entry a kind: how it is told by looking, and how it is read.

A further kind is one more module that gives ``Adopted`` sessions, and one more entry here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from lousho_cli.core.adopting import Gathered, gather
from lousho_cli.errors import ConfigurationError


class ImportKind(msgspec.Struct, frozen=True):
    """One kind. ``recognises`` looks at a path that is there; ``read`` gives what it holds.

    Both raise StorageError where the path can not be read.
    """

    name: str
    recognises: Callable[[Path], bool]
    read: Callable[[Path], Gathered]


def kind_of(path: Path) -> ImportKind:
    """The kind of a path.

    Raises:
        ConfigurationError: it is nothing that can be imported.
        StorageError: it can not be looked at.
    """
    for kind in _kinds():
        if kind.recognises(path):
            return kind
    raise ConfigurationError(
        f"{path} is nothing that can be imported",
        field="PATH",
        code="LOUSHO_IMPORT_UNKNOWN",
        hint="Known are folders with checkpoints/, checkpoint-history/ or approvals/, one JSON record of them, and such an SQLite file.",
    )


def _kinds() -> tuple[ImportKind, ...]:
    from lousho_cli.stores import originals

    return (ImportKind("original", originals.is_original, lambda path: gather(originals.read(path))),)
