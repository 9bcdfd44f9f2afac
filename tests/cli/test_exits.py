"""The one table: each error and each end of a run has the exit code that the manual names."""

from __future__ import annotations

import pytest

from lousho_cli import errors
from lousho_cli.cli.exits import Exit, code_of, code_of_run

CODES = [
    (errors.SDKError("x"), 1),
    (errors.StorageError("x"), 1),
    (errors.ProviderError("x"), 1),
    (errors.PropagatingToolError("x"), 1),
    (OSError("x"), 1),
    (ZeroDivisionError("x"), 1),
    (errors.ConfigurationError("x"), 2),
    (errors.RangeError("x"), 2),
    (errors.InputRejectedError("x"), 2),
    (errors.NotFoundError("x"), 3),
    (errors.AmbiguousError("x"), 3),
    (errors.SessionAwaitingApprovalError("s", "a"), 4),
    (errors.SessionBusyError("s", "host, pid 1"), 5),
    (errors.OwnershipLostError("s", "host, pid 1"), 5),
    (errors.AgentDriftError("x"), 6),
    (errors.ResumeToolMissingError(["t"]), 6),
    (errors.DamagedLogError("x"), 7),
    (errors.LogVersionError("x"), 7),
    (errors.NotAStoreError("x"), 7),
    (errors.HookError("mine", "failed"), 1),
    (errors.CommandFailedError("x"), 1),
    (errors.WrongHostError("h"), 1),
    (errors.McpServerError("s", "x"), 1),
    (errors.CassetteError("x", path="p"), 1),
    (errors.CassetteMismatchError("x", path="p", call=1), 1),
    (errors.GuardrailTrippedError("g", "input"), 1),
    (errors.BudgetExceededError("max_tokens", 2, 1), 9),
    (errors.AbortedError("x"), 130),
    (KeyboardInterrupt(), 130),
]


@pytest.mark.parametrize(("error", "code"), CODES, ids=lambda value: type(value).__name__)
def test_an_error_has_its_exit_code(error: BaseException, code: int) -> None:
    assert code_of(error) == code


def test_every_error_of_the_tree_is_in_the_table_above() -> None:
    def tree(kind: type[BaseException]) -> set[type[BaseException]]:
        return {kind}.union(*map(tree, kind.__subclasses__()))

    ours = {kind for kind in tree(errors.SDKError) if kind.__module__ == errors.__name__}
    assert ours <= {type(error) for error, _ in CODES}


@pytest.mark.parametrize(
    ("status", "finish_reason", "outcome", "code"),
    [
        ("finished", "stop", "completed", Exit.DONE),
        ("finished", "max-steps", "completed", Exit.LIMIT),
        ("finished", "budget-exceeded", "completed", Exit.LIMIT),
        ("finished", "timeout", "completed", Exit.LIMIT),
        ("awaiting-approval", "awaiting-approval", None, Exit.WAITS),
        ("in-progress", "aborted", "aborted", Exit.ABORTED),
        ("in-progress", "error", "failed", Exit.FAILED),
    ],
)
def test_the_end_of_a_run_has_its_exit_code(status: str, finish_reason: str, outcome: str | None, code: int) -> None:
    assert code_of_run(status, finish_reason, outcome) == code


def test_a_run_that_was_stopped_is_143() -> None:
    assert code_of_run("in-progress", "stop", stopped=True) == Exit.STOPPED == 143
