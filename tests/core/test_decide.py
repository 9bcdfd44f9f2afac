"""decide and advance: what happens next, and how it is grouped into batches."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lousho_cli.core.decide import CallModel, ConsultTool, Live, Rest, RunCall, decide
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import user
from lousho_cli.domain.texts import CANCELLED_TOOL_RESULT, INTERRUPTED_TOOL_RESULT

NOW = "2026-01-01T00:00:00.000Z"


@pytest.fixture
def begun(world: Any) -> Any:
    w = world()
    w.send("go")
    return w


def kinds(batch: Any) -> list[str]:
    return [type(record).__name__ for record in batch.records]


def test_a_new_run_asks_the_model(begun: Any) -> None:
    assert begun.effects == (CallModel(1),)
    assert [kinds(batch) for batch in begun.log] == [["Claimed", "Created", "InputReceived", "RunStarted", "InputApplied"]]


def test_nothing_to_do_is_rest(world: Any) -> None:
    w = world()
    w.tell()
    assert (w.effects, w.log) == ((Rest(),), [])


def test_a_turn_its_mark_and_the_start_of_its_calls_are_one_batch(begun: Any) -> None:
    begun.answer("plain", "plain")
    assert kinds(begun.log[-1]) == ["Turn", "Mark", "ToolStarted", "ToolStarted"]
    assert [effect.call.id for effect in begun.effects] == ["c2", "c3"]


def test_an_answer_and_the_end_it_brings_are_one_batch(begun: Any) -> None:
    begun.answer()
    assert kinds(begun.log[-1]) == ["Turn", "Mark", "InputSettled"]
    assert begun.effects == (Rest(),)
    assert (begun.session.ended, begun.session.outcome, begun.session.answer) == (True, "completed", "done")


def test_a_pause_and_its_mark_are_one_batch(begun: Any) -> None:
    begun.answer("gated")
    assert [kinds(batch) for batch in begun.log[-2:]] == [["Turn", "Mark"], ["WaitOpened", "Mark"]]
    assert begun.session.latest.approval_id == begun.session.wait.id


def test_a_decision_its_mark_and_the_call_are_one_batch(begun: Any) -> None:
    begun.answer("gated")
    begun.decide(approved=True)
    assert kinds(begun.log[-1]) == ["WaitAnswered", "Mark", "ToolStarted"]


def test_results_are_marked_as_far_as_they_stand_in_order(begun: Any) -> None:
    begun.answer("plain", "plain", "plain")
    begun.finish("c3")
    assert kinds(begun.log[-1]) == ["ToolFinished"]
    begun.finish("c2")
    assert kinds(begun.log[-1]) == ["ToolFinished", "Mark"]
    assert [m.tool_call_id for m in begun.session.latest.messages if m.role == "tool"] == ["c2", "c3"]


def test_the_limit_of_the_ring_is_stamped_on_every_mark(world: Any) -> None:
    w = world(limit=3)
    w.send("go")
    w.answer("gated")
    w.decide(approved=False)
    w.answer()
    assert {record.limit for batch in w.log for record in batch.records if isinstance(record, r.Mark)} == {3}


@pytest.mark.parametrize(("width", "started"), [(None, ["c2", "c3", "c4"]), (2, ["c2", "c3"]), (1, ["c2"])])
def test_no_more_start_than_may_run(world: Any, make_facts: Any, width: Any, started: Any) -> None:
    w = world(make_facts(width))
    w.send("go")
    w.answer("plain", "plain", "plain")
    assert list(w.in_flight) == started
    if width:
        w.finish("c2")
        assert list(w.in_flight) == [f"c{n}" for n in range(3, 3 + width)][:2]


def test_a_gated_call_holds_up_those_behind_and_waits_for_those_in_front(begun: Any) -> None:
    begun.answer("plain", "gated", "plain")
    assert list(begun.in_flight) == ["c2"]
    assert begun.session.wait is None
    begun.finish("c2")
    assert (begun.session.wait.tool_call_id, begun.in_flight) == ("c3", {})
    begun.decide(approved=True)
    assert list(begun.in_flight) == ["c3", "c4"]


def test_a_tool_that_decides_itself_is_asked_in_turn(begun: Any) -> None:
    begun.answer("plain", "asked", "plain")
    assert [type(effect) for effect in begun.effects] == [RunCall, ConsultTool]
    begun.consult(begun.effects[1], "approve")
    assert list(begun.in_flight) == ["c2", "c3", "c4"]


def test_a_call_that_is_settled_at_once_lets_the_next_one_start(begun: Any) -> None:
    begun.answer("unknown", "plain")
    assert [m.is_error for m in begun.session.messages if m.role == "tool"] == [True]
    assert list(begun.in_flight) == ["c3"]


def test_de_051_the_model_is_asked_once_every_call_has_its_result(begun: Any) -> None:
    begun.answer("plain", "plain")
    begun.finish("c3")
    assert not any(isinstance(effect, CallModel) for effect in begun.effects)
    begun.finish("c2")
    assert begun.effects == (CallModel(2),)


def test_de_032_a_spent_budget_ends_the_run_behind_its_calls(world: Any, make_facts: Any) -> None:
    w = world(make_facts(max_steps=1))
    w.send("go")
    w.answer("plain")
    w.crash()
    assert list(w.in_flight) == ["c2"]
    w.finish("c2")
    assert (w.session.finish_reason, w.session.ended, w.effects) == ("max-steps", True, (Rest(),))


def test_de_065_an_answer_on_the_last_step_is_stop(world: Any, make_facts: Any) -> None:
    w = world(make_facts(max_steps=1))
    w.send("go")
    w.answer()
    assert w.session.finish_reason == "stop"


def test_an_abort_cancels_what_does_not_run_and_waits_for_what_does(begun: Any) -> None:
    begun.answer("plain", "gated", "plain")
    begun.abort()
    assert [call.id for call in begun.session.pending] == ["c2"]
    assert begun.session.outcome is None
    begun.finish("c2")
    assert (begun.session.outcome, begun.session.finish_reason, begun.session.status) == ("aborted", "aborted", "in-progress")
    assert [m.is_error for m in begun.session.messages if m.role == "tool"] == [False, True, True]


def test_an_abort_of_a_model_call_counts_its_step(begun: Any) -> None:
    begun.calling = True
    begun.abort()
    assert (begun.session.step, begun.session.latest.step, begun.session.usage.model_calls) == (1, 1, 0)


def test_an_abort_takes_a_pause_back(begun: Any) -> None:
    begun.answer("gated")
    waited = begun.session.wait.id
    begun.tell(r.AbortAsked("somebody"))
    session = begun.session
    assert (session.wait, session.decided[waited], session.outcome, session.status) == (None, False, "aborted", "in-progress")


def test_a_stop_starts_nothing_and_settles_nothing(begun: Any) -> None:
    begun.answer("plain", "gated")
    session = begun.session
    live = Live(NOW, in_flight=frozenset(["c2"]), stopping=True)
    assert decide(session, begun.agent, live) == ()
    assert decide(session, begun.agent, Live(NOW, stopping=True)) == (Rest(),)


def test_waiting_inputs_follow_one_after_the_other(begun: Any) -> None:
    begun.tell(r.InputReceived("x", (user("one"),)))
    begun.tell(r.InputReceived("y", (user("two"),)))
    begun.answer()
    assert (begun.session.run.number, begun.session.waiting, begun.effects) == (2, ("y",), (CallModel(1),))
    begun.answer()
    begun.answer()
    assert (begun.session.run.number, begun.session.waiting, begun.session.ended) == (3, (), True)
    assert {state.outcome for state in begun.session.inputs.values()} == {"completed"}


def test_a_session_that_waits_for_a_person_rests_until_decided(begun: Any) -> None:
    begun.answer("gated")
    begun.tell(r.InputReceived("x", (user("hello?"),)))
    assert begun.effects == (Rest(),)
    begun.tell(r.WaitTaken(begun.session.wait.id))
    assert begun.effects == (Rest(),)


def test_two_pauses_never_share_an_id(world: Any) -> None:
    ids = set()
    for _ in range(2):
        w = world()
        w.send("go")
        w.answer("gated", "gated")
        ids.add(w.session.wait.id)
        w.crash()
        ids.add(w.session.wait.id)
        w.decide(approved=True)
        w.finish("c2")
        ids.add(w.session.wait.id)
    assert len(ids) == 2, "the same script gives the same ids, each pause its own, a crash no new one"


def test_a_cut_call_is_told_that_it_runs_again(begun: Any) -> None:
    begun.answer("plain", "never")
    begun.crash()
    assert [(effect.call.id, effect.rerun) for effect in begun.effects] == [("c2", True)]
    assert [call.id for call in begun.session.pending] == ["c2"]


def test_an_approval_expires_when_the_agent_says(world: Any, make_facts: Any) -> None:
    import msgspec

    w = world(msgspec.structs.replace(make_facts(), approval_ttl_ms=90_000))
    w.send("go")
    w.answer("gated")
    assert w.session.wait.expires_at == "2026-01-01T00:01:30.000Z"


def test_an_abort_by_somebody_else_says_of_a_call_that_was_begun_that_nobody_knows(begun: Any) -> None:
    begun.answer("plain", "gated", "plain")
    session = begun.session
    (write,) = decide(session, begun.agent, Live(NOW, aborted=True))
    texts = {one.id: json.loads(one.content)["message"] for one in write.records if isinstance(one, r.ToolFinished)}
    assert texts == {"c2": INTERRUPTED_TOOL_RESULT, "c3": CANCELLED_TOOL_RESULT, "c4": CANCELLED_TOOL_RESULT}
