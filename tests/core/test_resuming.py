"""outlook: what a resume would do with each call, before anything is done."""

from __future__ import annotations

from typing import Any

import pytest

from lousho_cli.core.resuming import outlook
from lousho_cli.domain.messages import ToolCall


@pytest.fixture
def cut(world: Any) -> Any:
    """A session whose owner is gone behind a turn with these calls; gives its outlook."""

    def go(*tools: str) -> Any:
        w = world()
        w.send("go")
        w.answer(*tools)
        return w

    return go


def ids(calls: tuple[ToolCall, ...]) -> list[str]:
    return [call.name for call in calls]


def test_what_a_person_must_decide_holds_up_what_stands_behind(cut: Any) -> None:
    w = cut("plain", "gated", "plain")
    found = outlook(w.session, w.agent)
    assert (ids(found.will_run), ids(found.again), ids(found.will_ask), ids(found.behind)) == (["plain"], ["plain"], ["gated"], ["plain"])
    assert found.verdict == "awaiting"


def test_a_tool_that_decides_itself_may_ask_and_so_hold_up_the_rest(cut: Any) -> None:
    w = cut("plain", "asked", "plain")
    found = outlook(w.session, w.agent)
    assert (ids(found.will_run), ids(found.may_ask), found.will_ask, found.verdict) == (["plain"], ["asked", "plain"], (), "safe")


def test_a_call_that_only_gets_its_result_is_not_said_to_run(cut: Any) -> None:
    w = cut("plain", "gated", "plain")
    w.finish("c2")
    w.decide(approved=False)
    w.finish("c4")
    assert outlook(w.session, w.agent).will_run == ()
    w = cut("gated", "unknown", "plain")
    found = outlook(w.session, w.agent)
    assert (ids(found.will_ask), ids(found.behind)) == (["gated"], ["plain"])


def test_a_call_that_was_started_and_must_not_repeat_is_in_doubt(cut: Any) -> None:
    w = cut("never", "plain")
    found = outlook(w.session, w.agent)
    assert (found.verdict, ids(found.in_doubt), ids(found.will_run)) == ("in-doubt", ["never"], ["plain"])
