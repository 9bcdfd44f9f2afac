from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lousho_cli.core.recognise import digest_input, recognise, same_input
from lousho_cli.domain.messages import ImagePart, Message, TextPart, ToolCall, user, without_system
from lousho_cli.domain.shared import Shared


def said(text: str) -> Message:
    return Message(role="assistant", content=text)


def asked(*ids: str) -> Message:
    return Message(role="assistant", tool_calls=tuple(ToolCall(id, "weather") for id in ids))


def got(id: str, content: str = "1") -> Message:
    return Message(role="tool", content=content, tool_call_id=id)


def added(known: list[Message], incoming: list[Message], *, finished: bool = False, run_start: int = 0) -> list[Message]:
    return incoming[recognise(known, incoming, finished=finished, run_start=run_start) :]


FIRST = [user("hi"), said("hello")]
CUT = [*FIRST, user("Plan a trip"), asked("a", "b"), got("a")]  # the second run, unfinished
"""run_start 2"""
QUEUED = [*CUT, user("and a hotel")]


def test_de_019_the_starting_message_sent_again_adds_nothing() -> None:
    assert added([user("go"), asked("a")], [user("go")]) == []
    assert added(CUT, [user("Plan a trip")], run_start=2) == []


def test_de_020_no_input_adds_nothing() -> None:
    for finished in (True, False):
        assert added(CUT, [], finished=finished, run_start=2) == []
        assert added([], [], finished=finished) == []


def test_de_025_a_lagging_history_and_one_new_message_adds_only_the_new_one() -> None:
    new = user("hurry")
    assert added([user("hi"), asked("a"), got("a")], [user("hi"), new]) == [new]
    assert added(CUT, [*CUT[:3], new], run_start=2) == [new]
    assert added(CUT, [*CUT, new], run_start=2) == [new]
    assert added(CUT, CUT[:4], run_start=2) == []


def test_de_026_the_message_that_started_the_turn_is_found_behind_input_that_waits() -> None:
    assert added(QUEUED, [user("Plan a trip")], run_start=2) == []


def test_input_that_waits_is_recognised_when_it_is_sent_again() -> None:
    assert added(QUEUED, [user("and a hotel")], run_start=2) == []
    assert added([*QUEUED, user("near the sea")], [user("and a hotel"), user("near the sea")], run_start=2) == []


def test_a_redirected_run_recognises_its_newest_message_after_it_was_taken_in() -> None:
    known = [*CUT, got("b"), user("and a hotel"), asked("c")]
    assert added(known, [user("and a hotel")], run_start=2) == []
    assert added(known, [user("Plan a trip")], run_start=2) == []
    assert added(known, [user("and a car")], run_start=2) == [user("and a car")]


def test_de_027_other_input_is_new() -> None:
    assert added(CUT, [user("something else")], run_start=2) == [user("something else")]
    assert added([user("go"), asked("a")], [user("stop")]) == [user("stop")]


def test_the_first_message_of_the_session_is_new_in_a_later_run() -> None:
    assert added(CUT, [user("hi")], run_start=2) == [user("hi")]


def test_the_same_text_in_every_run_is_still_a_retry_of_the_newest() -> None:
    assert added([*FIRST, user("hi"), asked("a")], [user("hi")], run_start=2) == []


def test_a_prefix_that_ends_before_the_starting_message_is_new() -> None:
    assert added(CUT, FIRST, run_start=2) == FIRST
    assert added(CUT, [*FIRST, user("new")], run_start=2) == [*FIRST, user("new")]


def test_a_retry_and_more_talk_adds_the_talk() -> None:
    assert added(CUT, [user("Plan a trip"), user("soon")], run_start=2) == [user("soon")]


def test_a_history_of_its_own_that_only_begins_like_the_retry_is_new() -> None:
    other = [user("Plan a trip"), said("Where to?"), user("Rome")]
    assert added(CUT, other, run_start=2) == other


def test_a_lagging_copy_of_this_run_alone_adds_what_follows() -> None:
    assert added(CUT, [*CUT[2:], user("soon")], run_start=2) == [user("soon")]


