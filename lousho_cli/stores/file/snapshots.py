"""``snapshot.json``: the fold at a seq, so that a long log need not be read from its beginning. A cache."""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec

from lousho_cli.domain.state import State
from lousho_cli.stores.file.file_claim import FileClaim
from lousho_cli.stores.file.layout import LOG, SNAPSHOT, read_file
from lousho_cli.stores.file.reading import position_behind
from lousho_cli.stores.file.scan import Position, Scan
from lousho_cli.stores.file.sealed import replace_sealed, unseal


class SnapshotFile(msgspec.Struct, frozen=True):
    """The state, and a place in the log not behind its seq from which reading goes on."""

    place: Position
    state: State


_decoder = msgspec.json.Decoder(SnapshotFile)


def save(claim: FileClaim, state: State) -> None:
    """Replaces the snapshot of a log.

    Raises:
        OSError: it could not be written; the old one stays.
    """
    place = claim.place if claim.place.head <= state.seq else claim.before
    if place.head > state.seq:
        return
    path = f"{claim.folder}/{LOG}"
    marked = position_behind(path, place)
    if marked is None or not claim.holds():
        return
    claim.snapshot_size = replace_sealed(f"{claim.folder}/{SNAPSHOT}", SnapshotFile(marked, state), claim.epoch)
    claim.bytes_since_snapshot = os.stat(path).st_size - place.offset


def load(folder: str, scan_from: Callable[[Position], Scan]) -> tuple[State, Scan] | None:
    """The state a snapshot holds and the log behind its place; None when it is of no use.

    Raises:
        StorageError: the log can not be read.
    """
    try:
        data = read_file(f"{folder}/{SNAPSHOT}")
    except OSError:
        return None  # a cache that can not be read is as good as none
    stored = unseal(data, _decoder) if data else None
    if stored is None or stored.place.head > stored.state.seq:
        return None
    found = scan_from(stored.place)
    if found.start != stored.place or found.rewound or found.head < stored.state.seq:
        return None
    return stored.state, found


def size(folder: str) -> int:
    """How many bytes the snapshot of a session has, 0 for none."""
    try:
        return os.stat(f"{folder}/{SNAPSHOT}").st_size
    except OSError:
        return 0
