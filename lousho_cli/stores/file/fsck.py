"""Looks through a store and says what it finds; changes nothing."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from lousho_cli.errors import StorageError
from lousho_cli.stores.file import heads, inbox, snapshots
from lousho_cli.stores.file.layout import HEAD, INBOX, LOG, SNAPSHOT, Layout, id_of
from lousho_cli.stores.file.reading import LogReader, require_any
from lousho_cli.stores.file.scan import Scan
from lousho_cli.stores.findings import Finding, in_batches

if TYPE_CHECKING:
    from lousho_cli.stores.file.store import FileStore

_OURS = re.compile(r"owner\.[1-9][0-9]*\.json|log\.damaged-[1-9][0-9]*\.jsonl|snapshot\.json|head\.json|log\.jsonl|inbox")


async def check(store: FileStore) -> list[Finding]:
    """Everything worth saying about a store, session by session.

    Raises:
        StorageError: the store itself can not be read.
    """
    layout = store.layout
    found: list[Finding] = []
    for name in sorted(layout.names()):
        session_id = id_of(name)
        if session_id is None or not os.path.isdir(layout.sessions / name):  # noqa: ASYNC240 - reading never waits here
            found.append(Finding(name, "stray", None, f"{layout.sessions / name} is not the folder of a session"))
        else:
            found += check_session(layout, session_id)
    return found


def check_session(layout: Layout, session_id: str) -> list[Finding]:
    """Everything worth saying about one session."""
    folder = layout.folder(session_id)
    reader = LogReader(layout)
    try:
        scanned = reader.scan(session_id)
        require_any(scanned, f"{folder}/{LOG}")
    except StorageError as error:
        return [Finding(session_id, "unreadable", None, error.detail)]
    return [*_in_log(session_id, scanned), *_in_caches(session_id, folder, reader), *_strays(session_id, folder)]


def _in_log(session_id: str, scanned: Scan) -> list[Finding]:
    found = [
        Finding(session_id, "torn" if void.seq is None else "void", void.seq, f"the line at byte {void.offset} is {void.why}")
        for void in scanned.voids
    ]
    return [*found, *in_batches(session_id, scanned.batches, scanned.holes)]


def _in_caches(session_id: str, folder: str, reader: LogReader) -> list[Finding]:
    found = []
    if os.path.lexists(f"{folder}/{HEAD}") and heads.load(folder) is None:
        found.append(Finding(session_id, "cache", None, f"{folder}/{HEAD} is of no use and is passed over"))
    there = os.path.lexists(f"{folder}/{SNAPSHOT}")
    if there and snapshots.load(folder, lambda place: reader.scan(session_id, place)) is None:
        found.append(Finding(session_id, "cache", None, f"{folder}/{SNAPSHOT} is of no use and is passed over"))
    return found


def _strays(session_id: str, folder: str) -> list[Finding]:
    paths = [f"{folder}/{name}" for name in sorted(os.listdir(folder)) if not _OURS.fullmatch(name)]
    posts = f"{folder}/{INBOX}"
    paths += [f"{posts}/{name}" for name in sorted(inbox.names(posts)) if not inbox.is_post(f"{posts}/{name}")]
    return [Finding(session_id, "stray", None, f"{path} is no file of a session") for path in paths]
