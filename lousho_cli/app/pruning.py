"""``prune``: remove what nobody has touched for long."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from lousho_cli.app.durations import parse_duration
from lousho_cli.domain.times import stamp
from lousho_cli.errors import ConfigurationError
from lousho_cli.ports.log_store import LogStore
from lousho_cli.stores.pruning import prune as prune_logs


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A session that was left as it is, and why."""

    session: str
    why: str


class PruneDone(msgspec.Struct, frozen=True, kw_only=True):
    """What was removed, or would be: ``pruned`` is False for a dry run.

    sessions: those removed, whole. checkpoints, approvals: how many checkpoints and decided approvals went, those of
    removed sessions included. kept: what is old and stays all the same: it waits for a person, is driven now, is damaged.
    """

    pruned: bool
    sessions: tuple[str, ...] = ()
    checkpoints: int = 0
    approvals: int = 0
    kept: tuple[Kept, ...] = ()

    @property
    def nothing(self) -> bool:
        return not (self.sessions or self.checkpoints or self.approvals)


def parse_age(text: str) -> int:
    """What ``--older-than`` says, in milliseconds.

    Raises:
        ConfigurationError: it is no length of time; a bare number is none here, as who means days must not lose all but the last seconds.
    """
    if text.strip().isdecimal():
        detail = f"--older-than needs a unit, not {text!r:.60}"
        raise ConfigurationError(detail, field="older_than", code="LOUSHO_USAGE", hint="Try: 30d")
    try:
        return parse_duration(text)
    except ValueError as error:
        raise ConfigurationError(f"--older-than {error}, not {text!r}", field="older_than", code="LOUSHO_USAGE", hint="Try: 30d") from error


async def prune(store: LogStore | None, older_than_ms: int, *, force: bool = False, dry_run: bool = False) -> PruneDone:
    """Removes sessions not touched for so long, decided approvals and checkpoints as old.

    Args:
        store: None stands for an empty one.
        force: also what waits for a person.
        dry_run: only say what would be removed.

    Raises:
        StorageError: the store can not be read or written.
    """
    if store is None:
        return PruneDone(pruned=not dry_run)
    found = await prune_logs(store, older_than_ms, now=stamp(datetime.now(UTC)), force=force, dry_run=dry_run)
    waits = (Kept(session=session, why="waits for a person: decide it, or use --force") for session in found.waiting)
    left = (Kept(session=session, why=why) for session, why in found.skipped)
    return PruneDone(
        pruned=not dry_run,
        sessions=found.sessions,
        checkpoints=found.checkpoints,
        approvals=found.approvals,
        kept=tuple(sorted((*waits, *left), key=lambda kept: kept.session)),
    )
