"""Times in the one form that records carry."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from lousho_cli.domain.times import later, ms_between, stamp


def test_a_stamp_is_utc_with_milliseconds() -> None:
    assert stamp(datetime(2026, 1, 31, 12, 0, 0, 1999, UTC)) == "2026-01-31T12:00:00.001Z"
    assert stamp(datetime(2026, 1, 31, 12, 0, tzinfo=timezone(timedelta(hours=2)))) == "2026-01-31T10:00:00.000Z"


def test_later_counts_across_days_and_zones() -> None:
    assert later("2026-12-31T23:59:59.999Z", 1) == "2027-01-01T00:00:00.000Z"
    assert later("2026-01-01T02:00:00+02:00", 90_000) == "2026-01-01T00:01:30.000Z"
    assert later("2026-01-01T00:00:00.000Z", -1) == "2025-12-31T23:59:59.999Z"


def test_ms_between_is_the_inverse_of_later() -> None:
    at = "2026-01-01T00:00:00.123Z"
    for ms in (0, 1, -1, 86_400_000, 10**12 + 7):
        assert ms_between(at, later(at, ms)) == ms


@pytest.mark.parametrize("wrong", ["", "soon", "2026-13-01"])
def test_what_is_no_time_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"isoformat|month"):
        later(wrong, 1)