def test_an_input_of_two_messages_is_one_retry_wherever_run_start_points() -> None:
    known = [*FIRST, user("one"), user("two"), asked("a")]
    for run_start in (2, 3):
        assert added(known, [user("one"), user("two")], run_start=run_start) == []
        assert added(known, [user("two")], run_start=run_start) == []


def test_a_run_without_input_of_its_own_has_nothing_to_retry() -> None:
    assert added(FIRST, [user("x")], run_start=2) == [user("x")]
    known = [*FIRST, said("and more"), asked("a")]
    assert added(known, [user("hi")], run_start=2) == [user("hi")]


def test_a_run_whose_first_record_is_all_there_is_recognises_its_input() -> None:
    assert added([user("go")], [user("go")]) == []


def test_de_033_new_input_on_a_finished_session_is_a_new_turn() -> None:
    assert added(FIRST, [user("next")], finished=True) == [user("next")]


def test_de_035_the_whole_history_and_a_new_message_adds_the_new_one() -> None:
    assert added(FIRST, [*FIRST, user("next")], finished=True) == [user("next")]
    assert added(FIRST, FIRST, finished=True) == []


def test_de_036_an_old_text_on_a_finished_session_is_a_new_turn() -> None:
    assert added(FIRST, [user("hi")], finished=True) == [user("hi")]
    assert added([*FIRST, *FIRST], FIRST, finished=True) == FIRST


def test_de_037_system_messages_are_dropped_before_anything_is_compared() -> None:
    system = Message(role="system", content="You plan trips.")
    known, incoming = (list(without_system(messages)) for messages in ([system, *FIRST], [*FIRST, system, user("next")]))
    assert added(known, incoming, finished=True) == [user("next")]


def test_equal_is_role_content_and_call_id_and_nothing_else() -> None:
    assert same_input(asked("a"), said(""))
    assert same_input(user("hi"), Message(role="user", content="hi", metadata={"at": 1}))
    assert same_input(user("hi"), Message(role="user", content=(TextPart("hi"),)))
    assert not same_input(user("hi"), said("hi"))
    assert not same_input(got("a"), got("b"))
    assert not same_input(user("hi"), Message(role="user", content=(TextPart("hi"), ImagePart("x.png"))))


def test_a_shared_list_works_as_known() -> None:
    known: Shared[Message] = Shared(QUEUED)
    assert recognise(known, [user("Plan a trip")], finished=False, run_start=2) == 1


def test_the_digest_of_an_input_is_that_of_what_it_says() -> None:
    base = digest_input([user("hi")])
    assert len(base) == 16
    assert int(base, 16) >= 0
    assert digest_input([Message(role="user", content=(TextPart("hi"),), metadata={"x": 1})]) == base
    assert digest_input([Message(role="system", content="You plan trips."), user("hi")]) == base
    others = [[user("ho")], [user("hi"), user("hi")], [said("hi")], [], [got("a", "hi")], [user("hi\ud800")], [asked("a")], [asked("b")]]
    digests = [base, *map(digest_input, others)]
    assert len(set(digests)) == len(digests)


MESSAGES = st.lists(st.sampled_from([user("a"), user("b"), said("a"), asked("x"), got("x")]), max_size=6)


@given(MESSAGES, MESSAGES, st.booleans(), st.integers(0, 7))
def test_what_is_skipped_stands_in_known_in_one_piece(
    known: list[Message], incoming: list[Message], finished: bool, run_start: int
) -> None:
    skip = recognise(known, incoming, finished=finished, run_start=run_start)
    assert 0 <= skip <= len(incoming)
    pieces = [known[at : at + skip] for at in range(len(known) + 1)]
    assert any(len(piece) == skip and all(map(same_input, piece, incoming)) for piece in pieces)


@given(MESSAGES, MESSAGES, st.booleans(), st.integers(0, 7))
def test_a_whole_history_adds_exactly_what_follows(known: list[Message], more: list[Message], finished: bool, run_start: int) -> None:
    assert recognise(known, [*known, *more], finished=finished, run_start=run_start) == len(known)
