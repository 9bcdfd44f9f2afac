"""The key of a batch: the number of its log in the upper 32 bits, its seq in the lower. So a log lies in one stretch."""

from __future__ import annotations

SEQ_BITS = 32
SEQ_MASK = (1 << SEQ_BITS) - 1


def key_of(no: int, seq: int) -> int:
    """The key of one batch."""
    return no << SEQ_BITS | seq


def first_key(no: int) -> int:
    """A key below every batch of a log."""
    return no << SEQ_BITS


def last_key(no: int) -> int:
    """A key no batch of a log is above."""
    return no << SEQ_BITS | SEQ_MASK
