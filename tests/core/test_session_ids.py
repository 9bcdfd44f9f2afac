"""Which session ids are taken. What a store does with a refused one is in tests/contracts."""

from __future__ import annotations

import pytest

from lousho_cli.core.session_ids import check_session_id
from lousho_cli.errors import ConfigurationError


@pytest.mark.parametrize("good", ["a", "Trip-2", "_x", "0", "a.b_c-d", "x" * 128, "x" * 153 + ".fork-1", "trip.fork-1.fork-12"])
def test_a_valid_id_is_given_back(good: str) -> None:
    assert check_session_id(good) == good


@pytest.mark.parametrize(
    "bad", ["", ".a", "-a", "a b", "a/b", "é", "a\n", "\u0663", "x" * 129, "x" * 154 + ".fork-1", "x" * 150 + ".fork-"]
)
def test_another_is_refused_with_the_field_and_a_hint(bad: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check_session_id(bad)
    assert caught.value.field == "session_id"
    assert caught.value.code == "LOUSHO_SESSION_ID_INVALID"
    assert "letters" in caught.value.hint
