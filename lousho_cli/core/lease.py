"""How long an owner keeps a log without renewing, and how often it renews."""

from __future__ import annotations

from lousho_cli.errors import RangeError

RENEWALS_IN_A_LEASE = 3
"""An owner renews this often before its time is up, so that two renewals may fail."""


def check_ttl(ttl_ms: int) -> int:
    """The time a claim lives without renewal, when it is a whole number of milliseconds above 0.

    Raises:
        RangeError: it is not; field ``expires_after_ms``.
    """
    if isinstance(ttl_ms, bool) or not isinstance(ttl_ms, int) or ttl_ms <= 0:
        raise RangeError(f"expires_after_ms must be a whole number above 0, not {ttl_ms!r}", field="expires_after_ms")
    return ttl_ms


def check_renewal(expires_after_ms: int, renew_every_ms: int | None) -> int:
    """How often to renew a claim that lives ``expires_after_ms``; a third of it where nothing is said.

    Raises:
        RangeError: one is no whole number above 0, or a claim would run out before it is renewed.
    """
    check_ttl(expires_after_ms)
    if renew_every_ms is None:
        return max(expires_after_ms // RENEWALS_IN_A_LEASE, 1)
    whole = isinstance(renew_every_ms, int) and not isinstance(renew_every_ms, bool)
    if not whole or not 0 < renew_every_ms < expires_after_ms:
        raise RangeError(
            f"renew_every_ms ({renew_every_ms!r}) must be a whole number above 0 and below expires_after_ms ({expires_after_ms})",
            field="renew_every_ms",
        )
    return renew_every_ms
