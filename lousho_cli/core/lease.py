"""How long an owner keeps a log without renewing."""

from __future__ import annotations

from lousho_cli.errors import RangeError


def renewal_s(ttl_ms: int, renew_ms: int | None) -> float:
    """How many seconds lie between two renewals of a claim: a third of its time where nobody said."""
    return (ttl_ms / 3 if renew_ms is None else renew_ms) / 1000


def check_ttl(ttl_ms: int) -> int:
    """The time a claim lives without renewal, when it is a whole number of milliseconds above 0.

    Raises:
        RangeError: it is not; field ``expires_after_ms``.
    """
    if isinstance(ttl_ms, bool) or not isinstance(ttl_ms, int) or ttl_ms <= 0:
        raise RangeError(f"expires_after_ms must be a whole number above 0, not {ttl_ms!r}", field="expires_after_ms")
    return ttl_ms
