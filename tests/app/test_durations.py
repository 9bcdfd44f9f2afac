from __future__ import annotations

import re

import pytest

from lousho_cli.app.durations import PATTERN, parse_duration


@pytest.mark.parametrize(
    ("text", "ms"),
    [("500ms", 500), ("30s", 30_000), ("30m", 1_800_000), ("2h", 7_200_000), ("3d", 259_200_000), ("1w", 604_800_000)]
    + [("1h30m", 5_400_000), ("1.5h", 5_400_000), ("1 H 30 M", 5_400_000), ("90", 90_000), (90, 90_000), (0.25, 250)],
)
def test_durations(text, ms):
    assert parse_duration(text) == ms


@pytest.mark.parametrize(
    "text", ["", "m", "5x", "-3m", "0", "0s", "3m later", "1e3", True, None, [], "9" * 40 + "d", "101w9999999w", "٣m", float("nan")]
)
def test_what_is_no_duration(text):
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


def test_the_pattern_says_the_same():
    assert all(re.search(PATTERN, text) for text in ("500ms", "30", "1h30m", "1.5h"))
    assert not any(re.search(PATTERN, text) for text in ("", "m", "5x", "-3m", "3m later"))
