from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from lousho_cli.core.transcript import check, mend, repair, split_open_turn
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.domain.shared import Shared
from lousho_cli.domain.texts import NOT_RUN_TOOL_RESULT


def asked(*ids: str) -> Message:
    return Message(role="assistant", tool_calls=tuple(ToolCall(id, f"tool_{id}") for id in ids))


def got(id: str | None, content: str = "1") -> Message:
    return Message(role="tool", content=content, tool_call_id=id)


def said(text: str) -> Message:
    return Message(role="assistant", content=text)


SYSTEM = Message(role="system", content="You plan trips.")
VALID = [SYSTEM, user("go"), asked("a", "b"), got("a"), got("b"), said("done"), user("next"), asked("a"), got("a")]


def test_de_017_a_valid_transcript_has_every_result_behind_its_turn_in_call_order() -> None:
    assert check(VALID) is None
    assert check([]) is None
    assert check([said("I begin")]) is None


def test_de_017_each_way_to_break_the_pairing_is_found_where_it_is() -> None:
    broken: list[tuple[list[Message], int, str]] = [
        ([user("go"), asked("a", "b"), got("b"), got("a")], 1, "a"),
        ([user("go"), asked("a", "b"), got("a")], 1, "b"),
        ([user("go"), asked("a"), user("hurry"), got("a")], 1, "a"),
        ([user("go"), got("a")], 1, "a"),
        ([asked("a"), got("a"), got("a")], 2, "a"),
        ([asked("a"), got("a"), said("x"), got("a")], 3, "a"),
        ([asked("a", "a"), got("a"), got("a")], 0, "a"),
        ([asked("a"), got(None)], 0, "a"),
    ]
    for messages, index, call_id in broken:
        problem = check(messages)
        assert problem is not None
        assert (problem.index, problem.call_id) == (index, call_id)
        assert call_id in problem.detail


def test_a_check_begins_where_it_is_told_and_counts_from_the_front() -> None:
    messages = Shared([*VALID, asked("c")])
    assert check(messages, 7, open_tail=True) is None
    problem = check(messages, 7)
    assert problem is not None
    assert problem.index == 9
    assert check([got("a"), *VALID], 1) is None


def test_a_stored_transcript_may_end_in_an_open_turn_with_input_behind_it() -> None:
    assert check([asked("a", "b", "c"), got("a"), got("c"), user("hurry")], open_tail=True) is None
    assert check([asked("a", "b"), got("b"), got("a")], open_tail=True) is not None
    assert check([asked("a"), said("done")], open_tail=True) is not None
    assert check([asked("a"), user("x"), got("a")], open_tail=True) is not None


def test_de_028_results_out_of_order_are_put_behind_their_turn_in_call_order() -> None:
    fixed, words = repair([user("go"), asked("a", "b"), got("b", "2"), got("a", "1"), said("done")])
    assert fixed == (user("go"), asked("a", "b"), got("a", "1"), got("b", "2"), said("done"))
    assert [word.split(":")[0] for word in words] == ["message 3", "message 2"]


def test_de_029_input_between_a_turn_and_its_results_goes_behind_them() -> None:
    fixed, words = repair([asked("a", "b"), got("a"), user("hurry"), got("b")])
    assert fixed == (asked("a", "b"), got("a"), got("b"), user("hurry"))
    assert len(words) == 1


def test_a_call_without_result_gets_one_that_says_it_was_not_run() -> None:
    fixed, words = repair([asked("a", "b"), got("b"), said("done")])
    result = fixed[1]
    assert (result.role, result.tool_call_id, result.tool_name, result.is_error) == ("tool", "a", "tool_a", True)
    body = json.loads(result.text)
    assert (body["message"], body["kind"], body["toolCallId"]) == (NOT_RUN_TOOL_RESULT, "not-run", "a")
    assert fixed[2:] == (got("b"), said("done"))
    assert any("not run" in word for word in words)


def test_a_second_result_and_one_of_no_call_are_dropped_and_named() -> None:
    fixed, words = repair([asked("a"), got("a", "first"), got("a", "second"), got("z"), got(None)])
    assert fixed == (asked("a"), got("a", "first"))
    assert [word.split(":")[0] for word in words] == ["message 2", "message 3", "message 4"]


def test_a_result_stored_before_its_turn_is_kept() -> None:
    fixed, _ = repair([got("a", "early"), asked("a"), said("done")])
    assert fixed == (asked("a"), got("a", "early"), said("done"))


def test_a_call_that_repeats_an_id_of_its_turn_is_dropped() -> None:
    fixed, words = repair([asked("a", "a"), got("a"), got("a")])
    assert fixed == (asked("a"), got("a"))
    assert len(words) == 2


