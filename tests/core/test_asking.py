"""Calls that find out while they run that they need a person, in any sequence of what may happen."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lousho_cli.core.decide import RunCall
from lousho_cli.core.fold import fold
from lousho_cli.core.states import session_from, state_from
from lousho_cli.core.transcript import check
from lousho_cli.domain import records as r

scripts = st.lists(st.integers(0, 400), max_size=40)


def asking(world: Any) -> Any:
    """A world whose running calls may also ask a person."""

    class Asking(world):  # type: ignore[misc]
        def choices(self) -> list[Any]:
            return [*super().choices(), *[lambda call_id=call_id: self.ask(call_id) for call_id in self.in_flight]]

    return Asking()


@given(scripts)
@settings(max_examples=150)
def test_every_call_gets_one_result_whoever_was_asked(world: Any, script: Any) -> None:
    """Invariants 1 and 6: once each in call order, and the same live, reloaded and from a state."""
    played = asking(world).play(script)
    played.to_the_end()
    asked = [call.id for message in played.session.messages for call in message.tool_calls]
    assert [m.tool_call_id for m in played.session.messages if m.role == "tool"] == asked
    assert check(played.session.messages) is None
    assert fold(played.reread()) == played.session
    assert session_from(state_from(played.session)) == played.session


@given(scripts)
@settings(max_examples=150)
def test_a_call_runs_again_only_when_it_was_cut_or_answered(world: Any, script: Any) -> None:
    played = asking(world).play(script)
    played.to_the_end()
    records = [record for batch in played.log for record in batch.records]
    questions = Counter(record.id for record in records if isinstance(record, r.ToolAsked))
    for call_id, starts in played.starts.items():
        assert starts <= played.epoch + questions[call_id]


def test_nothing_behind_a_call_that_asked_begins_and_what_runs_beside_it_ends_first(world: Any, make_facts: Any) -> None:
    w = world(make_facts(concurrency=2))
    w.send("go")
    w.answer("plain", "plain", "plain")
    w.ask("c2")
    assert (w.effects, w.session.wait) == ((), None)
    w.finish("c3")
    assert (w.session.wait.tool_call_id, w.session.wait.kind) == ("c2", "question")
    w.decide(approved=True)
    assert [effect.call.id for effect in w.effects if isinstance(effect, RunCall)] == ["c2", "c4"]


def test_a_question_that_stands_is_not_asked_of_the_call_again_by_the_next_process(world: Any) -> None:
    w = world()
    w.send("go")
    w.answer("plain", "plain")
    w.ask("c2")
    w.crash()
    assert [effect.call.id for effect in w.effects if isinstance(effect, RunCall)] == []
    assert w.session.wait.tool_call_id == "c2"


def test_an_abort_answers_a_call_that_asked(world: Any) -> None:
    w = world()
    w.send("go")
    w.answer("plain", "plain")
    w.ask("c2")
    w.abort()
    w.finish("c3")
    assert [m.is_error for m in w.session.messages if m.role == "tool"] == [True, False]
    assert w.session.turn is None
