"""How many marks the ring of a session keeps."""

from __future__ import annotations

from lousho_cli.errors import RangeError

DEFAULT_HISTORY_LIMIT = 50


def check_history_limit(limit: int) -> int:
    """The limit, when it is a whole number from 0 (keep none).

    Raises:
        RangeError: it is not; field ``history_limit``.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise RangeError(
            f"history_limit must be a whole number, 0 or more, not {limit!r}",
            field="history_limit",
            code="LOUSHO_HISTORY_LIMIT_INVALID",
            hint="Give 0 to keep no history, or leave it out for 50.",
        )
    return limit
