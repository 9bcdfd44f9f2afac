"""The results of an eval run as files: JUnit XML for CI, and a page for people. Each is there whole or not at all."""

from __future__ import annotations

from lousho_cli.app.report_files import write_report
from lousho_cli.evals.eval_results import EvalRun

_HINT = "The results stand above, and lousho eval --last shows them again."


def write_junit(name: str, run: EvalRun) -> None:
    """JUnit XML.

    Raises:
        StorageError: it can not be written.
        ConfigurationError: it has no name.
    """
    from lousho_cli.evals.junit import junit_xml

    write_report(name, junit_xml(run), "--junit", _HINT)


def write_html(name: str, run: EvalRun) -> None:
    """The page. Raises as ``write_junit``."""
    from lousho_cli.evals.report import report_page

    write_report(name, report_page(run).encode(), "--html", _HINT)
