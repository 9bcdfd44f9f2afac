"""fold: total, deterministic, the same live and reloaded. Random scripts of everything that may happen."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lousho_cli.core.accumulator import Accumulator
from lousho_cli.core.fold import apply, fold
from lousho_cli.core.states import session_from, state_from
from lousho_cli.core.transcript import check
from lousho_cli.domain import records as r
from lousho_cli.domain.agent import Fingerprint
from lousho_cli.domain.approvals import PendingApproval
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.domain.session import Session
from lousho_cli.domain.usage import CallUsage

NOW = "2026-01-01T00:00:00.000Z"
scripts = st.lists(st.integers(0, 400), max_size=40)
concurrency = st.sampled_from([None, 1, 2])
limits = st.sampled_from([0, 1, 3, 50])


@given(scripts, concurrency, limits)
@settings(max_examples=120)
def test_the_fold_of_the_log_is_the_live_session(world: Any, make_facts: Any, script: Any, width: Any, limit: int) -> None:
    """Invariant 6."""
    played = world(make_facts(width), limit).play(script)
    assert fold(played.log) == played.session
    assert fold(played.reread()) == played.session


@given(scripts, st.data())
@settings(max_examples=100)
def test_a_prefix_and_then_the_rest_is_the_whole(world: Any, script: Any, data: Any) -> None:
    """Invariant 6: with or without a snapshot."""
    played = world(limit=data.draw(limits)).play(script)
    cut = data.draw(st.integers(0, len(played.log)))
    part = fold(played.log[:cut])
    before = state_from(part)
    assert fold(played.log[cut:], part) == played.session
    assert state_from(part) == before, "folding on changes no value that was there before"


@given(scripts, concurrency)
@settings(max_examples=120)
def test_every_call_ends_with_one_result_in_call_order(world: Any, make_facts: Any, script: Any, width: Any) -> None:
    """Invariant 1, after any sequence of crashes, aborts, pauses, decisions and new messages."""
    played = world(make_facts(width)).play(script)
    played.to_the_end()
    messages = played.session.messages
    assert check(messages) is None
    asked = [call.id for message in messages for call in message.tool_calls]
    answered = [message.tool_call_id for message in messages if message.role == "tool"]
    assert answered == asked
    assert len(set(asked)) == len(asked)


@given(scripts)
@settings(max_examples=100)
def test_a_call_is_started_once_for_each_process_at_most(world: Any, script: Any) -> None:
    """Invariant 2; and a call that may not repeat is started once for ever."""
    played = world().play(script)
    played.to_the_end()
    calls = {call.id: call for message in played.session.messages for call in message.tool_calls}
    for call_id, starts in played.starts.items():
        assert starts <= played.epoch
        if calls[call_id].name == "never":
            assert starts == 1


@given(scripts)
@settings(max_examples=60)
def test_no_input_is_lost_and_none_is_doubled(world: Any, script: Any) -> None:
    played = world().play(script)
    played.to_the_end()
    said = Counter(m.text for b in played.log for x in b.records if isinstance(x, r.InputReceived) for m in x.messages)
    stored = Counter(m.text for m in played.session.messages if m.role == "user")
    assert stored == said


@given(scripts)
@settings(max_examples=60)
def test_a_checkpoint_shows_no_result_behind_an_open_call(world: Any, script: Any) -> None:
    """DESIGN 1: what load, history, fork and diff see."""
    played = world().play(script)
    for mark in played.session.marks:
        assert check([*mark.messages, *mark.held], open_tail=True) is None


# Totality

ids = st.sampled_from(["a", "b", "c1", "", "i1"])
texts = st.sampled_from(["", "x", "go"])
calls = st.lists(st.builds(ToolCall, ids, st.sampled_from(["plain", "t"]), st.just("{}")), max_size=3).map(tuple)
messages = st.one_of(
    st.builds(user, texts),
    st.builds(lambda c: Message(role="assistant", content="x", tool_calls=c), calls),
    st.builds(lambda i: Message(role="tool", content="1", tool_call_id=i, tool_name="t"), ids),
    st.just(Message(role="system", content="s")),
)
many = st.lists(messages, max_size=4).map(tuple)
statuses = st.sampled_from(["in-progress", "awaiting-approval", "finished"])
within = st.lists(ids, max_size=2).map(tuple)
approvals = st.builds(lambda i, c, w: PendingApproval(i, c, "t", {}, "d", NOW, calls=w), ids, ids, within)
own_records = st.one_of(
    st.builds(r.Created, texts, parent=st.none() | ids),
    st.builds(r.AgentStarted, ids, texts, ids, many, group=st.none() | ids),
    st.builds(r.AgentEnded, ids, st.sampled_from(["completed", "failed", "aborted"]), texts, st.none() | texts),
    st.just(r.Cleared()),
    st.builds(r.Claimed, texts),
    st.builds(r.InputReceived, ids, many, joins=st.booleans()),
    st.builds(r.InputApplied, ids),
    st.builds(r.InputMoved, ids, st.booleans()),
    st.builds(r.InputTakenBack, ids),
    st.builds(r.InputRejected, ids, texts),
    st.builds(r.Appended, ids, many, digest=texts),
    st.builds(r.CommandEnded, ids, texts, st.none() | texts),
    st.builds(r.SettingChanged, ids, st.none() | texts),
    st.builds(r.InputSettled, ids, st.sampled_from(["completed", "failed", "aborted"])),
    st.just(r.AbortAsked()),
    st.builds(lambda i, t: r.RunStarted(i, Fingerprint("h"), instructions=t or None), ids, texts),
    st.builds(r.RunResumed, st.integers(-1, 3)),
    st.builds(r.RunHeld, texts, st.none() | ids),
    st.builds(lambda m, f: r.Turn(m, f, "m", CallUsage(1, None)), messages, st.sampled_from(["stop", "length", ""])),
    st.builds(r.Splice, st.integers(-3, 6), many),
    st.builds(r.Partial, texts),
    st.builds(r.ToolStarted, ids),
    st.builds(r.ToolSpawned, ids, st.integers(0, 9), texts),
    st.builds(r.ToolFinished, ids, texts, st.booleans()),
    st.builds(r.WaitOpened, approvals),
    st.builds(r.WaitTaken, ids),
    st.builds(r.WaitAnswered, ids, st.booleans()),
    st.builds(r.WaitPutBack, ids),
    st.builds(lambda i, c, w, s: r.AskOpened(PendingApproval(i, c, "t", {}, "d", NOW, calls=w, step=s)), ids, ids, within, ids),
    st.builds(r.AskAnswered, ids, st.booleans(), texts, expired=st.booleans()),
    st.builds(r.ModelRetry, st.integers(-1, 3), texts),
    st.builds(r.BusinessState, st.sampled_from([None, {"a": [1]}, 3])),
    st.builds(r.Mark, st.integers(-1, 4), statuses, st.sampled_from([None, "stop"]), st.none() | ids, st.integers(-2, 3)),
    st.builds(r.Note, texts, texts),
    st.builds(r.Foreign, st.sampled_from(["lousho.later", "mine"]), st.just(b"{}")),
)
of_sub_agents = st.builds(r.Within, st.lists(ids, min_size=1, max_size=2).map(tuple), st.lists(own_records, max_size=3).map(tuple))
plain_records = own_records | own_records | of_sub_agents


def numbered(groups: Any) -> list[r.Batch]:
    return [r.Batch(number, 1 + number // 3, NOW, tuple(group)) for number, group in enumerate(groups, 1)]


logs = st.lists(st.lists(plain_records, min_size=1, max_size=4), max_size=10).map(numbered)
with_states = st.one_of(
    plain_records,
    st.builds(lambda log: r.Base(state_from(fold(log))), logs),
    st.builds(lambda log: r.Forked("p", 1, 1, state_from(fold(log))), logs),
)


@given(st.lists(st.lists(with_states, min_size=1, max_size=4), max_size=10).map(numbered), st.data())
@settings(max_examples=250)
def test_any_records_in_any_order_give_a_session(log: Any, data: Any) -> None:
    """Total, deterministic, and the same by one batch at a time, in one go, and from any point on."""
    whole = fold(log)
    assert isinstance(whole, Session)
    assert fold(log) == whole
    assert session_from(state_from(whole)) == whole
    one_by_one = Accumulator()
    for batch in log:
        apply(one_by_one, batch)
    assert one_by_one.freeze() == whole
    cut = data.draw(st.integers(0, len(log)))
    assert fold(log[cut:], fold(log[:cut])) == whole


@given(logs)
@settings(max_examples=100)
def test_every_record_survives_its_line(log: Any) -> None:
    from lousho_cli.domain.codec import decode_line, encode_line

    known = [b for b in log if not any(isinstance(x, r.Foreign) for one in b.records for x in (one, *getattr(one, "records", ())))]
    assert [decode_line(encode_line(batch)[:-1]) for batch in known] == known


# Single meanings


def told(*records: r.Record, epoch: int = 1) -> Session:
    return fold([r.Batch(number, epoch, NOW, (record,)) for number, record in enumerate(records, 1)])


TURN = r.Turn(Message(role="assistant", tool_calls=(ToolCall("a", "plain"), ToolCall("b", "plain"))), "tool_calls")
BEGUN = (r.Created("agent"), r.InputReceived("i", (user("go"),)), r.RunStarted("i"), r.InputApplied("i"), TURN)


def test_a_result_waits_for_those_in_front(in_words: Any) -> None:
    early = told(*BEGUN, r.ToolFinished("b", "2"))
    assert in_words(early.messages)[-1] == "calls:a+b"
    assert [call.id for call in early.pending] == ["a"]
    both = fold([r.Batch(9, 1, NOW, (r.ToolFinished("a", "1"),))], early)
    assert in_words(both.messages)[-2:] == ["result:a", "result:b"]
    assert both.turn is None


def test_the_first_result_of_a_call_is_the_one_that_counts() -> None:
    session = told(*BEGUN, r.ToolFinished("a", "1"), r.ToolFinished("a", "2"), r.ToolFinished("x", "3"))
    assert [m.text for m in session.messages if m.role == "tool"] == ["1"]


def test_input_waits_behind_open_calls(in_words: Any) -> None:
    waiting = (*BEGUN, r.InputReceived("j", (user("more"),)), r.InputApplied("j"))
    assert [m.text for m in told(*waiting).held] == ["more"]
    session = told(*waiting, r.ToolFinished("a", "1"), r.ToolFinished("b", "2"))
    assert in_words(session.messages)[-3:] == ["result:a", "result:b", "user:more"]
    assert session.held == ()


def test_a_repair_keeps_what_is_known_of_open_calls() -> None:
    """A result that came early, that a call was begun, and that the answer was cut off."""
    cut = r.Turn(TURN.message, "length")
    known = (*BEGUN[:-1], cut, r.ToolStarted("a"), r.ToolSpawned("a", 7, "t"), r.ToolFinished("b", "2"))
    session = told(*known, r.Splice(0, (user("go"), TURN.message), "repair"))
    assert (session.turn.results.keys(), session.turn.started, session.turn.truncated) == ({"b"}, {"a": 1}, True)
    assert session.turn.spawned == {"a": (7, "t")}


def test_a_repair_that_replaces_the_open_turn_forgets_it() -> None:
    session = told(*BEGUN, r.ToolStarted("a"), r.ToolFinished("b", "2"), r.Splice(0, (user("else"),), "patch"))
    assert (session.turn, len(session.messages)) == (None, 1)


def test_a_run_that_begins_counts_from_zero() -> None:
    session = told(*BEGUN, r.ToolFinished("a", "1"), r.ToolFinished("b", "2"), r.RunStarted("j"))
    assert (session.step, session.usage.model_calls, len(session.step_usage), session.run.number) == (0, 0, 0, 2)
    assert session.tool_calls == ()


def test_a_cleared_session_keeps_its_ring_and_starts_over() -> None:
    session = told(*BEGUN, r.Mark(1), r.Cleared())
    assert (session.exists, session.latest, len(session.marks), len(session.messages)) == (False, None, 1, 0)
    assert session.run.number == 1


@pytest.mark.parametrize("limit", [0, 1, 2, 50])
def test_a_ring_keeps_the_newest_and_numbers_never_move(limit: int) -> None:
    session = told(*BEGUN, *[r.Mark(1, limit=limit) for _ in range(4)])
    assert [mark.n for mark in session.marks] == [1, 2, 3, 4][max(0, 4 - limit) : 4 if limit else 0]
    assert session.latest.n == 4


def test_a_reserved_record_of_a_newer_version_is_noted() -> None:
    session = told(r.Foreign("lousho.later", b"{}"), r.Foreign("mine", b"{}"))
    assert session.unknown == ("lousho.later",)
