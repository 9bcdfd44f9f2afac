"""What is asked of the one writer."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from lousho_cli.errors import SDKError, StorageError

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

Operation = Callable[[sqlite3.Connection], T]
"""Reads and writes within a transaction. One that raises one of our errors must have written nothing."""


class Asked(ABC, Generic[T]):
    """Something to be written on its way; ``Job`` for most, ``Append`` for the one thing that is asked for all the time.

    durable: whether it must be synced; None: only if something that was written before it was not.
    error, result: its outcome. future: who waits for that, None for nobody.
    """

    __slots__ = ("durable", "error", "future", "result")

    def __init__(self, durable: bool | None) -> None:
        self.durable = durable
        self.result: T | None = None
        self.error: BaseException | None = None
        self.future: asyncio.Future[T] | None = None

    @property
    def single(self) -> bool:
        """Whether it is one statement where it is carried out, and so a transaction of its own where it is alone."""
        return False

    @abstractmethod
    def carry_out(self, connection: sqlite3.Connection) -> T:
        """Reads and writes. Raises what it is refused for, having written nothing."""

    def stands(self, connection: sqlite3.Connection) -> bool:
        """Whether its outcome stands in the database, where a commit did not tell."""
        return False

    def fail(self, error: BaseException) -> None:
        """Notes what went wrong, before whoever waits for it hears of that."""
        self.error = error

    def outcome(self) -> T:
        if self.error is not None:
            raise self.error
        return cast("T", self.result)


class Job(Asked[T]):
    """An operation.

    single: it is one statement.
    settled: says whether its outcome stands in the database, where a commit did not tell.
    failed: is told of what went wrong.
    """

    __slots__ = ("_failed", "_operation", "_settled", "_single")

    def __init__(
        self,
        operation: Operation[T],
        durable: bool | None = False,
        settled: Callable[[sqlite3.Connection], bool] | None = None,
        failed: Callable[[SDKError], None] | None = None,
        *,
        single: bool = False,
    ) -> None:
        super().__init__(durable)
        self._operation, self._settled, self._failed, self._single = operation, settled, failed, single

    @property
    def single(self) -> bool:
        return self._single

    def carry_out(self, connection: sqlite3.Connection) -> T:
        return self._operation(connection)

    def stands(self, connection: sqlite3.Connection) -> bool:
        return self._settled is not None and self._settled(connection)

    def fail(self, error: BaseException) -> None:
        super().fail(error)
        if self._failed is not None:
            self._failed(interrupted(error))


def interrupted(error: BaseException) -> SDKError:
    """What went wrong, for who understands our errors only."""
    return error if isinstance(error, SDKError) else StorageError(f"writing was interrupted: {error!r}")
