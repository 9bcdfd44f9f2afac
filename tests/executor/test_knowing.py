"""What a driver knows of its transcript without reading it again."""

from __future__ import annotations

from lousho_cli.domain.messages import Message, user
from lousho_cli.domain.resets import reset_marker
from lousho_cli.domain.shared import Shared
from lousho_cli.executor.knowing import Known, tokens_of

TALK = [Message("system", "Be brief."), user("x" * 400), Message("assistant", "y" * 400)]


def test_what_a_reset_hides_is_not_weighed_whenever_that_is_asked() -> None:
    reset = reset_marker("What we had said")
    for asked in (False, True):
        known = Known()
        known.catch_up(Shared(TALK))
        assert not asked or known.tokens > 200
        known.catch_up(Shared([*TALK, reset, user("now")]))
        assert known.tokens == sum(map(tokens_of, (TALK[0], reset, user("now"))))
        assert known.seen_from == 3
