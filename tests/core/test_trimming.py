"""A trimmed log gives the same session, wherever it is cut, and goes on like the whole one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lousho_cli.core.addresses import find_mark, parse_address
from lousho_cli.core.fold import fold
from lousho_cli.core.heads import advance_all, head_of
from lousho_cli.core.trimming import base_batch, old_marks, require_base, trimmed_state
from lousho_cli.domain import records as r
from lousho_cli.domain.codec import decode_line, encode_line
from lousho_cli.domain.heads import Head
from lousho_cli.domain.messages import Message, user
from lousho_cli.domain.session import Session
from lousho_cli.errors import NotFoundError, StorageError

scripts = st.lists(st.integers(0, 400), max_size=40)


def through_a_line(batch: r.Batch) -> r.Batch:
    read = decode_line(encode_line(batch)[:-1])
    assert read is not None
    return read


@given(scripts, st.integers(0, 200), st.sampled_from([0, 1, 3, 50]))
@settings(max_examples=150)
def test_a_log_trimmed_anywhere_folds_and_lists_as_before(world: Any, script: Any, cut: int, limit: int) -> None:
    log = world(limit=limit).play(script).log
    if not log:
        return
    cut = cut % len(log) + 1
    before = fold(log[:cut])
    base = through_a_line(base_batch(trimmed_state(before), before.epoch, "here"))
    assert base.seq == log[cut - 1].seq
    assert fold([base]) == before
    assert fold([base, *log[cut:]]) == fold(log)
    assert fold(log[cut:], fold([base])) == fold(log)
    assert advance_all(Head(), [base]) == head_of(before)


@given(scripts)
@settings(max_examples=40)
def test_trimming_twice_is_trimming_once(world: Any, script: Any) -> None:
    session = world().play(script).session
    once = trimmed_state(session)
    assert trimmed_state(fold([base_batch(once, session.epoch, None)])) == once


@pytest.fixture
def session() -> Session:
    """Five marks, a day apart; the first two of one step."""
    begin = (r.InputReceived("i", (user("go"),)), r.RunStarted("i"), r.InputApplied("i"))
    steps = (1, 1, 2, 3, 4)
    turns = [
        r.Batch(n + 1, 1, f"2026-01-0{n}T00:00:00.000Z", (r.Turn(Message("assistant", f"{n}")), r.Mark(step)))
        for n, step in enumerate(steps, 1)
    ]
    return fold([r.Batch(1, 1, "2026-01-01T00:00:00.000Z", begin), *turns])


def test_old_marks_go_and_numbers_stay(session: Session) -> None:
    since = "2026-01-03T00:00:00.000Z"
    assert old_marks(session, since) == 2
    kept = fold([base_batch(trimmed_state(session, since), 2, "here")])
    assert [mark.address for mark in kept.marks] == ["1/2.1", "1/3.1", "1/4.1"]
    assert kept.latest == session.latest
    assert kept.last_mark == session.last_mark
    assert (kept.epoch, kept.seq, kept.updated_at) == (2, session.seq, session.updated_at)
    assert find_mark("trip", kept, parse_address("trip@3")).messages == find_mark("trip", session, parse_address("trip@3")).messages
    with pytest.raises(NotFoundError) as caught:
        find_mark("trip", kept, parse_address("trip@1"))
    assert caught.value.kept == ("2", "3", "4")
    later = fold([r.Batch(7, 2, "2026-01-09T00:00:00.000Z", (r.Mark(4),))], kept)
    assert [mark.address for mark in later.marks][-2:] == ["1/4.1", "1/4.2"]


def test_the_newest_mark_stays_however_old(session: Session) -> None:
    kept = fold([base_batch(trimmed_state(session, "2030-01-01T00:00:00.000Z"), 2, "here")])
    assert [mark.address for mark in kept.marks] == ["1/4.1"]
    assert old_marks(session, "2030-01-01T00:00:00.000Z") == 4
    assert old_marks(Session(), "2030-01-01T00:00:00.000Z") == 0


def test_no_base_is_named(session: Session) -> None:
    base = base_batch(trimmed_state(session), 3, None)
    require_base("trip", base, 6, 3)
    require_base("trip", base, 5, 3)
    for head, epoch in ((4, 3), (7, 3), (6, 2)):
        with pytest.raises(StorageError, match="no base for the log of session trip"):
            require_base("trip", base, head, epoch)
    with pytest.raises(StorageError, match="no log to trim"):
        require_base("trip", base, 0, 3)
    with pytest.raises(StorageError, match="no base"):
        require_base("trip", r.Batch(6, 3, "", (r.Cleared(),)), 6, 3)
