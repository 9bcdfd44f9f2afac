"""What a host is told: how long it owns what, when it caches, what it gives up. Whole milliseconds throughout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

import msgspec

from lousho_cli.core.snapshot_timing import SnapshotTiming
from lousho_cli.errors import ConfigurationError, RangeError

EXPIRES_AFTER_MS = 30_000
RENEW_EVERY_MS = 10_000

T = TypeVar("T")


class Ownership(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long a thread stays this host's.

    expires_after_ms: after each renewal; then another host may take it.
    renew_every_ms: must be less; a third of the former where only that is given.
    host_id: a stable name of this host, such as the machine's. A thread whose tools used a folder here then stays here.
    """

    expires_after_ms: int = EXPIRES_AFTER_MS
    renew_every_ms: int | None = None
    host_id: str | None = None

    @property
    def renews_ms(self) -> int:
        if self.renew_every_ms is not None:
            return self.renew_every_ms
        return RENEW_EVERY_MS if self.expires_after_ms == EXPIRES_AFTER_MS else self.expires_after_ms // 3


class Lifecycle(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """close_idle_sessions_after_ms: how long a session that nobody holds stays open. keep_log_records: None keeps all."""

    close_idle_sessions_after_ms: int = 60_000
    keep_log_records: Literal["since-snapshot"] | None = None


def ownership_from(value: Ownership | Mapping[str, Any] | None) -> Ownership:
    """Reads the option ``ownership``.

    Raises:
        ConfigurationError: an unknown name, or a value of the wrong kind.
        RangeError: a time below 1, or renewals that come too late.
    """
    given = option_from("ownership", value, Ownership)
    _at_least_one("ownership.expires_after_ms", given.expires_after_ms)
    _at_least_one("ownership.renew_every_ms", given.renews_ms)
    if given.renews_ms >= given.expires_after_ms:
        raise RangeError(
            f"ownership is renewed every {given.renews_ms} ms and expires after {given.expires_after_ms} ms",
            field="ownership.renew_every_ms",
            hint="Renew more often than it expires.",
        )
    return given


def snapshots_from(value: Mapping[str, Any] | None) -> SnapshotTiming:
    """Reads the option ``log``, whose ``save_snapshot_after`` it gives. Raises like ``ownership_from``."""
    given = mapping_from("log", value)
    timing = option_from("log.save_snapshot_after", given.pop("save_snapshot_after", None), SnapshotTiming)
    _no_more("log", given)
    _at_least_one("log.save_snapshot_after.bytes", timing.bytes)
    _at_least_one("log.save_snapshot_after.ms", timing.ms)
    return timing


def lifecycle_from(value: Mapping[str, Any] | None) -> Lifecycle:
    """Reads the option ``lifecycle``. Raises like ``ownership_from``."""
    given = mapping_from("lifecycle", value)
    retention = mapping_from("lifecycle.retention", given.pop("retention", None))
    lifecycle = option_from("lifecycle", {**given, "keep_log_records": retention.pop("keep_log_records", None)}, Lifecycle)
    _no_more("lifecycle.retention", retention)
    _at_least_one("lifecycle.close_idle_sessions_after_ms", lifecycle.close_idle_sessions_after_ms)
    return lifecycle


def option_from(field: str, value: Any, kind: type[T]) -> T:
    """A frozen option from itself, a mapping, or None for all defaults.

    Raises:
        ConfigurationError: it is something else; ``field`` names it.
    """
    if isinstance(value, kind):
        return value
    try:
        return msgspec.convert(dict(value or {}), kind)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise ConfigurationError(f"{field} is not valid: {error}", field=field) from error


def mapping_from(field: str, value: Any, hint: str = "") -> dict[str, Any]:
    """A mapping of our own, empty for None.

    Raises:
        ConfigurationError: it is something else; ``field`` names it.
    """
    if value is not None and not isinstance(value, Mapping):
        raise ConfigurationError(f"{field} must be a mapping, not {type(value).__name__}", field=field, hint=hint)
    return dict(value or {})


def _no_more(field: str, rest: Mapping[str, Any]) -> None:
    for name in rest:
        raise ConfigurationError(f"{field} has no option {name}", field=f"{field}.{name}")


def _at_least_one(field: str, value: int) -> None:
    if value < 1:
        raise RangeError(f"{field} is {value}", field=field, hint="Use a whole number of milliseconds from 1 up.")
