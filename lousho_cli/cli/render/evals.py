"""The results of an eval run as text: a table, what did not hold, what drifted, and one line that sums it up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from lousho_cli.cli.output import Output

if TYPE_CHECKING:
    from lousho_cli.core.trajectory import Step
    from lousho_cli.evals.eval_results import CaseResult, EvalRun

COLUMNS = ("EVAL", "CASE", "RESULT", "SCORE", "DURATION")
DRIFT = ("EVAL", "CASE", "FIELD", "COMMITTED", "CURRENT")
_WORDS = {"failed": "FAIL", "error": "ERROR", "skipped": "SKIPPED"}


def eval_text(out: Output, run: EvalRun) -> None:
    """All of it."""
    called = _called(run)
    if run.cases:
        out.table(COLUMNS, [_row(case, called) for case in run.cases], {"CASE": 12, "EVAL": 10})
    for case in run.cases:
        lines = list(_what_was_wrong(case))
        if lines:
            out.line()
            out.line(f"{called[case.file, case.eval]}: {case.case}", "bold")
            out.lines(lines)
    if run.mode == "drift":
        _drift(out, run, called)
    out.line()
    out.line(summary(run))


def summary(run: EvalRun) -> str:
    """One line: how many of what, how long, how much."""
    parts = [f"{run.passed} passed", f"{run.failed} failed"]
    skipped = sum(case.result == "skipped" for case in run.cases)
    if skipped:
        parts.append(f"{skipped} skipped")
    if not run.complete:
        parts.append(f"incomplete: {len(run.cases)} of {run.selected} cases")
    played = sum(case.source == "replayed" for case in run.cases)
    if played:
        parts.append(f"{played} replayed")
    recorded = sum(case.source == "recorded" for case in run.cases)
    if recorded:
        parts.append(f"{recorded} recorded")
    compared = sum(case.drift is not None for case in run.cases)
    if compared:
        parts.append(f"{compared} compared")
    told = ", ".join(parts) + f" in {run.duration_s:.3g} s"
    return told if run.cost_usd is None else f"{told}, {run.cost_usd:.4g} US dollars"


def _called(run: EvalRun) -> dict[tuple[str, str], str]:
    """What each eval is called, by its file and its name; with its file where there are several of that name."""
    evals = dict.fromkeys((case.file, case.eval) for case in run.cases)
    several = {name for name, count in Counter(name for _, name in evals).items() if count > 1}
    return {(file, name): f"{name} ({file})" if name in several else name for file, name in evals}


def _row(case: CaseResult, called: Mapping[tuple[str, str], str]) -> tuple[str, ...]:
    score = case.score if case.result in ("passed", "failed") else None
    return called[case.file, case.eval], case.case, _result(case), "-" if score is None else f"{score:.2f}", f"{case.duration_s:.3f}s"


def _result(case: CaseResult) -> str:
    if case.result == "passed":
        return "PASS (soft fail)" if case.misses else "PASS"
    return _WORDS[case.result]


def _what_was_wrong(case: CaseResult) -> Iterator[str]:
    if case.error:
        yield f"  error  {case.error}" + (f" {case.hint}" if case.hint else "")
    if case.result == "skipped":
        yield f"  -      {case.hint or 'it says that it is not to be run'}"
    for one in case.misses:
        yield f"  {'soft ' if one.soft else 'gate '}  {one.name}: {one.detail}"
    for one in case.assertions:
        if one.skipped:
            yield f"  -      {one.name}: {one.detail}"


def _drift(out: Output, run: EvalRun, called: Mapping[tuple[str, str], str]) -> None:
    out.line()
    out.line("Drift:", "bold")
    rows = [
        (called[case.file, case.eval], case.case, row.field, row.committed, row.current) for case in run.cases for row in case.drift or ()
    ]
    if not rows:
        out.line("none" if any(case.drift is not None for case in run.cases) else "nothing could be compared")
        return
    out.table(DRIFT, rows, {"COMMITTED": 16, "CURRENT": 16})
    for case in run.cases:
        if case.drift and case.parting is not None:
            out.line()
            out.line(f"{called[case.file, case.eval]}: {case.case} parts at step {case.parting.step}", "bold")
            out.line(f"  committed  {_step(case.parting.committed)}")
            out.line(f"  current    {_step(case.parting.current)}")


def _step(step: Step | None) -> str:
    if step is None:
        return "no such step"
    calls = ", ".join(f"{call.name} {call.args}" for call in step.tools)
    return " ".join(filter(None, (calls or "answers", f'"{step.text}"' if step.text else "")))
