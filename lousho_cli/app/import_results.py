"""What became of an import: sessions, what was left, what could not be read."""

from __future__ import annotations

from typing import Literal

import msgspec

from lousho_cli.interchange.reading.values import BadLine

Result = Literal["imported", "extended", "unchanged", "skipped"]


class Imported(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What became of one session.

    checkpoints: how many were written. messages: how many it has where it came from. was: its id there, if that can not be one
    here, or is another's by now. parent: the session whose sub-agent it is. waits_for: the approval that can be decided now.
    why: the reason it was skipped. repaired: what was put right in it, in words. bad_lines: what could not be read of its file, and
    ``unit`` what their numbers count there: lines, or messages.
    skipped_types: how many lines of which kinds were no part of the talk.
    """

    session: str
    source: str
    result: Result
    checkpoints: int
    kind: str = ""
    messages: int = 0
    waits_for: str | None = None
    was: str | None = None
    why: str | None = None
    parent: str | None = None
    repaired: tuple[str, ...] = ()
    bad_lines: tuple[BadLine, ...] = ()
    unit: str = "line"
    skipped_types: dict[str, int] = {}


class NotImported(msgspec.Struct, frozen=True):
    """Something that was found and could not be read, and why."""

    source: str
    why: str


class Import(msgspec.Struct, frozen=True):
    """What was done, or with ``dry_run`` would be. ``left`` says in words what was left where it is."""

    dry_run: bool
    sessions: tuple[Imported, ...]
    failed: tuple[NotImported, ...]
    left: tuple[str, ...] = ()

    @property
    def empty_handed(self) -> bool:
        """Whether nothing of what was found is here now."""
        return not any(one.result != "skipped" for one in self.sessions) and bool(self.sessions or self.failed)

    @property
    def partial(self) -> bool:
        """Whether lines of a file that was imported could not be read."""
        return any(one.bad_lines for one in self.sessions)
