"""How long a claim lives and how often it is renewed."""

from __future__ import annotations

from typing import Any

import pytest

from lousho_cli.core.lease import check_renewal, check_ttl
from lousho_cli.errors import RangeError


@pytest.mark.parametrize(("expiry", "renewal"), [(1000, 1000), (1000, 2000), (1000, 0), (1000, -1), (1000, 1.5), (1000, True)])
def test_case_197_a_renewal_that_comes_too_late_names_both_values(expiry: int, renewal: Any) -> None:
    with pytest.raises(RangeError) as caught:
        check_renewal(expiry, renewal)
    assert caught.value.field == "renew_every_ms"
    assert str(expiry) in str(caught.value)
    assert repr(renewal) in str(caught.value)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, None, "1"])
def test_case_197_an_expiry_must_be_a_whole_number_above_zero(wrong: Any) -> None:
    with pytest.raises(RangeError, match="expires_after_ms"):
        check_ttl(wrong)
    with pytest.raises(RangeError, match="expires_after_ms"):
        check_renewal(wrong, None)


def test_case_197_renewal_is_a_third_of_the_expiry_by_default() -> None:
    assert check_renewal(30_000, None) == 10_000
    assert check_renewal(1, None) == 1
    assert check_renewal(300, 100) == 100
