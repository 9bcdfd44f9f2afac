"""How a session is refused that can be read and may not be written to. Pure."""

from __future__ import annotations

from lousho_cli.domain.session import IMPORT_CUT
from lousho_cli.errors import ConfigurationError, LogVersionError


def newer_version(session_id: str) -> LogVersionError:
    """The error for one that a newer version wrote."""
    return LogVersionError(
        f"session {session_id} was written by a newer version",
        hint="Update lousho to go on with it; it can still be shown.",
    )


def import_cut(session_id: str) -> ConfigurationError:
    """The error for one whose import was cut off."""
    hint = "Import it again, which brings the rest, or delete it."
    return ConfigurationError(f"session {session_id}: {IMPORT_CUT}", code="LOUSHO_IMPORT_CUT", hint=hint)
