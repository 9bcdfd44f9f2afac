"""Eval files and their cases as pytest has them. Only imported where there are any."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.app.evaluating.closing import CLOSE
from lousho_cli.app.evaluating.files import load_evals
from lousho_cli.app.evaluating.plans import EvalOptions, Planned, in_ci
from lousho_cli.app.evaluating.runner import EvalRunner
from lousho_cli.app.evaluating.stamps import Stamp
from lousho_cli.app.hostile_text import visible
from lousho_cli.errors import ConfigurationError
from lousho_cli.evals.eval_results import CaseResult


class Evals:
    """What the evals of one pytest session share.

    told: called with each result as it comes, and what it stands on; warn: with what a person should know.
    broken: the files that could not be read. fault: what went wrong with lousho itself.
    """

    def __init__(
        self,
        options: EvalOptions,
        told: Callable[[CaseResult, Mapping[str, Stamp]], None] = lambda result, stands_on: None,
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.runner = EvalRunner(options)
        self.told, self.warn = told, warn
        self.broken: list[ConfigurationError] = []
        self.fault: Exception | None = None
        self._cassettes: dict[Path, str] = {}

    def claim(self, planned: Planned, name: str) -> None:
        """Takes the cassette of a case for it.

        Raises:
            ConfigurationError: a case of another file has it.
        """
        other = self._cassettes.setdefault(planned.cassette, name)
        if other != name:
            raise ConfigurationError(
                f"{name} and {other} would share the cassette {planned.cassette}",
                field="name",
                hint="Give one of their evals another name.",
            )


_KEY = pytest.StashKey[Evals]()


def share(config: pytest.Config, evals: Evals) -> None:
    """Has the evals of a session use these."""
    config.stash[_KEY] = evals
    config.stash[CLOSE] = evals.runner.close


def evals_of(config: pytest.Config) -> Evals:
    """What the evals of a session share, made as pytest's own options say where nobody has yet."""
    if _KEY not in config.stash:
        option = config.option
        share(
            config,
            Evals(
                EvalOptions(
                    mode=option.eval_mode,
                    strict=option.eval_strict,
                    judge=option.eval_judge,
                    live=option.eval_live,
                    ci=in_ci(),
                )
            ),
        )
    return config.stash[_KEY]


class EvalFile(pytest.File):
    """An eval file."""

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Its cases; where it holds several evals, below each of them."""
        evals = evals_of(self.config)
        shown = os.path.relpath(self.path, self.config.invocation_params.dir).replace(os.sep, "/")
        try:
            loaded = load_evals(self.path)
            for one in loaded:
                evals.runner.check(one, self.path)
            plans = [(one.name, Planned(one, case, self.path, shown)) for one in loaded for case in one.cases]
            for name, planned in plans:
                evals.claim(planned, f"{shown}::{name}::{planned.case.name}")
        except ConfigurationError as error:
            evals.broken.append(error)
            raise self.CollectError(visible(f"{error.detail} [{error.code}] {error.hint}")) from None
        groups = {one.name: EvalGroup.from_parent(self, name=one.name) for one in loaded} if len(loaded) > 1 else {}
        for name, planned in plans:
            if name in groups:
                groups[name].plans.append(planned)
            else:
                yield EvalItem.from_parent(self, name=planned.case.name, planned=planned)
        yield from groups.values()


class EvalGroup(pytest.Collector):
    """One of several evals of a file."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.plans: list[Planned] = []

    def collect(self) -> Iterator[pytest.Item]:
        """Its cases."""
        for planned in self.plans:
            yield EvalItem.from_parent(self, name=planned.case.name, planned=planned)


class EvalFailed(Exception):
    """A case that did not pass."""


class EvalItem(pytest.Item):
    """A case."""

    def __init__(self, *, planned: Planned, **given: Any) -> None:
        super().__init__(**given)
        self.planned = planned
        self.extra_keyword_matches.update(planned.tags)

    def runtest(self) -> None:
        """Runs it.

        Raises:
            EvalFailed: it did not pass.
        """
        evals = evals_of(self.config)
        result = evals.runner.run(self.planned)
        evals.told(result, evals.runner.stands_on(self.planned))
        for miss in result.misses:
            if miss.soft:
                self.user_properties.append(("soft miss", visible(f"{miss.name}: {miss.detail}")))
        if result.result == "skipped":
            pytest.skip(result.hint)
        if result.result != "passed":
            raise EvalFailed(_told(result))

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """What did not hold, in lines; a traceback only where it is our fault."""
        if isinstance(excinfo.value, EvalFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """What a report calls it."""
        return self.path, None, f"{self.planned.eval.name}: {self.name}"


def _told(result: CaseResult) -> str:
    lines = [f"{one.name}{' (soft)' if one.soft else ''}: {one.detail}" for one in result.misses]
    if result.error:
        lines.append(" ".join(filter(None, (result.error, result.hint))))
    if result.reply:
        lines.append(f"reply: {result.reply}")
    return visible("\n".join(lines))
