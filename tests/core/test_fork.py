"""Forks as values: a parent is never touched, a fork is whole."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lousho_cli.core.fold import fold
from lousho_cli.core.fork import Patch, fork_state, left_behind, patch_from, patched
from lousho_cli.core.states import session_from, state_from
from lousho_cli.core.transcript import check
from lousho_cli.domain import records as r
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.codec import encode_line
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.errors import ConfigurationError

scripts = st.lists(st.integers(0, 400), max_size=30)
patches = st.sampled_from(
    [
        Patch(),
        Patch(append_input="more"),
        Patch(append_input=""),
        Patch(business_state=None),
        Patch(business_state={"k": 1}),
        Patch(messages=lambda messages: messages[:2]),
        Patch(messages=lambda messages: [*messages, user("x")]),
    ]
)


@given(scripts, scripts, patches, st.integers(0, 60))
@settings(max_examples=120)
def test_a_fork_never_changes_its_parent(world: Any, script: Any, further: Any, patch: Any, place: int) -> None:
    """Invariant 7: neither the value nor a byte of the log, whatever the fork does then."""
    parent = world().play(script)
    marks = parent.session.marks
    if not len(marks):
        return
    before, lines = copy.deepcopy(state_from(parent.session)), [encode_line(batch) for batch in parent.log]
    forked = world.of_state(fork_state(parent.session, marks[place % len(marks)], patch))
    forked.send(None)
    for number in further:
        forked.step(number)
    assert state_from(parent.session) == before
    assert [encode_line(batch) for batch in parent.log] == lines
    assert state_from(fold(parent.log)) == before


@given(scripts, patches, st.integers(0, 60))
@settings(max_examples=120)
def test_a_fork_ends_with_one_result_a_call(world: Any, script: Any, patch: Any, place: int) -> None:
    """Invariants 1 to 3 of the fork, its results those it was given."""
    parent = world().play(script)
    marks = parent.session.marks
    if not len(marks):
        return
    state = fork_state(parent.session, marks[place % len(marks)], patch)
    if check(session_from(state).messages, open_tail=True) is not None:
        return  # a patch cut a turn from its results; the executor repairs that when it opens the log
    forked = world.of_state(state)
    forked.send(None)
    forked.to_the_end()
    messages = forked.session.messages
    assert check(messages) is None
    asked = [call.id for message in messages for call in message.tool_calls]
    assert [m.tool_call_id for m in messages if m.role == "tool"] == asked


@given(scripts, st.integers(0, 60))
@settings(max_examples=80)
def test_a_fork_is_in_progress_and_waits_for_nobody(world: Any, script: Any, place: int) -> None:
    parent = world().play(script)
    marks = parent.session.marks
    if not len(marks):
        return
    mark = marks[place % len(marks)]
    state = fork_state(parent.session, mark, Patch())
    assert (state.status, state.wait, state.decisions, state.waiting, state.outcome) == ("in-progress", None, {}, (), None)
    assert state.turn is None or (state.turn.started, state.turn.spawned) == ({}, {})
    assert (state.step, state.usage, tuple(state.step_usage)) == (mark.step, mark.usage, tuple(mark.step_usage))
    assert state.runs[-1].fingerprint == mark.run.fingerprint
    assert state.runs[-1].offered == mark.run.offered


# Patches

TURN = Message(role="assistant", tool_calls=(ToolCall("a", "book"), ToolCall("b", "book")))
RESULT = Message(role="tool", content="1", tool_call_id="a", tool_name="book", is_error=True, metadata={"x": 1})
CHECKPOINT = Checkpoint("s", (user("go"), TURN, RESULT), business_state={"a": [1]})


def test_de_097_the_patched_result_has_position_id_and_name_alone() -> None:
    changed = patched(CHECKPOINT, patch_from({"tool_result": {"tool_call_id": "a", "result": {"x": 1}}}))
    assert changed.messages[2] == Message(role="tool", content='{"x":1}', tool_call_id="a", tool_name="book")
    assert changed.messages[:2] == CHECKPOINT.messages[:2]


def test_de_098_a_result_of_an_open_call_is_added() -> None:
    changed = patched(CHECKPOINT, patch_from({"tool_result": {"tool_call_id": "b", "result": None}}))
    assert changed.messages[3] == Message(role="tool", content="null", tool_call_id="b", tool_name="book")


def test_de_099_an_unknown_call_names_those_there_are() -> None:
    with pytest.raises(ConfigurationError) as raised:
        patched(CHECKPOINT, patch_from({"tool_result": {"tool_call_id": "z", "result": 1}}))
    assert (raised.value.field, raised.value.hint) == ("patch.tool_result", "Its calls are: a, b.")


def test_de_099_a_call_that_the_rewritten_transcript_lost_is_unknown() -> None:
    with pytest.raises(ConfigurationError):
        patched(CHECKPOINT, patch_from({"messages": [user("go")], "tool_result": {"tool_call_id": "a", "result": 1}}))


def test_an_empty_text_is_still_an_input() -> None:
    assert patched(CHECKPOINT, patch_from({"append_input": ""})).messages[-1] == user("")


def test_a_function_of_the_transcript_gets_a_copy() -> None:
    patched(CHECKPOINT, Patch(messages=lambda messages: messages.clear() or [user("else")]))
    assert len(CHECKPOINT.messages) == 3


def test_parts_name_what_a_patch_changes() -> None:
    assert patch_from({"business_state": None, "append_input": ""}).parts == ("business_state", "append_input")
    assert patch_from(None).parts == ()


@pytest.mark.parametrize("result", ["a", 5, {"tool_call_id": "a"}, {"result": 1}])
def test_a_result_needs_its_call_and_its_value(result: Any) -> None:
    with pytest.raises(ConfigurationError):
        patch_from({"tool_result": result})


def test_what_a_patch_leaves_behind_is_counted_from_its_turn(world: Any) -> None:
    w = world()
    w.send("go")
    w.answer("plain")
    w.finish("c2")
    w.answer("plain")
    w.finish("c3")
    w.answer()
    newest = w.session.latest
    behind = left_behind(newest, patch_from({"tool_result": {"tool_call_id": "c2", "result": 1}}))
    assert (behind.messages, behind.step) == (3, 1)
    assert left_behind(w.session.marks[1], patch_from({"tool_result": {"tool_call_id": "c2", "result": 1}})) is None
    assert left_behind(newest, Patch(append_input="x")) is None


def test_a_fork_of_a_cut_off_answer_does_not_run_its_calls(world: Any) -> None:
    w = world()
    w.send("go")
    w.answer("plain", finish_reason="length")
    forked = world.of_state(fork_state(w.session, w.session.marks[0], Patch()))
    forked.send(None)
    assert forked.starts == {}
    assert isinstance(w.log[1].records[0], r.Turn)
