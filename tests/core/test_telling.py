"""What a log tells: each record's event where it means something, in an order that anybody can go on from."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lousho_cli.core.telling import Teller
from lousho_cli.domain import events as e
from lousho_cli.domain import records as r
from lousho_cli.domain.agent import AgentDrift
from lousho_cli.domain.approvals import PendingApproval
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.domain.stops import Spent, Tripped
from lousho_cli.domain.times import later

AT = "2026-01-01T00:00:00.000Z"
BEGIN = (r.Created("trip"), r.InputReceived("i1", (user("Go"),)), r.RunStarted("i1"), r.InputApplied("i1"))
DONE = (r.Mark(1, "finished", "stop"), r.InputSettled("i1", "completed"))


def batches(*groups: Any, epoch: int = 1) -> list[r.Batch]:
    """A group of records is a batch; each is a second behind the one before. A number starts another epoch."""
    made: list[r.Batch] = []
    for group in groups:
        if isinstance(group, int):
            epoch = group
            continue
        records = group if isinstance(group, tuple) else (group,)
        made.append(r.Batch(len(made) + 1, epoch, later(AT, 1000 * len(made)), records))
    return made


def told(*groups: Any) -> list[Any]:
    teller = Teller("s")
    return [event for batch in batches(*groups) for event in teller.of(batch, batch.seq)]


def types(*groups: Any) -> list[str]:
    return [event.type for event in told(*groups)]


def turn(*ids: str, text: str = "") -> r.Turn:
    return r.Turn(Message("assistant", text, tool_calls=tuple(ToolCall(call_id, "look") for call_id in ids)))


def waits(**more: Any) -> PendingApproval:
    return PendingApproval("a1", more.pop("call", "c1"), "look", {"n": 1}, "d" * 16, AT, **more)


def of(kind: type, events: list[Any]) -> list[Any]:
    return [event for event in events if type(event) is kind]


# Order


def test_a_run_begins_before_and_ends_behind_everything_of_its_batch() -> None:
    assert types((*BEGIN, turn(text="hi"), *DONE)) == [
        "run.start",
        "input.queued",
        "input.applied",
        "text.delta",
        "step.done",
        "step.saved",
        "run.done",
    ]


def test_the_place_of_an_event_is_its_batch_and_its_number_there() -> None:
    events = told(BEGIN, (turn("c1"), r.ToolStarted("c1")))
    assert [(event.cursor, event.index) for event in events] == [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]
    assert [event.timestamp for event in events] == [AT] * 3 + [later(AT, 1000)] * 3
    assert {(event.session, event.path) for event in events} == {("s", ())}


@given(st.lists(st.integers(0, 400), max_size=40), st.sampled_from([None, 1, 2]))
@settings(max_examples=150)
def test_any_log_is_told_in_order_and_its_runs_begin_before_they_end(world: Any, make_facts: Any, script: Any, width: Any) -> None:
    log = world(make_facts(width)).play(script).log
    teller, going, running = Teller("s"), False, set()
    events = [event for batch in log for event in teller.of(batch, batch.seq)]
    places = [(event.cursor, event.index) for event in events]
    assert places == sorted(set(places))
    for event in events:
        if event.type == "run.start":
            going = True
        elif event.type.startswith(("tool.", "step.", "approval.req", "run.done")):
            assert going, f"{event.type} outside of a run"
        if event.type in ("tool.start", "tool.resume"):
            assert (event.type == "tool.resume") == (event.id in running)
            running.add(event.id)
        going = going and event.type != "run.done"
    answers = [record for batch in log for record in batch.records if isinstance(record, r.Turn)]
    assert len(of(e.StepSaved, events)) == len(of(e.StepDone, events)) == len(answers)
    assert teller.session == world(make_facts(width)).play(script).session


# Runs


def test_a_run_that_was_killed_has_no_end_and_begins_again() -> None:
    events = told(BEGIN, (turn("c1"), r.ToolStarted("c1")), 2, (r.Claimed("h"), r.RunResumed(2)), (r.ToolStarted("c1")))
    starts = of(e.RunStart, events)
    assert [(event.run, event.attempt) for event in starts] == [(1, 1), (1, 2)]
    assert [event.type for event in events if event.type.startswith(("tool", "run"))] == [
        "run.start",
        "tool.start",
        "run.start",
        "tool.resume",
    ]


def test_a_decision_that_was_left_in_the_log_goes_on_with_the_run() -> None:
    asks = (turn("c1"), r.WaitOpened(waits()), r.Mark(1, "awaiting-approval", "awaiting-approval", "a1"))
    events = told(BEGIN, asks, r.WaitAnswered("a1", approved=True, by="ann", note="ok"), r.ToolStarted("c1"))
    assert [event.type for event in events][-5:] == ["approval.requested", "run.done", "approval.decided", "run.start", "tool.start"]
    (pause,) = of(e.RunDone, events)
    assert (pause.finish_reason, pause.status, pause.outcome, pause.approval_id) == ("awaiting-approval", "awaiting-approval", None, "a1")
    (decided,) = of(e.ApprovalDecided, events)
    assert (decided.id, decided.approved, decided.by, decided.note, decided.edited) == ("a1", True, "ann", "ok", False)


def test_a_decision_that_came_too_late_is_a_no() -> None:
    asks = (turn("c1"), r.WaitOpened(waits()), r.Mark(1, "awaiting-approval", "awaiting-approval", "a1"))
    (decided,) = of(e.ApprovalDecided, told(BEGIN, asks, r.WaitAnswered("a1", approved=True, expired=True)))
    assert (decided.approved, decided.expired) == (False, True)


@pytest.mark.parametrize(
    ("ends", "reason", "outcome", "failed"),
    [
        ((r.Mark(1, "finished", "max-steps"), r.InputSettled("i1", "completed")), "max-steps", "completed", []),
        ((r.Mark(1, "in-progress", "aborted"), r.InputSettled("i1", "aborted")), "aborted", "aborted", []),
        ((r.InputSettled("i1", "failed", "down", "LOUSHO_X"),), "error", "failed", [("down", "LOUSHO_X")]),
    ],
)
def test_how_a_run_ends(ends: Any, reason: str, outcome: str, failed: Any) -> None:
    *_, done = events = told(BEGIN, turn(text="hi"), ends)
    assert (done.type, done.finish_reason, done.outcome, done.step) == ("run.done", reason, outcome, 1)
    assert [(event.message, event.code) for event in of(e.RunError, events)] == failed


@pytest.mark.parametrize(
    ("stop", "kind", "fields"),
    [
        (
            Tripped("pii", "input", "a name", "look"),
            e.GuardrailTripped,
            {"name": "pii", "kind": "input", "reason": "a name", "tool_name": "look"},
        ),
        (Spent("max_cost_usd", 1.5, 1.0), e.BudgetExceeded, {"limit": "max_cost_usd", "value": 1.5, "max": 1.0, "scope": "run"}),
    ],
)
def test_what_stopped_a_run_is_told_before_its_end(stop: Any, kind: Any, fields: Any) -> None:
    *_, told_of, done = told(BEGIN, (r.Mark(0, "finished", "guardrail", stop=stop), r.InputSettled("i1", "completed")))
    assert (type(told_of), done.type) == (kind, "run.done")
    assert {name: getattr(told_of, name) for name in fields} == fields


def test_notes_are_warnings_and_drift_says_what_changed() -> None:
    drift = AgentDrift(tools_added=("new",), instructions=True)
    events = told(BEGIN, (r.Note("drift", "changed", drift), r.RunResumed(2)), r.Note("drift", "of old"), r.Note("repair", "mended"))
    assert [event.type for event in events][3:] == ["run.start", "agent.drift", "agent.drift", "warning"]
    first, second = of(e.AgentDrifted, events)
    assert (first.tools_added, first.instructions, first.text) == (("new",), True, "tools added: new; instructions changed")
    assert (second.text, second.tools_added) == ("of old", ())
    assert (events[-1].about, events[-1].text) == ("repair", "mended")


# Calls


def test_a_call_has_its_name_and_how_long_it_took() -> None:
    events = told(
        BEGIN,
        (turn("c1", "c2"), r.ToolStarted("c1")),
        r.ToolStarted("c2"),
        r.ToolFinished("c2", "2", is_error=True),
        r.ToolFinished("c1", "1"),
    )
    ended = [(event.type, event.id, event.name, event.content, event.duration_ms, event.step) for event in events[-2:]]
    assert ended == [("tool.error", "c2", "look", "2", 1000, 1), ("tool.done", "c1", "look", "1", 3000, 1)]


def test_nobody_knows_how_long_a_call_took_that_another_process_began() -> None:
    events = told(BEGIN, (turn("c1"), r.ToolStarted("c1")), 2, (r.RunResumed(2), r.ToolFinished("c1", "cut", is_error=True)))
    assert events[-1].duration_ms is None
    assert told(BEGIN, turn("c1"), r.ToolFinished("c1", "denied", is_error=True))[-1].duration_ms is None


def test_the_time_a_person_took_is_not_the_calls() -> None:
    from lousho_cli.domain.approvals import Question

    asked = r.ToolAsked("c1", "question", Question("Which?"))
    events = told(BEGIN, (turn("c1"), r.ToolStarted("c1")), asked, (), (), r.ToolStarted("c1"), r.ToolFinished("c1", "1"))
    assert [event.type for event in events if event.type.startswith("tool")] == ["tool.start", "tool.start", "tool.done"]
    assert events[-1].duration_ms == 1000


def test_a_ruling_on_a_call_has_its_name() -> None:
    (ruling,) = of(e.PermissionDecision, told(BEGIN, (turn("c1"), r.PermissionDecided("c1", "deny", "rule", "no"))))
    assert (ruling.id, ruling.name, ruling.action, ruling.source, ruling.reason) == ("c1", "look", "deny", "rule", "no")


def test_what_makes_no_sense_where_it_stands_tells_nothing() -> None:
    assert types(BEGIN, turn("c1"), r.ToolFinished("c1", "1"), r.ToolFinished("c1", "again"))[-2:] == ["step.saved", "tool.done"]
    assert types(r.WaitAnswered("a1", approved=True)) == []
    assert types(BEGIN, BEGIN[1], BEGIN[3]) == types(BEGIN)
    assert "tool.start" not in types(BEGIN, r.ToolStarted("nobody"))


# Text


def test_the_pieces_of_an_answer_join_to_it() -> None:
    events = told(BEGIN, r.Partial("Su"), r.Partial("nny: "), (turn(text="Sunny: go."), *DONE))
    pieces = of(e.TextDelta, events)
    assert [(piece.text, piece.step) for piece in pieces] == [("Su", 1), ("nny: ", 1), ("go.", 1)]
    assert events[-3].type == "step.done"


@pytest.mark.parametrize("again", [(r.ModelRetry(1, "busy", 10),), (2, r.RunResumed(2))])
def test_a_try_that_failed_leaves_no_piece_of_its_answer(again: Any) -> None:
    events = told(BEGIN, r.Partial("Rai"), *again, r.Partial("Sun"), turn(text="Sunny"))
    parts = [
        event.type if event.type in ("run.start", "provider.retry") else event.text
        for event in events[3:]
        if event.type in ("run.start", "provider.retry", "text.delta")
    ]
    assert parts in (["Rai", "provider.retry", "Sun", "ny"], ["Rai", "run.start", "Sun", "ny"])


def test_a_retry_is_of_the_step_that_is_asked_again() -> None:
    (retry,) = of(e.ProviderRetry, told(BEGIN, r.ModelRetry(2, "busy", 1500)))
    assert (retry.step, retry.count, retry.error, retry.wait_ms) == (1, 2, "busy", 1500)


# What is durable


def test_an_answer_is_saved_where_it_stands_once_it_is_durable() -> None:
    events = told(BEGIN, (turn(text="hi"), *DONE))
    assert [event.type for event in events][-3:] == ["step.done", "step.saved", "run.done"]


def test_an_answer_is_saved_later_where_it_is_known_later_and_nothing_else_moves() -> None:
    log = batches(BEGIN, (turn("c1"), r.ToolStarted("c1")), r.ToolFinished("c1", "1"), (turn(text="hi"), *DONE))
    whole, teller = told(BEGIN, *(batch.records for batch in log[1:])), Teller("s")
    late = [event for batch in log[:2] for event in teller.of(batch, 1)]
    assert "step.saved" not in [event.type for event in late]
    assert teller.saved(1) == []
    late += [event for batch in log[2:] for event in teller.of(batch, batch.seq - 1)]
    late += teller.saved(4)
    assert teller.saved(4) == []
    assert [event for event in late if event.type != "step.saved"] == [event for event in whole if event.type != "step.saved"]
    places = [(event.cursor, event.index) for event in late]
    assert places == sorted(set(places))
    assert [(event.step, event.type) for event in late if event.type in ("step.saved", "tool.done", "run.done")] == [
        (1, "step.saved"),
        (1, "tool.done"),
        (1, "run.done"),
        (2, "step.saved"),
    ]


# Sub-agents


def test_a_sub_agent_is_told_with_its_path() -> None:
    inside = ("c1",)
    begins = r.Within(inside, (r.InputReceived("c1", (user("look"),)), r.RunStarted("c1"), r.InputApplied("c1")))
    asks = r.Within(inside, (turn("d1", text="I look."), r.ToolStarted("d1")))
    ends = r.Within(inside, (turn(text="done"), r.Mark(2, "finished", "stop"), r.InputSettled("c1", "completed")))
    events = told(
        BEGIN,
        (turn("c1"), r.ToolStarted("c1")),
        begins,
        asks,
        r.Within(inside, (r.ToolFinished("d1", "1"),)),
        ends,
        r.ToolFinished("c1", "done"),
    )
    within = [(event.type, event.step) for event in events if event.path == ("look",)]
    assert within == [
        ("run.start", None),
        ("text.delta", 1),
        ("step.done", 1),
        ("step.saved", 1),
        ("tool.start", 1),
        ("tool.done", 1),
        ("text.delta", 2),
        ("step.done", 2),
        ("step.saved", 2),
        ("run.done", 2),
    ]
    assert [event.type for event in events if not event.path][3:] == ["step.done", "step.saved", "tool.start", "tool.done"]
    assert events[-1].duration_ms == 5000


def test_what_a_sub_agent_waits_for_is_asked_once_of_its_lead() -> None:
    inside = ("c1",)
    begins = r.Within(inside, (r.InputReceived("c1", (user("look"),)), r.RunStarted("c1"), r.InputApplied("c1")))
    pause = r.Mark(1, "awaiting-approval", "awaiting-approval", "a1")
    asks = r.Within(inside, (turn("d1"), r.WaitOpened(waits(call="d1")), pause))
    lead = (r.WaitOpened(waits(call="d1", path=("look",), calls=("c1",))), pause)
    events = told(BEGIN, (turn("c1"), r.ToolStarted("c1")), begins, asks, lead)
    assert [(event.path, event.approval.path) for event in of(e.ApprovalRequested, events)] == [((), ("look",))]
    assert [(event.path, event.finish_reason) for event in of(e.RunDone, events)] == [
        (("look",), "awaiting-approval"),
        ((), "awaiting-approval"),
    ]


# Lines


def test_every_type_has_a_name_of_its_own_and_says_it_to_people_and_type_checkers() -> None:
    assert len({kind.type for kind in e.TYPES}) == len(e.TYPES)
    assert all(kind.__struct_config__.tag == kind.type for kind in e.TYPES)
    assert all(kind.__doc__ for kind in e.TYPES)


def test_a_line_has_the_fields_of_the_event_under_data() -> None:
    event = e.ToolStart(seq=3, timestamp=AT, session="trip", cursor=7, index=1, step=2, id="c1", name="weather")
    assert e.line_of(event) == {
        "type": "tool.start",
        "seq": 3,
        "timestamp": AT,
        "v": 1,
        "session": "trip",
        "cursor": {"seq": 7, "index": 1},
        "step": 2,
        "data": {"id": "c1", "name": "weather"},
    }
    assert e.line_of(e.StepSaved(path=("scout",)))["path"] == ("scout",)
    assert not {"step", "path"} & e.line_of(e.RunStart()).keys()
