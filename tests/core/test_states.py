"""A session as one value and back, without loss."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lousho_cli.core.fold import fold
from lousho_cli.core.states import session_from, state_from
from lousho_cli.domain import records as r
from lousho_cli.domain.agent import Fingerprint
from lousho_cli.domain.codec import decode_state, encode_value
from lousho_cli.domain.messages import user

NOW = "2026-01-01T00:00:00.000Z"
scripts = st.lists(st.integers(0, 400), max_size=40)


@given(scripts, st.sampled_from([0, 1, 3, 50]), st.sampled_from(["m", "other"]))
@settings(max_examples=150)
def test_a_state_gives_back_its_session(world: Any, make_facts: Any, script: Any, limit: int, model: str) -> None:
    """Also through its bytes, and also when the agent changed in the middle of a run."""
    played = world(limit=limit).play(script[:10])
    played.agent = make_facts(model=model)
    for number in script[10:]:
        played.step(number)
    session = played.session
    assert session_from(state_from(session)) == session
    assert session_from(decode_state(encode_value(state_from(session)))) == session


@given(scripts)
@settings(max_examples=60)
def test_a_base_goes_on_like_the_log_it_replaces(world: Any, script: Any) -> None:
    """DESIGN 5: a trimmed log begins with the state."""
    played = world().play(script)
    before = played.session
    base = r.Batch(before.seq, before.epoch, before.updated_at, (r.Base(state_from(before)),))
    assert fold([base]) == before


def test_a_mark_keeps_the_run_it_was_made_in() -> None:
    """A run that goes on with a changed agent is another value under the same number."""
    old, new = Fingerprint("old"), Fingerprint("new")
    session = fold(
        [
            r.Batch(1, 1, NOW, (r.InputReceived("i", (user("go"),)), r.RunStarted("i", old), r.InputApplied("i"), r.Mark(1))),
            r.Batch(2, 2, NOW, (r.RunResumed(2, new), r.Mark(1))),
        ]
    )
    back = session_from(state_from(session))
    assert [mark.run.fingerprint for mark in back.marks] == [old, new]
    assert [mark.address for mark in back.marks] == ["1/1.1", "1/1.2"]


def test_a_mark_keeps_the_transcript_that_was_rewritten_since() -> None:
    begun = (r.InputReceived("i", (user("go"),)), r.RunStarted("i"), r.InputApplied("i"), r.Mark(0))
    session = fold([r.Batch(1, 1, NOW, begun), r.Batch(2, 1, NOW, (r.Splice(0, (user("else"),)), r.Mark(0)))])
    back = session_from(decode_state(encode_value(state_from(session))))
    assert [[m.text for m in mark.messages] for mark in back.marks] == [["go"], ["else"]]
