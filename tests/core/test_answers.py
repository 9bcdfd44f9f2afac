"""A provider's answer made fit to be stored."""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lousho_cli.core.answers import answer_from, storable
from lousho_cli.domain import records as r
from lousho_cli.domain.codec import readable
from lousho_cli.domain.messages import Message, Reasoning, ToolCall
from lousho_cli.domain.usage import CallUsage
from lousho_cli.errors import ProviderError
from lousho_cli.ports.provider import Answer

DONE = Message("assistant", "done")


def calls(*ids: Any) -> Message:
    return Message("assistant", "", tuple(ToolCall(call_id, "n") for call_id in ids))


def ids_of(message: Message) -> list[str]:
    return [call.id for call in message.tool_calls]


def test_an_answer_that_is_sound_is_taken_as_it_is() -> None:
    message = Message("assistant", "é", (ToolCall("c", "n", "not JSON"),), reasoning=(Reasoning("r", "s", "x"),))
    answered = answer_from(Answer(message, "length", CallUsage(1, 2, 3, 4, 0.5), "m"))
    assert answered.message is message
    assert (answered.finish_reason, answered.usage, answered.model) == ("length", CallUsage(1, 2, 3, 4, 0.5), "m")


@pytest.mark.parametrize(("message", "reason"), [(DONE, "stop"), (calls("c"), "tool_calls")])
@pytest.mark.parametrize("given", [None, "", 5])
def test_a_missing_finish_reason_follows_from_the_calls(message: Message, reason: str, given: Any) -> None:
    assert answer_from(Answer(message, given)).finish_reason == reason


def test_a_missing_content_is_no_text() -> None:
    assert answer_from(Answer(Message("assistant", None))).message == Message("assistant", "")  # type: ignore[arg-type]
    assert answer_from(Answer(Message("assistant", None, None))).message == Message("assistant", "")  # type: ignore[arg-type]


def test_ids_are_made_text() -> None:
    assert ids_of(answer_from(Answer(calls(7, None, True, "x"))).message) == ["7", "", "", "x"]
    assert len(set(ids_of(storable(answer_from(Answer(calls(7, None, None))).message, (), 1)))) == 3


def test_arguments_that_are_no_text_become_their_json() -> None:
    message = Message("assistant", "", (ToolCall("a", "n", {"x": 1}), ToolCall("b", "n", None)))  # type: ignore[arg-type]
    assert [call.arguments for call in answer_from(Answer(message)).message.tool_calls] == ['{"x":1}', "{}"]


@pytest.mark.parametrize("count", [1.5, 2.0, "3", -1, True, 10**5000, float("nan"), None], ids=lambda count: type(count).__name__)
def test_a_number_of_tokens_that_is_none_counts_as_not_reported(count: Any) -> None:
    assert answer_from(Answer(DONE, usage=CallUsage(count, 7))).usage == CallUsage(None, 7)


@pytest.mark.parametrize(
    ("cost", "kept"),
    [
        (1, 1.0),
        (Decimal("0.5"), 0.5),
        (float("nan"), None),
        (float("inf"), None),
        (Decimal("NaN"), None),
        (-1, None),
        ("1", None),
        (True, None),
    ],
)
def test_a_cost_is_a_number_or_unknown(cost: Any, kept: float | None) -> None:
    assert answer_from(Answer(DONE, usage=CallUsage(1, 2, cost_usd=cost))).usage == CallUsage(1, 2, cost_usd=kept)


def test_a_usage_or_model_of_another_kind_is_left_out() -> None:
    answered = answer_from(Answer(DONE, usage={"input_tokens": 1}, model=5))  # type: ignore[arg-type]
    assert (answered.usage, answered.model) == (None, "")


@pytest.mark.parametrize(
    "message",
    [
        None,
        "text",
        Message("user", "x"),
        Message("assistant", 5),  # type: ignore[arg-type]
        Message("assistant", "", (ToolCall("c", None),)),  # type: ignore[arg-type]
        Message("assistant", "", ("call",)),  # type: ignore[arg-type]
        Message("assistant", "", 5),  # type: ignore[arg-type]
        Message("assistant", "x", reasoning=5),  # type: ignore[arg-type]
    ],
    ids=repr,
)
def test_a_message_that_can_not_be_used_is_a_failed_call(message: Any) -> None:
    with pytest.raises(ProviderError) as raised:
        answer_from(Answer(message))
    assert (raised.value.category, raised.value.retryable) == ("server", True)


