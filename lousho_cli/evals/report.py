"""A run of evals as a page: each case with what was looked at, how long it took, what it cost, and what it did. Pure."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from lousho_cli.core.trajectory import Step, Trajectory
from lousho_cli.evals.eval_results import CaseResult, EvalRun
from lousho_cli.evals.normalise import normalised_text
from lousho_cli.pages.comparison import side_by_side
from lousho_cli.pages.document import page


def report_page(run: EvalRun) -> str:
    """The page of a run, as one HTML text."""
    data: dict[str, Any] = msgspec.to_builtins(run)
    data["cost_usd"] = run.cost_usd
    data["cases"] = [_case(case) for case in run.cases]
    failed = f"{run.failed} failed, " if run.failed else ""
    return page("evals", f"{failed}{run.passed} passed · lousho eval", data)


def _case(case: CaseResult) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(case)
    data["score"] = case.score
    made = case.trajectory
    if made is not None and case.committed is not None:
        data["compared"] = msgspec.to_builtins(side_by_side(case.committed.steps, _as_recorded(made), by_calls=True))
        del data["trajectory"], data["committed"]
    return data


def _as_recorded(run: Trajectory) -> tuple[Step, ...]:
    """A cassette has results as a request tells them: without times, dates and ids. So they are put beside it alike."""
    return tuple(
        Step(step.text, tuple(replace(call, result=None if call.result is None else normalised_text(call.result)) for call in step.tools))
        for step in run.steps
    )
