"""The checkpoint of a mark, and what a checkpoint gives back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lousho_cli.core.checkpoints import checkpoint_of, history_of, state_of_checkpoint
from lousho_cli.core.states import session_from
from lousho_cli.core.transcript import check
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.codec import checkpoint_from, encode_value
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.domain.usage import RunUsage

scripts = st.lists(st.integers(0, 400), max_size=30)
TURN = Message(role="assistant", tool_calls=(ToolCall("a", "plain"), ToolCall("b", "plain")))


@given(scripts)
@settings(max_examples=100)
def test_a_checkpoint_gives_back_what_it_holds(world: Any, script: Any) -> None:
    """The same checkpoint again, through JSON too: what a plain store loses is only what it never had."""
    session = world().play(script).session
    checkpoint = checkpoint_of("s", session)
    if checkpoint is None:
        return
    assert checkpoint_from(msgspec.json.decode(encode_value(checkpoint))) == checkpoint
    back = session_from(state_of_checkpoint(checkpoint))
    assert (*back.messages, *back.held) == checkpoint.messages
    assert (back.step, back.usage, tuple(back.step_usage)) == (checkpoint.step_index, checkpoint.usage, checkpoint.step_usage)
    assert (back.status, back.finish_reason) == (checkpoint.status, checkpoint.finish_reason)
    assert back.business_state == checkpoint.business_state
    assert back.tool_calls == checkpoint.tool_calls
    assert (back.run.fingerprint, back.run.offered) == (checkpoint.agent_fingerprint, checkpoint.offered)
    assert dict(back.decisions) == checkpoint.decisions
    assert back.turns == sum(m.role == "assistant" for m in checkpoint.messages)


@given(scripts)
@settings(max_examples=60)
def test_every_checkpoint_of_a_ring_can_be_gone_on_from(world: Any, script: Any) -> None:
    played = world().play(script)
    for entry in history_of("s", played.session):
        assert check(entry.checkpoint.messages, open_tail=True) is None
        assert session_from(state_of_checkpoint(entry.checkpoint)).step == entry.step


def test_a_session_without_a_mark_has_no_checkpoint(world: Any) -> None:
    w = world()
    w.send("go")
    assert checkpoint_of("s", w.session) is None
    assert history_of("s", w.session) == []


def test_results_behind_the_first_open_call_are_left_out(world: Any) -> None:
    w = world()
    w.send("go")
    w.answer("plain", "plain", "plain")
    w.finish("c3")
    assert [m.role for m in checkpoint_of("s", w.session).messages] == ["system", "user", "assistant"]


def test_de_159_history_is_newest_first_and_may_be_cut(world: Any) -> None:
    w = world()
    w.send("go")
    w.answer("plain")
    w.finish("c2")
    w.answer()
    assert [(e.step, e.status, e.address) for e in history_of("s", w.session)] == [
        (2, "finished", "1/2.1"),
        (1, "in-progress", "1/1.2"),
        (1, "in-progress", "1/1.1"),
    ]
    assert [len(history_of("s", w.session, limit)) for limit in (0, 1, 2, 9, -1)] == [0, 1, 2, 3, 0]


def test_de_024_an_old_record_has_its_defaults() -> None:
    old = checkpoint_from({"session_id": "s", "messages": [{"role": "user", "content": "go"}]})
    assert (old.status, old.step_index, old.usage, old.agent_fingerprint) == ("in-progress", 0, RunUsage(), None)


def test_de_028_029_results_are_put_behind_their_turn(in_words: Any) -> None:
    result = {c: Message(role="tool", content=c, tool_call_id=c, tool_name="plain") for c in ("a", "b")}
    stored = Checkpoint("s", (user("go"), TURN, result["b"], user("more"), result["a"]))
    session = session_from(state_of_checkpoint(stored))
    assert in_words(session.messages) == ["user:go", "calls:a+b", "result:a", "result:b", "user:more"]
    half = session_from(state_of_checkpoint(Checkpoint("s", (user("go"), TURN, result["b"], user("more")))))
    assert in_words(half.messages) == ["user:go", "calls:a+b"]
    assert (half.turn.results.keys(), [m.text for m in half.held]) == ({"b"}, ["more"])


def answer(text: str) -> Message:
    return Message(role="assistant", content=text)


@pytest.mark.parametrize(
    ("messages", "given", "start"),
    [
        ((user("a"), answer("b"), user("c"), answer("d")), {"step_index": 1}, 2),
        ((user("a"), answer("b"), user("c"), answer("d")), {"step_index": 1, "usage": RunUsage(model_calls=1)}, 2),
        ((user("a"), answer("b"), user("c")), {"step_index": 1, "finish_reason": "aborted"}, 2),
        ((user("a"), answer("b"), user("c"), user("d")), {"step_index": 0}, 2),
        ((user("a"), TURN), {"step_index": 1}, 0),
    ],
)
def test_where_the_run_began_is_found_again(messages: Any, given: Any, start: int) -> None:
    """An aborted model call is a step without an answer."""
    assert state_of_checkpoint(Checkpoint("s", messages, **given)).runs[0].start == start


def test_a_cut_off_answer_stays_one() -> None:
    stored = Checkpoint("s", (user("go"), TURN), step_index=1, finish_reason="length")
    assert state_of_checkpoint(stored).turn.truncated
    assert not state_of_checkpoint(msgspec.structs.replace(stored, finish_reason="tool_calls")).turn.truncated
