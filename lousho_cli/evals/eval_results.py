"""What an eval run gives: frozen values that the command's JSON, its tables, JUnit and the page are made of. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from lousho_cli.core.trajectory import Trajectory
from lousho_cli.evals.drift import DriftRow, Parting

Result = Literal["passed", "failed", "error", "skipped"]
"""``failed``: a gate did not hold. ``error``: the case could not be run to its end. ``skipped``: it says itself not to run it."""

Source = Literal["model", "replayed", "recorded"]
"""Who answered: the provider itself, a cassette, or the provider while a cassette was made."""


class Assertion(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One thing that was looked at.

    soft: a miss is told, and fails nothing. skipped: it was not looked at; ``passed`` says nothing then.
    detail: why it did not hold, or what was found. score: from 0 to 1.
    """

    name: str
    passed: bool
    score: float
    soft: bool = False
    skipped: bool = False
    detail: str = ""


class EvalUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What a case used, sub-agents included; of a case that replays, what it used when it was recorded. None is not known."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    model_calls: int = 0
    cost_usd: float | None = None
    estimated: bool = False


class CaseResult(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What became of one case.

    eval, case: their names; file: where it is written, from the working folder, with ``/``.
    error: why it could not be run to its end, '' where it was. hint: what to do about it, or why it was skipped.
    drift: how the run of now differs from the committed cassette; None where that was not asked.
    parting: the first step that parts. trajectory: what the model did now; committed: and when the cassette was made.
    reply: the model's last text. cassette: the file that was played or made, as ``file``.
    """

    eval: str
    case: str
    result: Result
    assertions: tuple[Assertion, ...]
    duration_s: float
    usage: EvalUsage
    file: str = ""
    tags: tuple[str, ...] = ()
    error: str = ""
    hint: str = ""
    drift: tuple[DriftRow, ...] | None = None
    parting: Parting | None = None
    trajectory: Trajectory | None = None
    committed: Trajectory | None = None
    reply: str = ""
    source: Source = "model"
    cassette: str = ""

    @property
    def score(self) -> float | None:
        """The mean of the scores, None where nothing was looked at."""
        scores = [one.score for one in self.assertions if not one.skipped]
        return sum(scores) / len(scores) if scores else None

    @property
    def misses(self) -> tuple[Assertion, ...]:
        """What did not hold, gates first."""
        missed = [one for one in self.assertions if not one.passed and not one.skipped]
        return tuple(sorted(missed, key=lambda one: one.soft))


class EvalRun(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Every case of one ``lousho eval``, in the order they are written.

    passed, failed: how many; failed counts what could not be run, too.
    complete: whether every case was run; not where the run was cut. selected: how many there were to run.
    at: when it began, UTC, ISO 8601. mode: ``auto``, ``record``, ``replay`` or ``drift``. signal: the number of the one that cut it.
    """

    cases: tuple[CaseResult, ...]
    passed: int
    failed: int
    duration_s: float
    selected: int
    mode: str = "auto"
    at: str = ""
    complete: bool = True
    signal: int | None = None

    @property
    def cost_usd(self) -> float | None:
        """What the cases cost together, None where no price is known."""
        known = [case.usage.cost_usd for case in self.cases if case.usage.cost_usd is not None]
        return sum(known) if known else None


def eval_run(cases: Iterable[CaseResult], *, selected: int, duration_s: float, mode: str, at: str) -> EvalRun:
    """A run made of its cases.

    Args:
        selected: how many cases were to be run.
    """
    done = tuple(cases)
    failed = sum(case.result in ("failed", "error") for case in done)
    passed = sum(case.result == "passed" for case in done)
    return EvalRun(
        cases=done, passed=passed, failed=failed, duration_s=duration_s, selected=selected, mode=mode, at=at, complete=len(done) >= selected
    )
