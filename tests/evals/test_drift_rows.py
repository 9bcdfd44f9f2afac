"""How two recordings of a case differ: the rows of ``--drift``, the first step that parts, and the arguments that do not count."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lousho_cli.core.compare import compare_trajectories
from lousho_cli.core.trajectory import Step, StepCall, Trajectory
from lousho_cli.errors import ConfigurationError
from lousho_cli.evals.cassette_file import (
    CassetteFile,
    Entry,
    Failure,
    Request,
    RequestCall,
    RequestMessage,
    Response,
    ResponseCall,
    Usage,
)
from lousho_cli.evals.drift import DriftRow, drift_rows, first_parting
from lousho_cli.evals.given_results import GivenResult, GivenResults
from lousho_cli.evals.trajectory import cassette_trajectory, trajectory_matches


def run(*calls: tuple[str, Any], text: str = "", reason: str = "stop", tokens: int | None = 10) -> Trajectory:
    """One call a step, and an answer."""
    made = [Step(text, (StepCall(f"c{n}", name, json.dumps(args), "1"),)) for n, (name, args) in enumerate(calls)]
    return Trajectory((*made, Step(text or "done", ())), reason, tokens)


WEATHER, BOOK = ("weather", {"city": "Lisbon"}), ("book", {"seats": 2})


def test_what_was_done_alike_does_not_drift_whatever_was_said() -> None:
    assert drift_rows(run(WEATHER), run(WEATHER, text="Other words.")) == ()
    assert first_parting(run(WEATHER), run(WEATHER, text="Other words.")) is None
    assert drift_rows(None, None) == ()


def test_de_116_tokens_drift_only_where_they_are_asked_for() -> None:
    assert drift_rows(run(WEATHER), run(WEATHER, tokens=12)) == ()
    assert drift_rows(run(WEATHER), run(WEATHER, tokens=12), usage=True) == (DriftRow("tokens", "10", "12"),)
    assert drift_rows(run(WEATHER), run(WEATHER, tokens=None), usage=True) == (DriftRow("tokens", "10", "-"),)


def test_de_179_a_drift_has_the_rows_that_a_comparison_of_sessions_has() -> None:
    pairs = [(run(WEATHER), run(("weather", {"city": "Porto"}))), (run(WEATHER, BOOK), run(BOOK, reason="max-steps")), (run(), run(BOOK))]
    for committed, current in pairs:
        assert drift_rows(committed, current) == compare_trajectories(committed, current).drift != ()


def test_a_changed_argument_is_one_row_and_the_step_that_parts_has_both_sides() -> None:
    committed, current = run(WEATHER, BOOK), run(WEATHER, ("book", {"seats": 3}), text="Other words.")
    assert drift_rows(committed, current) == (DriftRow("args", 'book {"seats": 2}', 'book {"seats": 3}'),)
    parting = first_parting(committed, current)
    assert parting is not None
    assert (parting.step, parting.committed, parting.current) == (2, committed.steps[1], current.steps[1])
    assert parting.why == ("step 2, book, args, seats: 2 -> 3",)


def test_a_step_that_one_side_has_not_parts_too() -> None:
    parting = first_parting(run(WEATHER, BOOK), run(WEATHER))
    assert parting is not None
    assert (parting.step, [call.name for call in parting.committed.tools], parting.current.tools) == (2, ["book"], ())  # type: ignore[union-attr]
    longer = first_parting(Trajectory(run(WEATHER).steps[:1]), run(WEATHER))
    assert longer is not None
    assert (longer.step, longer.committed) == (2, None)


def test_a_side_that_was_not_recorded_is_one_row() -> None:
    assert drift_rows(None, run(WEATHER)) == (DriftRow("cassette", "missing", "recorded"),)
    assert drift_rows(run(WEATHER), None) == (DriftRow("cassette", "present", "not recorded"),)
    assert first_parting(None, run(WEATHER)) is None


def test_case_086_an_argument_that_is_ignored_does_not_drift_and_else_its_path_is_named() -> None:
    committed, current = (run(("search", {"q": "sea", "filter": {"since": since}})) for since in ("09:00", "09:05"))
    for ignore in ("filter.since", "search:filter.since", "filter"):
        assert drift_rows(committed, current, ignore=[ignore]) == ()
        assert first_parting(committed, current, ignore=[ignore]) is None
    assert [row.field for row in drift_rows(committed, current, ignore=["since", "weather:filter.since"])] == ["args"]
    parting = first_parting(committed, current)
    assert parting is not None
    assert parting.why == ('step 1, search, args, filter.since: "09:00" -> "09:05"',)


def entry(
    *before: RequestMessage, text: str = "", calls: Any = (), reason: str = "stop", usage: Usage | None = None, lane: int = 0
) -> Entry:
    made = tuple(ResponseCall(f"c{n}", name, args) for n, (name, args) in enumerate(calls))
    return Entry("stream", Request("m", before), Response(text, reason, usage, made), lane=lane)


ASKED = RequestMessage("user", "Plan")
TWO = RequestMessage("assistant", "Let me.", tool_calls=(RequestCall("weather", '{"city":"Lisbon"}'), RequestCall("book", "{}")))
RESULTS = (RequestMessage("tool", '{"sun":1}'), RequestMessage("tool", "2"))


def test_the_trajectory_of_a_cassette_has_its_calls_their_results_and_how_it_ended() -> None:
    first = entry(
        ASKED, text="Let me.", calls=[("weather", '{"city": "Lisbon"}'), ("book", {})], reason="tool_calls", usage=Usage(total_tokens=30)
    )
    beside = entry(RequestMessage("user", "Look"), text="Quiet.", lane=1)
    last = entry(ASKED, TWO, *RESULTS, text="Sunny.", usage=Usage(input_tokens=5, output_tokens=2))
    made = cassette_trajectory(CassetteFile(1, (first, beside, last)))
    assert made is not None
    assert made.steps[0] == Step(
        "Let me.", (StepCall("c0", "weather", '{"city":"Lisbon"}', '{"sun":1}'), StepCall("c1", "book", "{}", "2"))
    )
    assert [step.text for step in made.steps[1:]] == ["Quiet.", "Sunny."]
    assert (made.finish_reason, made.total_tokens) == ("stop", 37)


def test_a_call_that_failed_is_no_step_and_gives_the_finish_reason() -> None:
    failed = Entry("stream", Request("m", (ASKED,)), error=Failure("RateLimited", "too many"))
    made = cassette_trajectory(CassetteFile(1, (entry(ASKED, text="Hello."), failed)))
    assert made is not None
    assert (len(made.steps), made.finish_reason, made.total_tokens) == (1, "RateLimited", None)
    assert cassette_trajectory(CassetteFile(1, ())) is None
    assert cassette_trajectory(None) is None


@pytest.mark.parametrize(("mode", "passes"), [("strict", False), ("unordered", False), ("subset", False), ("superset", True)])
def test_calls_that_were_written_down_are_matched_as_sessions_are(mode: Any, passes: bool) -> None:
    made = [StepCall("1", "book", '{"seats":2}'), StepCall("2", "weather", '{"city":"Lisbon"}')]
    assert trajectory_matches([{"name": "weather", "args": {"city": "Lisbon"}}], made, mode) == passes
    assert trajectory_matches([{"name": "book", "args": '{"seats": 2.0}'}, {"name": "weather", "args": {"city": "Lisbon"}}], made, "strict")
    with pytest.raises(ConfigurationError):
        trajectory_matches([], made, "fuzzy")  # type: ignore[arg-type]


class Asked:
    def __init__(self, tool_name: str, args: Any) -> None:
        self.tool_name, self.args = tool_name, args


def test_a_result_that_stands_in_the_case_goes_to_the_call_it_was_written_for() -> None:
    hook = GivenResults([GivenResult("t", "any"), GivenResult("t", "first", {"q": 1}), GivenResult("t", "second", {"q": 1})])
    given = [hook.pre_tool(Asked("t", args)) for args in ({"q": 1}, {"q": 1}, {"q": 1}, {"q": 2}, {"q": 1})]
    assert given == [{"result": "first"}, {"result": "second"}, {"result": "any"}, {"result": "any"}, {"result": "second"}]


def test_a_tool_without_results_runs_and_one_without_a_fitting_one_does_not() -> None:
    hook = GivenResults([GivenResult("t", 1, {"q": 1})])
    assert hook.pre_tool(Asked("other", {})) is None
    assert hook.pre_tool(Asked("t", {"q": 2})) == {"deny": "the case has no result for these arguments"}
    assert hook.pre_tool(Asked("t", {"q": 1.0, "page": 2})) == {"result": 1}
