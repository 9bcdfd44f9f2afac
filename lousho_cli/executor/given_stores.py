"""The stores that a caller passes, looked at before anything runs: whether they are what they are passed as."""

from __future__ import annotations

from typing import Any

from lousho_cli.errors import ConfigurationError

CHECKPOINTS = ("save", "load", "delete")
APPROVALS = ("save", "resolve")


def check_checkpoint_store(store: Any) -> None:
    """Lets nothing pass but None and what can keep checkpoints.

    Raises:
        ConfigurationError: a method is missing; a whole store was passed in place of its ``checkpoints``.
    """
    _check(store, "checkpoint_store", "checkpoints", CHECKPOINTS)


def check_approval_store(store: Any) -> None:
    """The same for approvals."""
    _check(store, "approval_store", "approvals", APPROVALS)


def lacking(store: Any, methods: tuple[str, ...]) -> str | None:
    """The first of the methods that a store does not have."""
    return next((method for method in methods if not callable(getattr(store, method, None))), None)


def _check(store: Any, field: str, part: str, methods: tuple[str, ...]) -> None:
    lacks = None if store is None else lacking(store, methods)
    if lacks is not None:
        hint = f"Pass its {part}: store.{part}." if hasattr(store, part) else f"It needs {', '.join(methods)}."
        raise ConfigurationError(f"the {field} can not {lacks}", field=field, hint=hint)
