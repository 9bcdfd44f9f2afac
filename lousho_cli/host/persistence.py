"""Where a host keeps what it knows: the log store, and data wider than one thread."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from lousho_cli.errors import ConfigurationError
from lousho_cli.host.options import mapping_from
from lousho_cli.ports.log_store import LogStore

log_to = logging.getLogger("lousho")


class Metadata(Protocol):
    """Small values by key, wider than one thread, such as a person's standing permissions."""

    async def get(self, key: str) -> Any: ...

    async def set(self, key: str, value: Any) -> None: ...

    async def delete(self, key: str) -> None: ...


class MemoryMetadata:
    """Keeps them in this process."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}

    async def get(self, key: str) -> Any:
        found = self._values.get(key)
        return None if found is None else msgspec.json.decode(found)

    async def set(self, key: str, value: Any) -> None:
        self._values[key] = msgspec.json.encode(value)

    async def delete(self, key: str) -> None:
        self._values.pop(key, None)


class Persistence(msgspec.Struct, frozen=True):
    """What a host was given. ``metadata`` None: nothing wider than one thread is kept."""

    log: LogStore
    metadata: Metadata | None = None


def memory_persistence() -> dict[str, Any]:
    """A log and metadata in memory: nothing survives this process."""
    from lousho_cli.stores.memory import MemoryStore

    return {"log": MemoryStore(), "metadata": MemoryMetadata()}


def survives(store: LogStore) -> bool:
    """Whether a log is there again once its process is gone."""
    from lousho_cli.stores.memory import MemoryStore

    return not isinstance(store, MemoryStore)


def persistence_from(value: Mapping[str, Any] | None) -> Persistence:
    """Reads the option ``persistence``; without one the log is in memory, and a warning says so.

    Raises:
        ConfigurationError: it has no log, or something that is none.
    """
    if value is None:
        log_to.warning("this host keeps its threads in memory: none survives this process; give persistence a log store")
        value = memory_persistence()
    given = mapping_from("persistence", value, 'Give the store by its name: {"log": FileStore(…)}.')
    unknown = next((name for name in given if name not in ("log", "metadata")), None)
    if unknown is not None:
        raise ConfigurationError(f"persistence has no part {unknown}", field=f"persistence.{unknown}", hint="It has log and metadata.")
    log = given.get("log")
    missing = next((name for name in ("append", "read", "claim", "post", "heads") if not hasattr(log, name)), None)
    if missing is not None:
        raise ConfigurationError(f"persistence.log is no log store: it has no {missing}", field="persistence.log", hint="Use FileStore.")
    metadata = given.get("metadata")
    lacking = next((name for name in ("get", "set", "delete") if metadata is not None and not hasattr(metadata, name)), None)
    if lacking is not None:
        raise ConfigurationError(f"persistence.metadata has no {lacking}", field="persistence.metadata")
    return Persistence(log, metadata)  # type: ignore[arg-type]
