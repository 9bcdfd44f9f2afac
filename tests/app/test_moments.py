"""Points in time as people write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lousho_cli.app.moments import age, moment
from lousho_cli.errors import ConfigurationError


def test_a_length_of_time_counts_back_from_now() -> None:
    two_hours = datetime.fromisoformat(moment("2h", "--since"))
    assert abs((datetime.now(UTC) - two_hours).total_seconds() - 7200) < 5


def test_a_date_or_time_is_taken_as_it_is_and_told_in_utc() -> None:
    assert moment("2026-01-31T12:00:00+02:00", "--since") == "2026-01-31T10:00:00.000Z"
    assert moment("2026-01-31T10:00:00.5Z", "--since") == "2026-01-31T10:00:00.500Z"


@pytest.mark.parametrize("text", ["soon", "", "5y", "2026-13-40", "-2h", "999999w"])
def test_anything_else_is_refused_with_the_flag_named(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        moment(text, "--since")
    assert caught.value.field == "--since"


@pytest.mark.parametrize(("at", "told"), [("2026-01-01T00:00:00.000Z", "1d"), ("2026-01-02T02:59:00.000Z", "1m"), ("never", "")])
def test_an_age_is_told_in_one_unit(at: str, told: str) -> None:
    assert age(at, datetime(2026, 1, 2, 3, tzinfo=UTC)) == told
