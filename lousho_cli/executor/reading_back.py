"""The last check before records are written: what could not be read again must not stand in a log."""

from __future__ import annotations

from collections.abc import Sequence

from lousho_cli.domain import records as r
from lousho_cli.domain.codec import readable
from lousho_cli.errors import StorageError

_FROM_OUTSIDE = frozenset(
    (
        r.Created,
        r.Forked,
        r.InputReceived,
        r.RunStarted,
        r.RunResumed,
        r.Turn,
        r.WaitOpened,
        r.WaitAnswered,
        r.InputSettled,
        r.BusinessState,
        r.Within,
    )
)
"""Records that hold values which a caller, a provider, a tool or a person gave."""


_MADE_OF_A_TURN = frozenset((r.Mark, r.ToolStarted))
"""Records that stand beside a turn and hold numbers, words of ours, and the ids of its calls."""


def must_read_back(batches: Sequence[r.Batch], vouched: r.Turn | None = None) -> None:
    """Raises where a batch could not be read again: nobody could ever go on from a log that holds it.

    Args:
        vouched: a turn that is known to be read back; it is found by who it is, not by what it says.

    Raises:
        StorageError: a value of the wrong kind came through every door.
    """
    for batch in batches:
        if not (_FROM_OUTSIDE.isdisjoint(map(type, batch.records)) or _only_vouched(batch, vouched) or readable(batch)):
            kinds = ", ".join(type(record).__name__ for record in batch.records)
            raise StorageError(
                f"a record of batch {batch.seq} could not be read back ({kinds}), so it was not written",
                code="LOUSHO_RECORD_INVALID",
                hint="A provider, tool or caller gave a value of the wrong kind; this is a fault of lousho if it was none of yours.",
            )


def _only_vouched(batch: r.Batch, vouched: r.Turn | None) -> bool:
    """Whether nothing in a batch came from outside but the turn that was vouched for."""
    return batch.records[0] is vouched and _MADE_OF_A_TURN.issuperset(map(type, batch.records[1:]))
