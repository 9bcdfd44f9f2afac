"""Which evals a person means, and how pytest is told: it looks at eval files alone, whatever else lies in a project."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.app.evaluating.files import CASSETTES, ENDINGS, PYTHON_ENDING, is_eval_file
from lousho_cli.app.evaluating.items import EvalFailed, EvalItem, Evals, share
from lousho_cli.app.suggestions import nearest
from lousho_cli.errors import ConfigurationError
from lousho_cli.evals.definition import INVALID

NOT_FOUND = "LOUSHO_EVALS_NOT_FOUND"

Key = tuple[str, str, str]
"""A case: its file from the working folder, its eval, its name."""

_NOT_NEEDED = (
    *("terminal", "cacheprovider", "junitxml", "pastebin", "doctest", "unittest", "logging", "faulthandler", "skipping", "stepwise"),
    *("warnings", "unraisableexception", "threadexception", "recwarn", "monkeypatch", "setuponly", "setupplan", "debugging", "legacypath"),
)
"""Plugins of pytest that only cost time here, or say what the command says itself."""


class Selection:
    """The cases that are meant.

    Args:
        paths: files, folders, or ``FILE::CASE``, from ``folder``; none means the folder. tags: any of them.

    Raises:
        ConfigurationError: one is not there, or is no eval file.
    """

    def __init__(self, paths: Sequence[str], tags: Sequence[str], folder: Path) -> None:
        self._folder, self._tags = folder, frozenset(tags)
        self._named: dict[Path, set[str]] = {}
        self._whole: list[Path] = []
        for text in paths or (".",):
            file, colons, case = text.partition("::")
            path = Path(os.path.abspath(folder / file))
            _require(path, text)
            if colons:
                self._named.setdefault(path, set()).add(case)
            else:
                self._whole.append(path)
        self.keys: list[Key] = []
        self._searched = [os.path.realpath(path) for path in self._whole]
        self._problem: ConfigurationError | None = None

    def arguments(self) -> list[str]:
        """What pytest is started with."""
        paths = dict.fromkeys(map(str, (*self._whole, *self._named)))
        off = [word for name in _NOT_NEEDED for word in ("-p", f"no:{name}")]
        places = ["-c", os.devnull, "--rootdir", str(self._folder), "--confcutdir", str(self._folder)]  # it looks at no folder above
        return [*places, "--noconftest", "--capture=no", "--assert=plain", "--import-mode=importlib", *off, *paths]

    def plugin(self, evals: Evals, selected: Callable[[Sequence[Key]], set[Key]], starts: Callable[[str], None]) -> object:
        """What pytest asks.

        Args:
            selected: told every case that is meant; gives those that need not be run.
            starts: told the name of each case before it is run.
        """
        return _Asked(self, evals, selected, starts)

    def passes(self, path: Path) -> bool:
        """Whether a folder is not looked into: cassettes, and a link to what is looked into anyway, or stands above it.

        Such a link would show the same evals twice, or in a circle without an end.
        """
        if path.name == CASSETTES:
            return True
        if not path.is_symlink():
            return False
        real = os.path.realpath(path)
        if any(os.path.commonpath((real, one)) in (real, one) for one in self._searched):
            return True
        self._searched.append(real)
        return False

    def choose(self, items: Sequence[EvalItem]) -> list[EvalItem]:
        """Those that are meant; none where something that was named is not there."""
        unknown = [problem for path, names in self._named.items() if (problem := self._unknown(path, names, items)) is not None]
        meant = [item for item in items if self._is_meant(item)]
        if unknown:
            self._problem = unknown[0]
            return []
        if not meant:
            self._problem = self._nothing(items)
        self.keys = [key_of(item) for item in meant]
        return meant

    def check(self) -> None:
        """Says what was wrong.

        Raises:
            ConfigurationError: something that was named is not there, or nothing is.
        """
        if self._problem is not None or not self.keys:
            raise self._problem or self._nothing(())

    def _is_meant(self, item: EvalItem) -> bool:
        names = self._named.get(item.path)
        by_path = any(item.path.is_relative_to(path) for path in self._whole)
        by_name = bool(names) and bool(_names(item) & (names or set()))
        return (by_path or by_name) and (not self._tags or bool(self._tags & set(item.planned.tags)))

    def _unknown(self, path: Path, names: set[str], items: Sequence[EvalItem]) -> ConfigurationError | None:
        known = {name for item in items if item.path == path for name in _names(item)}
        lost = next((name for name in names if name not in known), None)
        if lost is None:
            return None
        near = nearest(lost, known)
        cases = ", ".join(item.name for item in items if item.path == path)
        return ConfigurationError(
            f"{path.name} has no case {lost}" + (f"; did you mean {near}?" if near else ""),
            field="paths",
            code=NOT_FOUND,
            hint=f"It has {cases}.",
        )

    def _nothing(self, items: Sequence[EvalItem]) -> ConfigurationError:
        if self._tags and items:
            known = sorted({tag for item in items for tag in item.planned.tags})
            return ConfigurationError(
                f"no case has the tag {' or '.join(sorted(self._tags))}",
                field="--tag",
                code=NOT_FOUND,
                hint=f"There are: {', '.join(known)}." if known else "No case has any tag.",
            )
        return ConfigurationError(
            "there is no eval here",
            field="paths",
            code=NOT_FOUND,
            hint=f"The name of one ends in {', '.join((*ENDINGS, PYTHON_ENDING))}; lousho init writes one.",
        )


def _is_open(folder: Path) -> bool:
    return os.access(folder, os.R_OK | os.X_OK)


def _require(path: Path, text: str) -> None:
    if not path.exists():
        hint = "Name a file, a folder, or FILE::CASE."
        raise ConfigurationError(f"{text} is not there", field="paths", code=NOT_FOUND, hint=hint)
    if path.is_dir() and not _is_open(path):
        raise ConfigurationError(f"{text} may not be looked into", field="paths", code=NOT_FOUND, hint="Check its permissions.")
    if path.is_file() and not is_eval_file(path):
        raise ConfigurationError(
            f"{text} is no eval file", field="paths", code=NOT_FOUND, hint=f"Its name must end in {', '.join((*ENDINGS, PYTHON_ENDING))}."
        )


def key_of(item: EvalItem) -> Key:
    """What tells a case from all others."""
    return item.planned.shown, item.planned.eval.name, item.planned.case.name


def _names(item: EvalItem) -> set[str]:
    """What a case may be called behind its file."""
    one = item.planned.eval.name
    return {item.name, one, f"{one}::{item.name}"}


class _Asked:
    """The hooks of one run."""

    def __init__(
        self, selection: Selection, evals: Evals, selected: Callable[[Sequence[Key]], set[Key]], starts: Callable[[str], None]
    ) -> None:
        self._selection, self._evals, self._selected, self._starts = selection, evals, selected, starts

    def pytest_configure(self, config: pytest.Config) -> None:
        share(config, self._evals)

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        if collection_path.is_dir():
            if not _is_open(collection_path):
                self._evals.warn(f"{collection_path} may not be looked into")
                return True
            return True if self._selection.passes(collection_path) else None
        return not is_eval_file(collection_path)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_directory(self, path: Path, parent: Any) -> pytest.Collector:
        return pytest.Dir.from_parent(parent, path=path)  # a package is no package here: nothing of it is imported

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self._evals.broken:  # nothing that an eval file is known to do wrong
            crash = getattr(report.longrepr, "reprcrash", None)
            said = " ".join((crash.message if crash else report.longreprtext).split())[-300:]
            self._evals.broken.append(ConfigurationError(f"{report.nodeid} can not be read: {said}", field="eval", code=INVALID))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        meant = self._selection.choose([item for item in items if isinstance(item, EvalItem)])
        if meant and not self._evals.broken:
            done = self._selected([key_of(item) for item in meant])
            meant = [item for item in meant if key_of(item) not in done]
        items[:] = meant

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: EvalItem) -> bool:
        """A case has no fixtures, and who asked has its result: what pytest does around a test would take as long as the case."""
        self._starts(item.name)
        try:
            item.runtest()
        except (EvalFailed, pytest.skip.Exception):
            return True
        except Exception as error:  # noqa: BLE001 - it is told by the command, not by pytest
            self._evals.fault, item.session.shouldstop = error, True
        return True
