"""``eval``: cases found, run on pytest in this process, and their results as values."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING

import msgspec

from lousho_cli.app.evaluating.journal import Begin, Done, Journal, journal_path, kept, read_last
from lousho_cli.app.evaluating.plans import EvalOptions
from lousho_cli.app.evaluating.stopping import EvalsStopped, Stop, stopping
from lousho_cli.app.wiring import current_folder
from lousho_cli.domain.times import stamp
from lousho_cli.errors import ConfigurationError, StorageError
from lousho_cli.evals.eval_results import CaseResult, EvalRun, eval_run

if TYPE_CHECKING:
    from lousho_cli.app.evaluating.selecting import Selection
    from lousho_cli.app.evaluating.stamps import Stamp

INSTALL = 'pip install "lousho[eval]"'
NO_RUNNER = "LOUSHO_EVALS_RUNNER_MISSING"


class EvalOrder(msgspec.Struct, frozen=True):
    """What a person wants evaluated.

    paths: files, folders, or ``FILE::CASE``; none means what is below the working folder. tags: any of them.
    resume: only what a run that was cut did not come to. options: see ``EvalOptions``.
    """

    paths: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    resume: bool = False
    options: EvalOptions = EvalOptions()


class Watcher:
    """Hears of a run while it goes on. Every method may be left as it is."""

    def begins(self, selected: int) -> None:
        """So many cases are going to be run."""

    def starts(self, name: str) -> None:
        """A case begins."""

    def ended(self, result: CaseResult) -> None:
        """A case has ended."""

    def warn(self, text: str) -> None:
        """Something the person should know."""


def evaluate(order: EvalOrder, watcher: Watcher) -> EvalRun:
    """Runs the cases. A run that a signal stopped gives what it has; ``complete`` and ``signal`` say so.

    Raises:
        ConfigurationError: pytest is not installed, a file is broken, or there is nothing to run.
        EvalsStopped: it was stopped before any case had ended.
    """
    _require_pytest()
    from lousho_cli.app.evaluating.selecting import Selection

    selection = Selection(order.paths, order.tags, current_folder())
    with stopping() as stop:
        session = _Session(order, watcher, selection, stop)
        with _own_pytest():
            session.run()
        return session.result()


def last_run() -> EvalRun:
    """What the last run here came to, whole or not; nothing is run.

    Raises:
        ConfigurationError: there was none.
    """
    last = read_last(journal_path(current_folder()))
    if last is None:
        raise ConfigurationError("no evals were run here", field="--last", code="LOUSHO_EVALS_NOT_FOUND", hint="Run them: lousho eval")
    return last.run


def _require_pytest() -> None:
    if find_spec("pytest") is None:
        raise ConfigurationError("evals run on pytest, which is not installed", field="eval", code=NO_RUNNER, hint=f"Install it: {INSTALL}")


@contextmanager
def _own_pytest() -> Iterator[None]:
    """Pytest as we need it, whatever the variables for a person's own test runs say."""
    ours = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "PYTEST_PLUGINS": ""}
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class _Session:
    """One run of pytest."""

    def __init__(self, order: EvalOrder, watcher: Watcher, selection: Selection, stop: Stop) -> None:
        self._order, self._watcher, self._selection, self._stop = order, watcher, selection, stop
        self._results: list[CaseResult] = []
        self._kept: dict[tuple[str, str, str], Done] = {}
        self._journal: Journal | None = None
        self._began = time.perf_counter()
        self._at = stamp(datetime.now(UTC))

    def run(self) -> None:
        """Collects and runs.

        Raises:
            ConfigurationError: nothing could be run.
            EvalsStopped: it was stopped before any case had ended.
        """
        import pytest

        from lousho_cli.app.evaluating import plugin as eval_plugin
        from lousho_cli.app.evaluating.items import Evals

        evals = Evals(self._order.options, self._told, self._watcher.warn)
        plugin = self._selection.plugin(evals, self._selected, self._watcher.starts)
        try:
            code = pytest.main(self._selection.arguments(), plugins=[eval_plugin, plugin])
            if self._journal is not None and self._stop.signal is None and code != pytest.ExitCode.INTERRUPTED:
                self._journal.end(time.perf_counter() - self._began)
        except StorageError as error:
            self._unwritable(error)
        finally:
            if self._journal is not None:
                self._journal.close()
        if evals.fault is not None:
            raise evals.fault
        if evals.broken:
            first, *more = evals.broken
            detail = "; ".join([first.detail, *(error.detail for error in more)])
            raise ConfigurationError(detail, field=first.field, code=first.code, hint=first.hint)
        if self._stop.signal is not None and not self._results:
            raise EvalsStopped(self._stop.signal)
        self._selection.check()
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED, pytest.ExitCode.NO_TESTS_COLLECTED):
            raise ConfigurationError("pytest could not run the evals", field="eval", hint="Run pytest itself to see why.")

    def _selected(self, cases: Sequence[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
        """Told which cases there are to run; gives those that need not be."""
        path, options = journal_path(current_folder()), self._order.options
        if self._order.resume:
            last = read_last(path)
            if last is not None and not last.run.complete and last.flags != options.flags:
                asked = " ".join(("lousho eval", *last.flags))
                self._watcher.warn(f"the run that was cut was {asked}, so that none of its results is one of this; every case is run")
            before = kept(last, options.flags)
            self._kept = {key: before[key] for key in cases if key in before}
        self._watcher.begins(len(cases) - len(self._kept))
        try:
            self._journal = Journal(path, Begin(self._at, options.mode, len(cases), options.flags))
            for one in self._kept.values():
                self._journal.add(one.result, one.stands_on)
        except StorageError as error:
            self._unwritable(error)
        self._results += [one.result for one in self._kept.values()]
        return set(self._kept)

    def _told(self, result: CaseResult, stands_on: Mapping[str, Stamp]) -> None:
        self._stop.check()  # what a case made of a signal is no result
        self._results.append(result)
        if self._journal is not None:
            try:
                self._journal.add(result, stands_on)
            except StorageError as error:
                self._unwritable(error)
        self._watcher.ended(result)

    def _unwritable(self, error: StorageError) -> None:
        self._journal = None
        self._watcher.warn(f"{error.detail}; a run that is cut can not be gone on with")

    def result(self) -> EvalRun:
        """What came of it."""
        order = {key: place for place, key in enumerate(self._selection.keys)}
        cases = sorted(self._results, key=lambda one: order.get((one.file, one.eval, one.case), 0))
        duration = round(time.perf_counter() - self._began, 6)
        run = eval_run(cases, selected=len(order), duration_s=duration, mode=self._order.options.mode, at=self._at)
        return msgspec.structs.replace(run, signal=None if run.complete else self._stop.signal)
