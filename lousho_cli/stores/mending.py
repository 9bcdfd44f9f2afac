"""What a damaged log becomes when it is repaired: every batch that still stands, numbered on without a gap, and a note."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from lousho_cli.core.trimming import has_base
from lousho_cli.core.versions import damaged_records, require_known
from lousho_cli.domain import records as r
from lousho_cli.domain.times import stamp
from lousho_cli.errors import StorageError
from lousho_cli.ports.log_store import Hole

NOTE_KIND = "repaired"


def damage_of(batches: Iterable[r.Batch], holes: Sequence[Hole]) -> tuple[list[r.Batch], list[Hole]]:
    """The batches that can be kept and all that is missing behind a repair; a batch with a record that can not be read counts as a hole."""
    batches = list(batches)
    unreadable = dict(damaged_records(batches))
    damage = sorted([*holes, *(Hole(seq, seq, why) for seq, why in unreadable.items())], key=lambda hole: hole.first)
    return [batch for batch in batches if batch.seq not in unreadable], damage


def mendable(session_id: str, where: str, batches: Iterable[r.Batch], holes: Sequence[Hole]) -> tuple[list[r.Batch], list[Hole]] | None:
    """What ``damage_of`` gives for a log that is to be repaired; None where nothing in it is damaged.

    Args:
        where: what holds the session, for the error.

    Raises:
        LogVersionError: a newer version wrote it, which alone knows how to repair it.
        StorageError: nothing in it is valid.
    """
    batches = list(batches)
    require_known(session_id, batches)
    kept, damage = damage_of(batches, holes)
    if damage and not kept:
        raise StorageError(f"session {session_id} in {where} holds no record that can be read")
    return (kept, damage) if damage else None


def mended(batches: Sequence[r.Batch], damage: Sequence[Hole], epoch: int, host: str, kept: str) -> list[r.Batch]:
    """The batches of a repaired log. Those before the first gap are the same; everything is synced.

    Args:
        batches: those kept, at least one. epoch, host: of the claim it is repaired under. kept: where the old log is.
    """
    lines = list(_dense(batches))
    lost = ", ".join(f"{hole.first} to {hole.last}" for hole in damage)
    text = f"Records {lost} were damaged and are missing; the log as it was is kept as {kept}."
    now = stamp(datetime.now(UTC))
    return [*lines, r.Batch(lines[-1].seq + 1, epoch, now, (r.Claimed(host), r.Note(NOTE_KIND, text)))]


def _dense(batches: Sequence[r.Batch]) -> Iterator[r.Batch]:
    first = batches[0]
    start = first.seq if has_base(first) else 1
    for seq, batch in enumerate(batches, start):
        yield batch if batch.seq == seq else msgspec.structs.replace(batch, seq=seq, sync=None)
