"""Runs one case after the other: who answers, what is recorded, and what became of it.

Each case has a session of its own in memory. One event loop and one set of agents serve all of them.
"""

from __future__ import annotations

import asyncio
import inspect
import shlex
import time
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lousho_cli.app.evaluating.agents import EvalAgents, asks_nobody, on_tape
from lousho_cli.app.evaluating.faults import assertion_of, error_of, is_a_miss, skipped_by
from lousho_cli.app.evaluating.plans import EvalOptions, Planned, Way, way_of
from lousho_cli.app.evaluating.stamps import Stamp, Stamps, stamp_of
from lousho_cli.app.evaluating.talk import AgentTalk
from lousho_cli.app.preparing import Prepared
from lousho_cli.app.redacting import taking_out_of_cassettes
from lousho_cli.errors import CassetteMismatchError, ConfigurationError
from lousho_cli.evals.cassette_file import CassetteFile, check_folder, read_cassette, write_cassette
from lousho_cli.evals.context import EvalContext
from lousho_cli.evals.definition import Eval
from lousho_cli.evals.drift import drift_rows, first_parting
from lousho_cli.evals.eval_results import Assertion, CaseResult, EvalUsage, Source
from lousho_cli.evals.judging import without_judge
from lousho_cli.evals.redact import Redact
from lousho_cli.evals.tape import Tape
from lousho_cli.evals.trajectory import cassette_trajectory
from lousho_cli.executor.interrupts import is_cancelled