def test_lone_surrogates_anywhere_become_the_mark_of_one() -> None:
    message = Message(
        "assistant", "t\ud800", (ToolCall("c\ud800", "n\ud800", "a\ud800"),), reasoning=(Reasoning("r\ud800", "s\ud800", "x\ud800"),)
    )
    answered = answer_from(Answer(message, "f\ud800", model="m\ud800"))
    assert answered.message == Message(
        "assistant", "t\ufffd", (ToolCall("c\ufffd", "n\ufffd", "a\ufffd"),), reasoning=(Reasoning("r\ufffd", "s\ufffd", "x\ufffd"),)
    )
    assert (answered.finish_reason, answered.model) == ("f\ufffd", "m\ufffd")


odd = st.sampled_from([None, "", "x", "\ud800", 5, 1.5, True, (), ["x"], {"a": 1}, object, float("nan"), 10**5000])
odd_messages = st.builds(
    Message,
    st.sampled_from(["assistant", "assistant", "assistant", "user", None, 5]),
    odd,
    st.none() | st.lists(st.builds(ToolCall, odd, st.just("n") | odd, odd) | odd, max_size=3).map(tuple),
    reasoning=st.just(()) | st.tuples(st.builds(Reasoning, odd, odd, odd)) | odd,
    metadata=st.none() | odd,
)


@given(st.builds(Answer, odd_messages | odd, odd, st.none() | st.builds(CallUsage, odd, odd, odd, odd, odd) | odd, odd))
def test_whatever_a_provider_gives_the_turn_is_readable_or_the_call_failed(answer: Answer) -> None:
    try:
        answered = answer_from(answer)
    except ProviderError:
        return
    message = storable(answered.message, {"x"}, 2)
    turn = r.Turn(message, answered.finish_reason, answered.model, answered.usage)
    assert readable(r.Batch(1, 1, "2026-01-01T00:00:00.000Z", (turn,)))
    assert len(set(ids_of(message))) == len(message.tool_calls)


@pytest.mark.parametrize("cost", [10**5000, -(10**5000), float("inf"), float("nan"), "1"], ids=["huge", "deep", "inf", "nan", "text"])
def test_a_cost_that_is_none_is_left_out(cost: object) -> None:
    answered = answer_from(Answer(Message("assistant", "x"), "stop", CallUsage(1, 2, cost_usd=cost)))  # type: ignore[arg-type]
    assert answered.usage is not None
    assert answered.usage.cost_usd is None


# Ids


@pytest.mark.parametrize(
    ("ids", "used", "expected"),
    [
        (["a", "b"], set(), ["a", "b"]),
        (["a", "b"], {"a"}, ["a_3", "b"]),
        (["a"], {"a", "a_3"}, ["a_3_2"]),
        (["a"], {"a", "a_3", "a_3_2"}, ["a_3_3"]),
        (["a", "a", "a"], set(), ["a", "a_3", "a_3_2"]),
        (["a", "a"], {"a"}, ["a_3", "a_3_2"]),
        (["", ""], set(), ["call_3", "call_3_2"]),
        ([""], {"call_3"}, ["call_3_2"]),
        (["a", "a_3"], {"a"}, ["a_3_2", "a_3"]),
    ],
)
def test_a_call_id_is_unique_in_the_session(ids: list[str], used: set[str], expected: list[str]) -> None:
    message = calls(*ids)
    assert ids_of(storable(message, used, 3)) == expected
    assert [call.name for call in storable(message, used, 3).tool_calls] == ["n"] * len(ids)


def test_an_answer_whose_ids_are_new_is_the_same_object() -> None:
    message = calls("a", "b")
    assert storable(message, {"c"}, 1) is message
    assert storable(DONE, {"c"}, 1) is DONE


@given(st.lists(st.lists(st.sampled_from(["", "a", "b", "a_1", "a_2", "a_2_2", "call_1", "call_2"]), max_size=4), max_size=5))
def test_no_two_calls_of_a_session_ever_share_an_id(turns: list[list[str]]) -> None:
    used: set[str] = set()
    for turn, ids in enumerate(turns, 1):
        given = ids_of(storable(calls(*ids), used, turn))
        assert all(given)
        assert len({*used, *given}) == len(used) + len(given)
        assert given == ids_of(storable(calls(*ids), used, turn))
        kept = [mine for mine, theirs in zip(given, ids, strict=True) if mine == theirs]
        fresh = [name for name, _ in itertools.groupby(sorted(ids)) if name and name not in used]
        assert sorted(kept) == fresh
        used |= set(given)


def test_a_changed_id_keeps_the_rest_of_the_call() -> None:
    message = Message("assistant", "t", (ToolCall("a", "n", '{"x":1}'),), reasoning=(Reasoning("r"),))
    assert storable(message, {"a"}, 2) == msgspec.structs.replace(message, tool_calls=(ToolCall("a_2", "n", '{"x":1}'),))
