"""What a page of evals is made of, before a browser draws it."""

from __future__ import annotations

import json
from typing import Any

from lousho_cli.core.trajectory import Step, StepCall, Trajectory
from lousho_cli.evals.eval_results import CaseResult, EvalUsage, eval_run
from lousho_cli.evals.report import report_page


def data_of(case: CaseResult) -> Any:
    text = report_page(eval_run([case], selected=1, duration_s=1, mode="drift", at="2026-01-02T03:04:05.000Z"))
    return json.loads(text.partition('id="data">')[2].partition("</script>")[0])["cases"][0]


def run(result: str) -> Trajectory:
    return Trajectory((Step("", (StepCall("c", "now", "{}", result),)), Step("done", ())))


def case(**more: Any) -> CaseResult:
    return CaseResult(eval="e", case="c", result="passed", assertions=(), duration_s=1, usage=EvalUsage(), **more)


def test_times_that_a_cassette_does_not_keep_are_no_difference_between_its_sides() -> None:
    compared = data_of(case(committed=run('{"at":"<timestamp>"}'), trajectory=run('{"at":"2026-01-02T03:04:05Z"}')))["compared"]
    assert ([row["same"] for row in compared["rows"]], compared["first"]) == ([True, True], None)
    other = data_of(case(committed=run('{"at":"<timestamp>"}'), trajectory=run('{"at":"noon"}')))["compared"]
    assert (other["first"], other["rows"][0]["drifts"]) == (0, False)


def test_a_case_that_is_compared_with_nothing_has_its_run_alone() -> None:
    data = data_of(case(trajectory=run("1")))
    assert [step["text"] for step in data["trajectory"]["steps"]] == ["", "done"]
    assert "compared" not in data
    assert data["score"] is None
