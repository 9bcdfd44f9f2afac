"""The list of sessions as values: states, order, groups, filter, columns."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest

from lousho_cli.app.drivers import Driven
from lousho_cli.app.looking_on import SessionsNow
from lousho_cli.app.results import PendingItem
from lousho_cli.app.sessions import Listed, Listing
from lousho_cli.app.usage import Totals
from lousho_cli.tui.state.columns import columns_of, indented, titles
from lousho_cli.tui.state.session_rows import SIGNS, WORDS, Row, Sessions, View, lines_of, mood_of, sessions_of, summary

USED = Totals(
    input_tokens=0,
    output_tokens=0,
    total_tokens=0,
    model_calls=0,
    estimated=False,
    cost_usd=None,
    cached_input_tokens=None,
    cache_write_tokens=None,
    reasoning_tokens=None,
)
WAIT = PendingItem(
    id="7f3a9c1e2b4d", session="s", tool="book", args={}, digest="d", created_at="2026-01-01T00:00:00.000Z", kind="tool", path=()
)


def listed(id: str = "s", status: Any = "in-progress", **more: Any) -> Listed:
    given = {"agent": "trip", "attempts": 1, "step": 1, "updated_at": "2026-01-01T00:00:00.000Z", "messages": 2, "usage": USED} | more
    return Listed(id=id, status=status, **given)


def ids(sessions: Sessions, **view: Any) -> list[str]:
    return [line.row.id if line.row else line.heading for line in lines_of(sessions, View(**view))]


@pytest.mark.parametrize(
    ("session", "driven", "mood"),
    [
        (listed(), True, "runs"),
        (listed(), False, "stopped"),
        (listed(status="awaiting-approval", waits_for=WAIT), False, "waits"),
        (listed(waits_for=WAIT), True, "waits"),
        (listed(status="finished", outcome="completed"), False, "done"),
        (listed(outcome="failed", error="no model"), False, "failed"),
        (listed(outcome="aborted"), False, "aborted"),
        (listed(cleared=True), False, "cleared"),
    ],
)
def test_the_state_of_a_session_in_a_word(session: Listed, driven: bool, mood: str) -> None:
    assert mood_of(session, driven=driven) == mood


def test_each_state_has_its_own_sign_and_words() -> None:
    assert len(set(SIGNS.values())) == len(SIGNS) == len(set(WORDS.values()))


def test_a_row_says_what_it_waits_for_and_why_it_failed() -> None:
    found = sessions_of(SessionsNow(Listing((listed("a", waits_for=WAIT), listed("b", outcome="failed", error="no model")))))
    assert [row.note for row in found.rows] == ["approve book", "no model"]


def test_damaged_ones_stand_first_and_say_what_is_wrong() -> None:
    found = sessions_of(SessionsNow(Listing((listed("a"),), 1, (("broken", "records 3 to 4 are missing"),))))
    assert [(row.id, row.mood, row.note) for row in found.rows][0] == ("broken", "damaged", "records 3 to 4 are missing")


def test_a_row_that_has_not_changed_is_kept() -> None:
    session = listed("a")
    before = sessions_of(SessionsNow(Listing((session,))))
    again = sessions_of(SessionsNow(Listing((session, listed("b")))), {row.id: row for row in before.rows})
    assert again.rows[0] is before.rows[0]
    driven = sessions_of(SessionsNow(Listing((session,)), Driven({"a": "here, pid 1"})), {row.id: row for row in before.rows})
    assert driven.rows[0].mood == "runs"
    unasked = sessions_of(SessionsNow(Listing((session,)), Driven(unasked=frozenset("a"))), {row.id: row for row in before.rows})
    assert (unasked.rows[0].mood, unasked.rows[0].note) == ("unasked", "not looked at yet")


FEW = Sessions(
    tuple(
        sessions_of(
            SessionsNow(
                Listing(
                    (
                        listed("c.fork-1", agent="beta", parent="c", step=9),
                        listed("b", agent="alpha", status="finished", outcome="completed"),
                        listed("c.fork-1.fork-1", agent="beta", parent="c.fork-1"),
                        listed("c", agent="beta", waits_for=WAIT),
                        listed("a", agent="alpha", parent="gone"),
                    )
                )
            )
        ).rows
    )
)


def test_every_word_of_the_filter_must_be_there() -> None:
    assert ids(FEW, words="beta") == ["c.fork-1", "c.fork-1.fork-1", "c"]
    assert ids(FEW, words="FORK beta") == ["c.fork-1", "c.fork-1.fork-1"]
    assert ids(FEW, words="waits") == ["c"]
    assert ids(FEW, words="7f3a") == ["c"]
    assert ids(FEW, words="nothing") == []


def test_sorting() -> None:
    assert ids(FEW) == ["c.fork-1", "b", "c.fork-1.fork-1", "c", "a"]
    assert ids(FEW, sort="id") == ["a", "b", "c", "c.fork-1", "c.fork-1.fork-1"]
    assert ids(FEW, sort="agent")[:2] == ["b", "a"]
    assert ids(FEW, sort="state") == ["c", "c.fork-1", "c.fork-1.fork-1", "a", "b"]
    assert ids(FEW, sort="step")[0] == "c.fork-1"


def test_grouping_by_agent() -> None:
    assert ids(FEW, group="agent") == ["beta (3)", "c.fork-1", "c.fork-1.fork-1", "c", "alpha (2)", "b", "a"]


def test_grouping_by_family_puts_forks_below_what_they_came_from() -> None:
    lines = lines_of(FEW, View(group="family"))
    assert [(line.row.id, line.depth) for line in lines if line.row] == [
        ("c", 0),
        ("c.fork-1", 1),
        ("c.fork-1.fork-1", 2),
        ("b", 0),
        ("a", 0),
    ]
    assert indented(lines[2].row, 2) == "  └ c.fork-1.fork-1"  # type: ignore[arg-type]


def test_a_family_that_goes_in_a_circle_is_still_listed_once() -> None:
    circle = Sessions((Row("a", "done", parent="b"), Row("b", "done", parent="a"), Row("c", "done", parent="c")))
    assert sorted(ids(circle, group="family")) == ["a", "b", "c"]


@pytest.mark.parametrize("width", [20, 33, 34, 54, 63, 64, 78, 200])
def test_the_columns_fill_the_width_and_no_more(width: int) -> None:
    columns = columns_of(lines_of(FEW, View()), width)
    gaps = (columns.agent > 0) + (columns.note > 0)
    assert 2 + columns.id + columns.agent + columns.note + gaps + columns.step + columns.age <= width
    assert len(titles(columns)) <= width
    assert (columns.agent > 0) == (width >= 64)


def test_the_summary_counts_what_matters_now() -> None:
    assert summary(FEW) == "5 sessions  ? 1 waiting  ‖ 3 unfinished"
    assert summary(Sessions((Row("a", "done"),), left=7)) == "8 sessions  reading …"


def test_ten_thousand_rows_are_filtered_at_once() -> None:
    rows = tuple(msgspec.structs.replace(FEW.rows[n % 5], id=f"s{n}", found=f"s{n} {n % 7}") for n in range(10_000))
    began = time.process_time()
    assert len(lines_of(Sessions(rows), View(words="s99 3", group="agent"))) > 1
    assert time.process_time() - began < 1
