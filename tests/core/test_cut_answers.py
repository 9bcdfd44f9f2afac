"""What was kept of an answer that was cut: no answer of its own to whatever counts them, one with its rest to whoever looks."""

from __future__ import annotations

from typing import Any

from lousho_cli.core.checkpoints import checkpoint_at, state_of_checkpoint
from lousho_cli.core.fold import fold
from lousho_cli.core.recognise import recognise
from lousho_cli.core.states import session_from, state_from
from lousho_cli.core.trajectory import steps_of
from lousho_cli.domain import records as r
from lousho_cli.domain.cut_answers import continuation, count_answers, is_cut_off, is_synthetic, joined
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.domain.texts import CONTINUE_NOTE

BEGIN = (r.InputReceived("i", (user("go"),)), r.InputApplied("i"), r.RunStarted("i"))


def said(text: str, *calls: str) -> Message:
    return Message(role="assistant", content=text, tool_calls=tuple(ToolCall(call_id, "book") for call_id in calls))


def told(*batches: Any) -> Any:
    return fold([r.Batch(at, 1, "2026-01-01T00:00:00.000Z", records) for at, records in enumerate(batches, 1)])


def kept(text: str, behind: int) -> r.Splice:
    return r.Splice(behind, continuation(text), "continue")


def test_a_continuation_is_the_text_and_a_note_for_each_that_was_given() -> None:
    (half, note) = continuation("half ")
    assert (half.role, half.text, is_cut_off(half), is_synthetic(half)) == ("assistant", "half ", True, False)
    assert (note.role, note.text, is_cut_off(note), is_synthetic(note)) == ("user", CONTINUE_NOTE, False, True)
    assert [message.text for message in continuation("half", ("a", "b"))] == ["half", "a", "b"]
    assert continuation(" \n") == continuation("") == ()


def test_what_is_kept_comes_behind_a_transcript_that_stays_shared() -> None:
    turn = (r.Turn(said("", "c1")), r.Mark(1))
    session = told(BEGIN, turn, (r.ToolFinished("c1", "1"), r.Mark(1)), (kept("half ", 3), r.ModelRetry(1, "cut")))
    assert [message.text for message in session.messages][3:] == ["half ", CONTINUE_NOTE]
    assert (session.turns, session.retries, session.step) == (1, 1, 1)
    assert session.latest.messages.shares_with(session.messages)
    assert session_from(state_from(session)) == session


def test_a_transcript_that_is_put_in_its_place_counts_whole_answers() -> None:
    session = told(BEGIN, (r.Splice(0, (user("go"), *continuation("half"), said("whole"))),))
    assert (session.turns, session.answer) == (1, "halfwhole")


def test_a_run_that_comes_back_from_its_checkpoint_begins_where_it_did() -> None:
    earlier = (*BEGIN, r.Turn(said("before")), r.Mark(1, "finished"), r.InputSettled("i", "completed"))
    again = (r.InputReceived("j", (user("and now?"),)), r.RunStarted("j"), r.InputApplied("j"))
    first = (r.Turn(said("", "c1")), r.ToolFinished("c1", "1"))
    session = told(earlier, again, (kept("half ", 3),), first, (kept("half ", 7),), (r.Turn(said("", "c2")), r.Mark(2)))
    state = state_of_checkpoint(checkpoint_at("s", session.latest))
    assert (state.runs[-1].start, state.turns) == (2, 3)


def test_the_note_is_nobodys_input() -> None:
    known = [user("go"), said("", "c1"), Message(role="tool", content="1", tool_call_id="c1"), user("by train"), *continuation("half")]
    assert recognise(known, [user("by train")], finished=False, run_start=0) == 1


def test_who_looks_sees_one_answer() -> None:
    messages = [user("go"), *continuation("a"), *continuation("b"), said("c"), user("more"), *continuation("d"), user("well?"), said("e")]
    assert [(message.role, message.text) for message in joined(messages)] == [
        ("user", "go"),
        ("assistant", "abc"),
        ("user", "more"),
        ("assistant", "d"),
        ("user", "well?"),
        ("assistant", "e"),
    ]
    assert [step.text for step in steps_of([*messages, *continuation("f")])] == ["abc", "d", "e", "f"]
    assert count_answers(messages) == 2