class EvalRunner:
    """Runs cases, one at a time. To be closed."""

    def __init__(self, options: EvalOptions) -> None:
        self.options = options
        self._agents = EvalAgents()
        self._runner = asyncio.Runner()
        self._clean: Redact | None = None
        self._stamps = Stamps()

    def run(self, planned: Planned) -> CaseResult:
        """Runs one case to its end. What goes wrong in it is a result.

        Raises:
            KeyboardInterrupt: somebody stopped it.
        """
        if self._clean is None:
            self._clean = taking_out_of_cassettes()
        # Not the runner's own ``run``: it takes and gives back the signal of Ctrl-C each time, and that one raises here as it is.
        return self._runner.get_loop().run_until_complete(_Running(self.options, self._agents, planned, self._clean).run())

    def check(self, one: Eval, path: Path) -> None:
        """Looks at the agent and the judge of an eval, before anything is run.

        Raises:
            ConfigurationError: one of them is not there, or is not valid.
        """
        self._stamps.of(path, self._agents.file_of(one.agent, path))
        if one.judge is not None:
            self._agents.judge_of(one.judge, path)

    def stands_on(self, planned: Planned) -> dict[str, Stamp]:
        """The files that a case which was just run stands on, as they were; its cassette as the case leaves it."""
        files = self._stamps.of(planned.path, self._agents.file_of(planned.eval.agent, planned.path))
        return files | {str(planned.cassette): stamp_of(planned.cassette)}

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
        self._unanswered: CassetteMismatchError | None = None
        self._refused: tuple[tuple[str, str], ...] = ()

    async def run(self) -> CaseResult:
        began = time.perf_counter()
        fault: dict[str, Any] = {}
        added: list[Assertion] = []
        try:
            async with AsyncExitStack() as stack:
                file = self._agents.file_of(self._planned.eval.agent, self._planned.path)
                await self._answer(await stack.enter_async_context(self._agents.ready(file)), added)
        except BaseException as error:  # a case is anybody's code; whatever it does is its result
            if isinstance(error, KeyboardInterrupt | GeneratorExit) or (isinstance(error, asyncio.CancelledError) and is_cancelled()):
                raise
            fault = self._gone_wrong(error, added)
        finally:
            if self._context is not None:
                self._context.close()
        return self._result(round(time.perf_counter() - began, 6), added, fault)

    def _gone_wrong(self, error: BaseException, added: list[Assertion]) -> dict[str, Any]:
        """What is said of an error: what did not hold is added, for the rest there is why the case has no result."""
        if self._unanswered is not None:
            return {}
        if is_a_miss(error):
            added.append(assertion_of(error, self._planned.path))
            return {}
        why = skipped_by(error)
        return {"result": "skipped", "hint": why} if why is not None else {"result": "error", **error_of(error, self._planned.path)}

    async def _answer(self, prepared: Prepared, added: list[Assertion]) -> None:
        path = self._planned.cassette
        way = way_of(self._options, recorded=_is_there(path), scripted=asks_nobody(prepared))
        if way == "model":
            await self._talk(prepared, None)
        elif way in ("replay", "missing"):
            await self._play(prepared, Tape(path, "replay", clean=self._clean, bare=way == "missing"), added)
        else:
            with TemporaryDirectory(prefix="lousho-eval-") as folder:
                await self._record(prepared, Path(folder) / path.name, way, added)

    async def _play(self, prepared: Prepared, tape: Tape, added: list[Assertion]) -> None:
        """A case without a cassette is played as well: it may ask nothing of a model. What is not answered is told, whoever caught it."""
        if tape.file is not None:
            self._source, self._more["cassette"] = "replayed", self._planned.cassette_shown
        try:
            await self._talk(on_tape(prepared, tape), tape)
        finally:
            if self._unanswered is not None:
                none = ("cassette", f"there is none at {self._planned.cassette_shown}")
                name, why = none if tape.file is None else ("replay", self._unanswered.detail)
                added.append(Assertion(name=name, passed=False, score=0, detail=f"{why}. {self._record_hint}"))

    async def _record(self, prepared: Prepared, aside: Path, way: Way, added: list[Assertion]) -> None:
        """The cassette comes into its place whole, once the case has ended; a run that failed leaves what was there."""
        path = self._planned.cassette
        committed = read_cassette(path) if way == "drift" else None
        if way == "record":
            check_folder(path)  # this and the reading, before a model is asked and paid
        tape = Tape(aside, "record", clean=self._clean)
        missed: BaseException | None = None
        try:
            await self._talk(on_tape(prepared, tape), tape)
        except BaseException as error:  # what does not hold was said all the same
            if not is_a_miss(error):
                raise
            missed = error
        finally:
            for folder in (path.parent, path.parent.parent):
                with suppress(OSError):  # something is in it
                    folder.rmdir()
        made = read_cassette(aside)
        if way == "drift":
            self._compare(committed, made, added)
        elif made is not None:
            check_folder(path)
            write_cassette(path, made)
            self._source, self._more["cassette"] = "recorded", self._planned.cassette_shown
        if missed is not None:
            raise missed

    def _compare(self, before: CassetteFile | None, now: CassetteFile | None, added: list[Assertion]) -> None:
        committed, current = (cassette_trajectory(without_judge(file)) for file in (before, now))
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
        try:
            given = planned.case.test(self._context)
            if inspect.isawaitable(given):
                await given
            elif inspect.isgenerator(given) or inspect.isasyncgen(given):
                raise ConfigurationError("its function has a yield, so that it does nothing", field="case", hint="Take the yield out.")
            self._context.end()
        finally:
            self._unanswered, self._refused = talk.unanswered, talk.results.refused

    def _result(self, duration_s: float, added: list[Assertion], fault: dict[str, Any]) -> CaseResult:
        planned, context = self._planned, self._context
        assertions = (*(context.assertions if context else ()), *self._without_results, *added)
        missed = any(not one.passed and not one.skipped and (not one.soft or self._options.strict) for one in assertions)
        return CaseResult(
            eval=planned.eval.name,
            case=planned.case.name,
            result=fault.pop("result", "failed" if missed else "passed"),
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
    def _without_results(self) -> tuple[Assertion, ...]:
        """Calls that no result in the case is for: a gate, as what the case is about did not happen; drift alone fails nothing."""
        soft = self._options.mode == "drift" and not self._options.strict
        return tuple(Assertion(name=f"tool_results {tool}", passed=False, score=0, soft=soft, detail=why) for tool, why in self._refused)

    @property
    def _record_hint(self) -> str:
        return f"Record it: lousho eval --record {shlex.quote(f'{self._planned.shown}::{self._planned.case.name}')}"


def _is_there(path: Path) -> bool:
    """Whether there is a cassette. One in a folder that may not be looked into is: whoever reads it says why it can not be."""
    try:
        return path.exists()
    except OSError:
        return True