def test_ids_used_again_in_a_later_turn_stay_with_their_turn() -> None:
    messages = [asked("a"), got("a", "1"), asked("a"), user("x"), got("a", "2")]
    assert repair(messages)[0] == (asked("a"), got("a", "1"), asked("a"), got("a", "2"), user("x"))


def test_an_open_tail_keeps_its_calls_unanswered_and_its_results_in_order() -> None:
    messages = [asked("z"), said("hm"), asked("a", "b", "c"), user("hurry"), got("c"), got("a")]
    fixed, words = repair(messages, open_tail=True)
    assert fixed[2:] == (said("hm"), asked("a", "b", "c"), got("a"), got("c"), user("hurry"))
    assert fixed[1].tool_call_id == "z"
    assert fixed[1].is_error
    assert check(fixed, open_tail=True) is None
    assert [word.split(":")[0] for word in words] == ["message 0", "message 5"]


def test_a_valid_transcript_is_left_as_it_is() -> None:
    assert repair(VALID) == (tuple(VALID), ())


def test_a_split_takes_the_last_turn_apart() -> None:
    before, unanswered, results, held = split_open_turn([*VALID, asked("a", "b", "c"), user("hurry"), got("c"), got("a")])
    assert before == (*VALID, asked("a", "b", "c"))
    assert [call.id for call in unanswered] == ["b"]
    assert list(results) == ["a", "c"]
    assert held == (user("hurry"),)


def test_a_split_of_an_answered_turn_has_nothing_unanswered() -> None:
    split = split_open_turn([asked("a"), got("a"), user("next")])
    assert (split.unanswered, list(split.results), split.held) == ((), ["a"], (user("next"),))


def test_a_split_of_a_transcript_that_ends_in_an_answer_is_all_of_it() -> None:
    for messages in ([], [user("go")], [asked("a"), said("done"), user("next")]):
        assert split_open_turn(messages) == (tuple(messages), (), {}, ())


IDS = st.sampled_from(["a", "b", "c"])
MESSAGES = st.lists(
    st.one_of(
        st.builds(asked),
        st.lists(IDS, max_size=4).map(lambda ids: asked(*ids)),
        st.tuples(IDS | st.none() | st.just("z"), st.text(max_size=2)).map(lambda pair: got(*pair)),
        st.text(max_size=2).map(user),
        st.just(SYSTEM),
    ),
    max_size=14,
)


@given(MESSAGES, st.booleans())
def test_repair_is_total_gives_a_valid_transcript_and_is_done_at_once(messages: list[Message], open_tail: bool) -> None:
    fixed, words = repair(messages, open_tail=open_tail)
    assert check(fixed, open_tail=open_tail) is None
    assert repair(fixed, open_tail=open_tail) == (fixed, ())
    assert bool(words) == (fixed != tuple(messages))


@given(MESSAGES)
def test_a_check_finds_a_problem_exactly_where_a_repair_has_work(messages: list[Message]) -> None:
    assert (check(messages) is None) == (not repair(messages)[1])


@given(MESSAGES)
def test_a_repair_keeps_all_that_is_no_result_in_its_order(messages: list[Message]) -> None:
    def spoken(items: tuple[Message, ...] | list[Message]) -> list[tuple[str, str]]:
        return [(m.role, m.text) for m in items if m.role != "tool"]

    assert spoken(repair(messages)[0]) == spoken(messages)


@given(MESSAGES)
def test_a_split_of_a_repaired_transcript_loses_nothing(messages: list[Message]) -> None:
    fixed, _ = repair(messages, open_tail=True)
    split = split_open_turn(fixed)
    assert (*split.before, *split.results.values(), *split.held) == fixed
    assert all(call.id not in split.results for call in split.unanswered)


@given(MESSAGES)
def test_a_repair_loses_no_recorded_result_of_a_call(messages: list[Message]) -> None:
    """Each call that somebody recorded a result for behind it has one of those, and none that says it was not run."""
    fixed, _ = repair(messages)
    recorded = [message for message in messages if message.role == "tool"]
    given = [message for message in fixed if message.role == "tool" and "not-run" not in message.text]
    ids = [message.tool_call_id for message in given]
    assert all(any(message is one for one in recorded) for message in given)
    asked_for = {call.id for message in messages for call in message.tool_calls}
    assert set(ids) == {message.tool_call_id for message in recorded} & asked_for


@given(MESSAGES)
def test_mending_is_the_repair_as_a_change(messages: list[Message]) -> None:
    fixed, words = repair(messages)
    keep, add, told = mend(messages)
    assert (*messages[:keep], *add) == fixed
    assert bool(told) == bool(words)
