"""What a reading command says about a log that is damaged or newer than this version, and its exit code then."""

from __future__ import annotations

from typing import Any

from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import Face


def report(face: Face, loaded: Any) -> Exit:
    """Warns of damage and of what a newer version wrote. What stands is still shown; damage makes it exit 7."""
    if loaded.newer:
        face.err.warning(loaded.newer)
    for detail in loaded.damage:
        face.err.warning(f"session {loaded.id} is damaged: {detail}; {face.named('see: lousho fsck')}")
    return Exit.DAMAGED if loaded.damage else Exit.DONE
