"""Runs one case after the other: who answers, what is recorded, and what became of it.

Each case has a session of its own in memory. One event loop and one set of agents serve all of them.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import shlex
import time
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lousho_cli.app.eval_agents import EvalAgents, asks_nobody, on_tape
from lousho_cli.app.eval_faults import assertion_of, error_of
from lousho_cli.app.eval_plans import EvalOptions, Planned, Way, way_of
from lousho_cli.app.eval_talk import AgentTalk
from lousho_cli.app.preparing import Prepared
from lousho_cli.errors import CassetteMismatchError
from lousho_cli.evals.cassette_file import check_folder, read_cassette, write_cassette
from lousho_cli.evals.context import EvalContext
from lousho_cli.evals.definition import Eval
from lousho_cli.evals.drift import drift_rows, first_parting
from lousho_cli.evals.eval_results import Assertion, CaseResult, EvalUsage, Source
from lousho_cli.evals.judging import without_judge
from lousho_cli.evals.redact import Redact, redactor
from lousho_cli.evals.tape import Tape
from lousho_cli.evals.trajectory import cassette_trajectory


class EvalRunner:
    """Runs cases, one at a time. To be closed."""

    def __init__(self, options: EvalOptions) -> None:
        self.options = options
        self._agents = EvalAgents()
        self._runner = asyncio.Runner()
        self._clean: Redact | None = None

    def run(self, planned: Planned) -> CaseResult:
        """Runs one case to its end. What goes wrong in it is a result.

        Raises:
            KeyboardInterrupt: somebody stopped it.
        """
        if self._clean is None:
            self._clean = redactor(None, os.environ)
        # Not the runner's own ``run``: it takes and gives back the signal of Ctrl-C each time, and that one raises here as it is.
        return self._runner.get_loop().run_until_complete(_Running(self.options, self._agents, planned, self._clean).run())

    def check(self, one: Eval, path: Path) -> None:
        """Looks at the agent and the judge of an eval, before anything is run.

        Raises:
            ConfigurationError: one of them is not there, or is not valid.
        """
        self._agents.file_of(one.agent, path)
        if one.judge is not None:
            self._agents.judge_of(one.judge, path)

    def close(self) -> None:
        """Leaves every model that was asked."""
        try:
            self._runner.run(self._agents.close())
        finally:
            self._runner.close()


class _Running:
    """One case while it runs. ``clean``: what takes secrets out of what is compared with a cassette, made once for all cases."""

    def __init__(self, options: EvalOptions, agents: EvalAgents, planned: Planned, clean: Redact) -> None:
        self._options, self._agents, self._planned, self._clean = options, agents, planned, clean
        self._source: Source = "model"
        self._more: dict[str, Any] = {}
        self._context: EvalContext | None = None

    async def run(self) -> CaseResult:
        began = time.perf_counter()
        fault: dict[str, Any] = {}
        added: list[Assertion] = []
        try:
            async with AsyncExitStack() as stack:
                file = self._agents.file_of(self._planned.eval.agent, self._planned.path)
                await self._answer(await stack.enter_async_context(self._agents.ready(file)), added)
        except CassetteMismatchError as error:
            added.append(Assertion(name="replay", passed=False, score=0, detail=f"{error.detail}. {self._record_hint}"))
        except AssertionError as error:
            added.append(assertion_of(error, self._planned.path))
        except Exception as error:  # noqa: BLE001 - a case is anybody's code; whatever it does is its result
            fault = error_of(error, self._planned.path)
        return self._result(round(time.perf_counter() - began, 6), added, fault)

    async def _answer(self, prepared: Prepared, added: list[Assertion]) -> None:
        path = self._planned.cassette
        way = way_of(self._options, recorded=path.exists(), scripted=asks_nobody(prepared))
        if way == "missing":
            added.append(Assertion(name="cassette", passed=False, score=0, detail=f"there is none. {self._record_hint}"))
        elif way == "model":
            await self._talk(prepared, None)
        elif way == "replay":
            self._source, self._more["cassette"] = "replayed", self._planned.cassette_shown
            tape = Tape(path, "replay", clean=self._clean)
            await self._talk(on_tape(prepared, tape), tape)
        else:
            with TemporaryDirectory(prefix="lousho-eval-") as folder:
                await self._record(prepared, Path(folder) / path.name, way, added)

    async def _record(self, prepared: Prepared, aside: Path, way: Way, added: list[Assertion]) -> None:
        """The cassette comes into its place whole, once the case has ended; a run that failed leaves what was there."""
        path = self._planned.cassette
        if way == "record":
            check_folder(path)  # before a model is asked and paid
        tape, missed = Tape(aside, "record"), None
        try:
            await self._talk(on_tape(prepared, tape), tape)
        except AssertionError as error:  # what does not hold was said all the same
            missed = error
        finally:
            for folder in (path.parent, path.parent.parent):
                with suppress(OSError):  # something is in it
                    folder.rmdir()
        made = read_cassette(aside)
        if way == "drift":
            self._compare(path, aside, added)
        elif made is not None:
            check_folder(path)
            write_cassette(path, made)
            self._source, self._more["cassette"] = "recorded", self._planned.cassette_shown
        if missed is not None:
            raise missed

    def _compare(self, path: Path, aside: Path, added: list[Assertion]) -> None:
        committed, current = (cassette_trajectory(without_judge(read_cassette(file))) for file in (path, aside))
        ignore = (*self._planned.eval.ignore, *self._planned.case.ignore)
        rows = drift_rows(committed, current, usage=self._options.usage, ignore=ignore)
        self._more |= {"drift": rows, "committed": committed, "parting": first_parting(committed, current, ignore=ignore)}
        if rows:
            told = "; ".join(f"{row.field}: {row.committed} -> {row.current}" for row in rows)
            added.append(Assertion(name="drift", passed=False, score=0, soft=not self._options.strict, detail=told))

    async def _talk(self, prepared: Prepared, tape: Tape | None) -> None:
        planned = self._planned
        talk = AgentTalk(prepared, self._agents, planned, tape, self._options)
        self._context = EvalContext(talk)
        given = planned.case.test(self._context)
        if inspect.isawaitable(given):
            await given

    def _result(self, duration_s: float, added: list[Assertion], fault: dict[str, Any]) -> CaseResult:
        planned, context = self._planned, self._context
        assertions = (*(context.assertions if context else ()), *added)
        missed = any(not one.passed and not one.skipped and (not one.soft or self._options.strict) for one in assertions)
        return CaseResult(
            eval=planned.eval.name,
            case=planned.case.name,
            result="error" if fault else "failed" if missed else "passed",
            assertions=assertions,
            duration_s=duration_s,
            usage=context.usage if context else EvalUsage(),
            file=planned.shown,
            tags=planned.tags,
            trajectory=context.trajectory_now if context else None,
            reply=context.reply if context else "",
            source=self._source,
            **fault,
            **self._more,
        )

    @property
    def _record_hint(self) -> str:
        return f"Record it: lousho eval --record {shlex.quote(f'{self._planned.shown}::{self._planned.case.name}')}"
