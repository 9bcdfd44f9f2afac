"""The key of a batch: the number of its log in the upper bits, its seq in the lower. So a log is one stretch of the index.

With twenty-four bits for the seq the keys of the first logs of a file take four bytes; with more, six.
"""

from __future__ import annotations

from lousho_cli.errors import StorageError

SEQ_BITS = 24
SEQ_MASK = (1 << SEQ_BITS) - 1


def key_of(no: int, seq: int) -> int:
    """The key of one batch.

    Raises:
        StorageError: the log is longer than a key can say.
    """
    if seq > SEQ_MASK:
        raise StorageError(
            f"a session in a database holds at most {SEQ_MASK} batches", hint="Trim it, with keep_log_records, or go on in a fork of it."
        )
    return no << SEQ_BITS | seq


def first_key(no: int) -> int:
    """A key below every batch of a log."""
    return no << SEQ_BITS


def last_key(no: int) -> int:
    """A key no batch of a log is above."""
    return no << SEQ_BITS | SEQ_MASK
