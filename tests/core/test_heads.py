"""Advancing a head over records says what the head of the folded session says, for every log that does nothing twice."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import event, given, settings
from hypothesis import strategies as st

from lousho_cli.core.accumulator import Accumulator
from lousho_cli.core.fold import apply, fold
from lousho_cli.core.heads import advance, advance_all, head_of
from lousho_cli.core.states import state_from
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import PendingApproval, Question
from lousho_cli.domain.heads import Head
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.domain.stops import Aborted, Spent, Tripped
from lousho_cli.domain.usage import CallUsage

IDS = ("a", "b", "c")
USED = (None, CallUsage(10, 5), CallUsage(7, 3, 2, 1, 0.25, 4))
ids = st.sampled_from(IDS)
calls = st.lists(ids, max_size=3).map(lambda names: tuple(ToolCall(name, "t") for name in names))
assistants = calls.map(lambda made: Message("assistant", "x", made))
results = ids.map(lambda name: Message("tool", "1", tool_call_id=name))
messages = st.one_of(st.just(user("hi")), assistants, results, st.just(Message("system", "s")))
users = st.lists(st.just(user("hi")), max_size=3).map(tuple)
histories = st.one_of(users, users, st.lists(messages, max_size=5).map(tuple))
waits = st.builds(
    lambda i, call, within, asked: PendingApproval(i, call, "t", {}, "d", "now", question=asked, calls=within, reason="why"),
    ids,
    ids,
    st.lists(ids, max_size=2).map(tuple),
    st.sampled_from([None, Question("?", ("a", "b"), allow_free_text=False), Question("sign in", url="https://x.example")]),
)

own = st.one_of(
    st.builds(r.Created, st.just("agent"), harness=st.sampled_from([None, "h"]), format=st.sampled_from([1, 2]), parent=st.none() | ids),
    st.builds(r.AgentStarted, ids, st.just("scout"), ids, users),
    st.builds(r.AgentEnded, ids, st.sampled_from(["completed", "failed"])),
    st.builds(r.Claimed, st.just("host"), st.sampled_from([1, 3])),
    st.builds(r.Foreign, st.sampled_from(["lousho.later", "own.type"]), st.just(b"{}")),
    st.builds(r.InputReceived, ids, histories),
    st.builds(r.InputApplied, ids),
    st.builds(r.InputMoved, ids, st.booleans()),
    st.builds(r.InputTakenBack, ids),
    st.builds(r.InputRejected, ids, st.just("busy")),
    st.builds(r.Appended, ids, histories),
    st.builds(r.CommandEnded, ids, error=st.sampled_from([None, "e"])),
    st.builds(r.SettingChanged, ids, st.sampled_from([None, 1])),
    st.builds(r.InputSettled, ids, st.sampled_from(["completed", "failed", "aborted"]), st.sampled_from([None, "e"])),
    st.builds(r.RunStarted, ids, instructions=st.sampled_from([None, "be kind"])),
    st.builds(r.RunResumed, st.integers(1, 5)),
    st.builds(lambda message, used: r.Turn(message, model="m", usage=used), assistants, st.sampled_from(USED)),
    st.builds(r.Splice, st.integers(0, 6), histories),
    st.builds(r.ToolStarted, ids),
    st.builds(r.ToolFinished, ids, st.just("1")),
    st.builds(r.ToolFinished, ids, st.just("1"), replaced_by=st.sampled_from([None, "hook"])),
    st.builds(r.ToolAsked, ids, st.sampled_from(["question", "sign-in"]), st.just(Question("?")), st.just({})),
    st.builds(r.PermissionDecided, ids, st.sampled_from(["allow", "ask", "deny"]), st.sampled_from(["rule", "mode", "hook"])),
    st.builds(r.WaitOpened, waits),
    st.builds(r.WaitTaken, ids),
    st.builds(r.WaitPutBack, ids),
    st.builds(r.WaitAnswered, ids, st.booleans(), expired=st.booleans()),
    st.builds(lambda wait, step: r.AskOpened(msgspec.structs.replace(wait, step=step)), waits, ids),
    st.builds(r.AskAnswered, ids, st.booleans(), expired=st.booleans()),
    st.builds(
        r.Mark,
        st.integers(0, 4),
        st.sampled_from(["in-progress", "awaiting-approval", "finished"]),
        stop=st.sampled_from([None, Aborted(), Tripped("g", "tool"), Spent("max_tokens", 2, 1)]),
    ),
    st.just(r.Cleared()),
    st.just(r.AbortAsked()),
    st.just(r.Foreign("acme.x", b"{}")),
)
of_sub_agents = st.builds(r.Within, st.lists(ids, min_size=1, max_size=2).map(tuple), st.lists(own, max_size=3).map(tuple))
records = own | own | of_sub_agents
logs = st.lists(st.lists(records, min_size=1, max_size=4), max_size=14)


def batches_of(log: list[list[Any]]) -> list[r.Batch]:
    """The log without what it takes in a second time: no writer does."""
    f = Accumulator()
    batches = [r.Batch(seq, 1, f"t{seq}", tuple(kept for one in group for kept in once(f, one))) for seq, group in enumerate(log, 1)]
    return [batch for batch in batches if batch.records]


def once(f: Accumulator, record: Any, calls: tuple[str, ...] = ()) -> tuple[Any, ...]:
    if isinstance(record, r.Within):
        inner = tuple(kept for one in record.records for kept in once(f, one, record.calls))
        return (r.Within(record.calls, inner),)
    child = f.child(calls)
    if isinstance(record, (r.InputReceived, r.Appended)) and child is not None and record.id in child.inputs:
        return ()
    if isinstance(record, r.AgentStarted) and child is not None and record.id in child.agents:
        return ()
    apply(f, r.Batch(f.seq + 1, 1, "t", (r.Within(calls, (record,)) if calls else record,)))
    return (record,)


@settings(max_examples=400, deadline=None)
@given(logs)
def test_advance_agrees_with_the_fold(log: list[list[Any]]) -> None:
    batches = batches_of(log)
    head: Head | None = Head()
    for number, batch in enumerate(batches, 1):
        folded = head_of(fold(batches[:number]))
        head = advance(head or Head(), batch) if head is not None else None
        if head is None:
            event("needs the transcript")
            head = folded
        assert head == folded


@settings(max_examples=100, deadline=None)
@given(logs, logs)
def test_a_fork_and_a_base_bring_their_own_head(before: list[list[Any]], after: list[list[Any]]) -> None:
    state = state_from(fold(batches_of(before)))
    for first in (r.Forked("parent", 9, 2, state), r.Base(state)):
        batches = batches_of([[first], *after])
        head = advance_all(Head(), batches)
        assert head is None or head == head_of(fold(batches))


@given(logs)
def test_a_head_survives_being_written(log: list[list[Any]]) -> None:
    head = head_of(fold(batches_of(log)))
    assert msgspec.json.decode(msgspec.json.encode(head), type=Head) == head


def test_an_ordinary_run_never_needs_the_transcript() -> None:
    turn = Message("assistant", "", (ToolCall("c1", "t"), ToolCall("c2", "t")))
    log: list[list[Any]] = [
        [r.Created("a")],
        [r.InputReceived("i", (user("x"),)), r.RunStarted("i", instructions="be kind"), r.InputApplied("i")],
        [r.Turn(turn), r.Mark(1)],
        [r.InputReceived("j", (user("y"), user("z"))), r.InputApplied("j")],
        [r.ToolFinished("c2", "2")],
        [r.ToolFinished("c1", "1"), r.Mark(1)],
        [r.Turn(Message("assistant", "done")), r.Mark(2, "finished"), r.InputSettled("i", "completed")],
    ]
    batches = batches_of(log)
    head: Head | None = Head()
    for number, batch in enumerate(batches, 1):
        assert head is not None
        head = advance(head, batch)
        assert head == head_of(fold(batches[:number]))
    assert head is not None
    assert (head.messages, head.step, head.status, head.outcome) == (8, 2, "finished", "completed")


def test_a_head_says_nothing_of_inputs_and_agents_that_have_ended() -> None:
    log: list[list[Any]] = [[r.Created("a")]]
    for number in range(300):
        log.append([r.InputReceived(f"input-{number}", (user("hi"),)), r.RunStarted(f"input-{number}"), r.InputApplied(f"input-{number}")])
        log.append([r.Turn(Message("assistant", "x")), r.Mark(1, "finished"), r.InputSettled(f"input-{number}", "completed")])
        log.append([r.Appended(f"note-{number}"), r.CommandEnded(f"command-{number}"), r.InputRejected(f"refused-{number}", "busy")])
        log.append([r.AgentStarted(f"agent-{number}", "scout", f"scout-{number}", ()), r.AgentEnded(f"agent-{number}", "completed")])
    batches = batches_of(log)
    early, late = head_of(fold(batches[:40])), head_of(fold(batches))
    assert len(msgspec.json.encode(late)) < len(msgspec.json.encode(early)) + 20
    assert advance_all(early, batches[40:]) == late


def test_a_head_says_what_a_newer_version_wrote() -> None:
    newer = (r.Created("a"), r.Claimed("h", 9), r.Foreign("lousho.later", b"{}"), r.Foreign("own.type", b"{}"), r.Cleared())
    batch = r.Batch(1, 1, "2026-01-01T00:00:00.000Z", newer)
    head = advance_all(Head(), [batch])
    assert head is not None
    assert (head.format, head.unknown) == (9, ("lousho.later",))


def test_what_sub_agents_used_is_counted_while_they_run_and_after() -> None:
    used = CallUsage(7, 3, 2, 1, 0.25, 4)
    call = Message("assistant", "", (ToolCall("c1", "scout"),))
    log: list[list[Any]] = [
        [r.Created("a"), r.RunStarted("i"), r.Turn(call, model="m", usage=used)],
        [r.Within(("c1",), (r.RunStarted("j"), r.Turn(call, model="n", usage=used)))],
        [r.Within(("c1", "c1"), (r.RunStarted("k"), r.Turn(Message("assistant", "x"), model="o", usage=used)))],
        [r.Within(("c1",), (r.ToolFinished("c1", "1"),))],
        [r.ToolFinished("c1", "1")],
        [r.RunStarted("l"), r.Turn(Message("assistant", "x"), model="m", usage=used)],
    ]
    batches = batches_of(log)
    head: Head | None = Head()
    seen = []
    for number, batch in enumerate(batches, 1):
        assert head is not None
        head = advance(head, batch)
        assert head is not None
        assert head == head_of(fold(batches[:number]))
        seen.append((head.usage.total_tokens, head.usage.delegated.total_tokens, head.earlier.tokens_with_delegated))
    assert seen == [(10, 0, 0), (10, 0, 0), (10, 0, 0), (10, 0, 0), (10, 20, 0), (10, 0, 30)]
