"""The stores that a caller passes, looked at before anything runs: whether they are what they are passed as, and async."""

from __future__ import annotations

from inspect import isawaitable, iscoroutinefunction
from typing import Any

from lousho_cli.errors import ConfigurationError

CHECKPOINTS = ("save", "load", "delete")
APPROVALS = ("save", "resolve")

_OPTIONAL = ("load", "list", "history")
"""Those that a store may have besides."""


def checkpoint_store_of(store: Any) -> Any:
    """The store, to be awaited; None for None. Methods that are not async are taken as they are.

    Raises:
        ConfigurationError: a method is missing; a whole store was passed in place of its ``checkpoints``.
    """
    return _given(store, "checkpoint_store", "checkpoints", CHECKPOINTS)


def approval_store_of(store: Any) -> Any:
    """The same for approvals."""
    return _given(store, "approval_store", "approvals", APPROVALS)


def lacking(store: Any, methods: tuple[str, ...]) -> str | None:
    """The first of the methods that a store does not have."""
    return next((method for method in methods if not callable(getattr(store, method, None))), None)


def to_be_awaited(store: Any, methods: tuple[str, ...]) -> Any:
    """A store that has the methods; one with another than async ones, were it a single one, is put behind a face whose are."""
    known = (getattr(store, method, None) for method in (*methods, *_OPTIONAL))
    return store if all(iscoroutinefunction(method) for method in known if callable(method)) else _Awaited(store)


class _Awaited:
    """A store whose methods can be awaited, over one whose may be async or not."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if not callable(method):
            return method

        async def call(*given: Any, **named: Any) -> Any:
            value = method(*given, **named)
            return await value if isawaitable(value) else value

        return call


def _given(store: Any, field: str, part: str, methods: tuple[str, ...]) -> Any:
    if store is None or getattr(store, "log_store", None) is not None:  # a view of ours: its log is what counts
        return store
    lacks = lacking(store, methods)
    if lacks is not None:
        hint = f"Pass its {part}: store.{part}." if hasattr(store, part) else f"It needs {', '.join(methods)}."
        raise ConfigurationError(f"the {field} can not {lacks}", field=field, hint=hint)
    return to_be_awaited(store, methods)
