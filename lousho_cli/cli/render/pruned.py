"""What a prune removed, in words."""

from __future__ import annotations

from typing import Any

from lousho_cli.cli.output import Output


def what_goes(found: Any) -> str:
    """How much goes: ``2 sessions, 5 checkpoints``."""
    counts = ((len(found.sessions), "session"), (found.checkpoints, "checkpoint"), (found.approvals, "approval"))
    return ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts if count)


def pruned_text(out: Output, found: Any) -> None:
    """The sessions that went, each on a line, then how much it was."""
    verb = "removed" if found.pruned else "would remove"
    for session in found.sessions:
        out.line(f"{verb} {session}")
    out.line("nothing is that old" if found.nothing else f"{verb} {what_goes(found)}")
