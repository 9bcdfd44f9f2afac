"""Commands in what is told to a person work when they are pasted: they name the store that was named. Pure."""

from __future__ import annotations

import re
import shlex

from lousho_cli.app.secrets import mask_url

WITHOUT_STORE = frozenset({"init", "schema", "config", "eval"})
"""Commands that do the same whatever ``--store`` says."""

WITH_STORE = (
    *("run", "resume", "pending", "approve", "reject", "answer", "abort", "inputs"),
    *("list", "history", "show", "fork", "diff", "follow", "drift", "tui", "worker"),
    *("delete", "prune", "trim", "fsck", "import", "export", "doctor"),
)
"""All others."""

_COMMAND = re.compile(rf"\blousho (?:{'|'.join(WITH_STORE)})\b(?!.* --store )")


def store_option(url: str | None) -> str:
    """The store as it was named, for a shell, with a space before it; a password in it is masked, and has to be put in again."""
    return f" --store {shlex.quote(mask_url(url))}" if url else ""


def naming_store(text: str, url: str | None) -> str:
    """A text for a person in which each command that reads a store names the one that was named with ``--store``.

    Args:
        text: such as ``Decide it first: lousho approve 7f3a``; what names a store behind a command already stays as it is.
        url: what ``--store`` said, None where it was not given.
    """
    return _COMMAND.sub(lambda found: found[0] + store_option(url), text) if url else text
