"""The pytest plugin: pytest finds eval files and runs their cases. It loads nothing of lousho until one is found.

pytest                      evals beside the other tests
pytest -k sunny             by name or tag
pytest --eval-mode record   records the cassettes
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.app.evaluating.closing import CLOSE

_ENDINGS = (".eval.yaml", ".eval.yml", ".eval.json", "_eval.py")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of a run of evals."""
    group = parser.getgroup("lousho evals")
    group.addoption("--eval-mode", choices=("auto", "record", "replay"), default="auto", help="play the cassettes of evals, or record them")
    group.addoption("--eval-live", action="store_true", help="ask the model where an eval has no cassette")
    group.addoption("--eval-judge", action="store_true", help="let models grade")
    group.addoption("--eval-strict", action="store_true", help="a soft miss of an eval fails, too")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Generator[None, Any, Any]:
    """An eval file is collected as one, and as nothing else: ``x_eval.py`` is no module of tests when it is named."""
    collected = yield
    if not file_path.name.endswith(_ENDINGS):
        return collected
    from lousho_cli.app.evaluating.items import EvalFile

    return [EvalFile.from_parent(parent, path=file_path)]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Soft misses, of cases that passed."""
    told = [
        (report.nodeid, text)
        for report in terminalreporter.stats.get("passed", ())
        for name, text in getattr(report, "user_properties", ())
        if name == "soft miss"
    ]
    if told:
        terminalreporter.section("soft misses of evals")
        for node, text in told:
            terminalreporter.write_line(f"{node}: {text}")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Closes what the evals of this session used."""
    close = config.stash.get(CLOSE, None)
    if close is not None:
        close()
