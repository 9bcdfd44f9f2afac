"""How long a claim lives."""

from __future__ import annotations

from typing import Any

import pytest

from lousho_cli.core.lease import check_ttl
from lousho_cli.errors import RangeError


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, None, "1"])
def test_case_197_an_expiry_must_be_a_whole_number_above_zero(wrong: Any) -> None:
    with pytest.raises(RangeError, match="expires_after_ms"):
        check_ttl(wrong)


def test_an_expiry_is_given_back() -> None:
    assert check_ttl(1) == 1
