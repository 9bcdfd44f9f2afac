"""Asking a KV namespace: any object with get, put and delete, which may be busy, away, or slow to show a write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from lousho_cli.core.failures import classify
from lousho_cli.errors import ConfigurationError, SDKError, StorageError
from lousho_cli.ports.clock import Clock
from lousho_cli.stores.one_at_a_time import outcome

MOST_BYTES = 25 * 1024 * 1024
"""The largest value that KV takes."""

MOST_KEY_BYTES = 512
"""The longest key that KV takes."""

LEAST_TTL_SECONDS = 60
"""The shortest time to live that KV takes."""

_BUSY_WAITS_MS = (1000, 1000, 2000, 4000, 8000, 8000)
"""After an answer that says to slow down; KV takes one write a second for each key."""

_AWAY_WAITS_MS = (500, 1000, 2000)
"""After a lost connection or a failure of the server."""

_LONGEST_WAIT_MS = 30_000


class Namespace(Protocol):
    """What a Workers KV binding is; each method may be async or not.

    ``list`` is optional: ``list(prefix)`` gives the names of all keys that begin so.
    """

    def get(self, key: str) -> Any:
        """The value as text or bytes, or None."""

    def put(self, key: str, value: str, expiration_ttl: int | None = None) -> Any:
        """Stores a value; ``expiration_ttl`` is in seconds, and only passed where there is one."""

    def delete(self, key: str) -> Any:
        """Removes a key; an unknown one is no error."""


class KVError(StorageError):
    """A namespace failed.

    Attributes:
        busy: it asked to slow down. retryable: the same may work a little later.
        retry_after_ms: how long it asked to wait, None where it did not say.
    """

    def __init__(
        self, detail: str, *, busy: bool = False, retryable: bool = False, retry_after_ms: int | None = None, hint: str = ""
    ) -> None:
        super().__init__(detail, hint=hint or "What was saved before is still there; try again later.")
        self.busy, self.retryable, self.retry_after_ms = busy, retryable, retry_after_ms


class Keys:
    """A namespace as the stores use it: asked again when it is busy or away for a moment, its errors as ours."""

    def __init__(self, namespace: Any, clock: Clock | None = None) -> None:
        missing = [name for name in ("get", "put", "delete") if not callable(getattr(namespace, name, None))]
        if missing:
            raise ConfigurationError(
                f"the namespace has no {' and no '.join(missing)}",
                field="namespace",
                hint="Give an object with get(key), put(key, value, expiration_ttl=None) and delete(key), such as CloudflareKV.",
            )
        self._namespace = namespace
        self._sleep = clock.sleep if clock is not None else asyncio.sleep

    async def get(self, key: str) -> str | bytes | None:
        """The value of a key, None for none. Raises like ``put``."""
        value: str | bytes | None = await self._patiently(f"read {key}", lambda: self._namespace.get(key))
        return value

    async def put(self, key: str, value: str, ttl_seconds: int | None = None) -> None:
        """Stores a value.

        Raises:
            StorageError: the namespace refused it, or was busy or away for longer than is worth waiting.
        """
        options = {} if ttl_seconds is None else {"expiration_ttl": ttl_seconds}
        await self._patiently(f"write {key}", lambda: self._namespace.put(key, value, **options))

    async def delete(self, key: str) -> None:
        """Removes a key. Raises like ``put``."""
        await self._patiently(f"delete {key}", lambda: self._namespace.delete(key))

    async def list(self, prefix: str) -> list[str]:
        """The names of the keys that begin so.

        Raises:
            ConfigurationError: this namespace can not list its keys.
            StorageError: as ``put``.
        """
        if not callable(getattr(self._namespace, "list", None)):
            raise ConfigurationError("this namespace can not list its keys", field="namespace", hint="Give it list(prefix).")
        return [str(name) for name in await self._patiently(f"list {prefix}*", lambda: self._namespace.list(prefix))]

    async def _patiently(self, what: str, ask: Callable[[], Any]) -> Any:
        asyncio.get_running_loop()  # who has none learns it here, not as a failure of the namespace
        waits = {True: iter(_BUSY_WAITS_MS), False: iter(_AWAY_WAITS_MS)}
        while True:
            try:
                return await outcome(ask())
            except SDKError as error:
                wait_ms = _wait_ms(error, waits)
                if wait_ms is None:
                    raise
            except Exception as error:
                failure = _failure(error, what)
                wait_ms = _wait_ms(failure, waits)
                if wait_ms is None:
                    raise failure from error
            await self._sleep(wait_ms / 1000)


def _failure(error: Exception, what: str) -> KVError:
    """What a namespace raised, as one of our errors."""
    said = f"{type(error).__name__}: {error}"
    status = getattr(error, "status_code", getattr(error, "status", None))
    kind = classify(status if isinstance(status, int) else None, "", said)
    lost = isinstance(error, (ConnectionError, TimeoutError))
    return KVError(
        f"the namespace could not {what}: {said[:300]}",
        busy=kind.category == "rate-limit",
        retryable=kind.retryable or lost,
        retry_after_ms=getattr(error, "retry_after_ms", None),
    )


def _wait_ms(failure: SDKError, waits: Mapping[bool, Iterator[int]]) -> int | None:
    """How long to wait before asking again, None for giving up. ``waits`` are those left for a busy one, and for one away."""
    if not isinstance(failure, KVError) or not failure.retryable:
        return None
    ours = next(waits[failure.busy], None)
    asked = failure.retry_after_ms
    if ours is None or asked is None:
        return ours
    return asked if asked <= _LONGEST_WAIT_MS else None


def check_size(value: str, what: str) -> str:
    """The value, when KV takes one of its size.

    Raises:
        StorageError: it is larger than 25 MiB (code LOUSHO_CHECKPOINT_TOO_LARGE); nothing was sent.
    """
    size = len(value.encode())
    if size > MOST_BYTES:
        raise StorageError(
            f"{what} is {size / 1024 / 1024:.1f} MiB as JSON, more than the 25 MiB that KV takes for one value",
            code="LOUSHO_CHECKPOINT_TOO_LARGE",
            hint="Keep long results out of the transcript, or use a store that keeps logs (files, SQLite, PostgreSQL).",
        )
    return value
