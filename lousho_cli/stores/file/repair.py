"""Makes a damaged log one that can be written again, losing nothing that can still be read.

The new log holds every line before the first hole as it was, and behind it every line that still
stands, numbered on without a gap; then a note that says what is missing. A line with a record that
can not be read counts as a hole. The damaged file stays
beside it as ``log.damaged-N.jsonl``. A reader sees the old log or the new one, never half of it.
"""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

from lousho_cli.core.versions import require_known
from lousho_cli.domain import records as r
from lousho_cli.domain.codec import encode_line
from lousho_cli.errors import StorageError
from lousho_cli.ports.log_store import DEFAULT_TTL_MS, Hole
from lousho_cli.stores.file.claims import give_back, take
from lousho_cli.stores.file.file_claim import FileClaim
from lousho_cli.stores.file.layout import HEAD, SNAPSHOT, storage_error, sync_folder, write_new
from lousho_cli.stores.file.reading import LogReader, require_any
from lousho_cli.stores.mending import damage_of, mended

if TYPE_CHECKING:
    from lousho_cli.stores.file.store import FileStore


async def repair(store: FileStore, session_id: str) -> str | None:
    """Repairs one session; gives the path of the damaged file that was kept, None when there was nothing to repair.

    Raises:
        SessionBusyError: somebody drives it.
        LogVersionError: a newer version wrote it, which alone knows how to repair it.
        StorageError: nothing in it is valid, or it can not be written.
    """
    layout, reader = store.layout, LogReader(store.layout)
    claim = take(layout, session_id, os.uname().nodename, DEFAULT_TTL_MS, reader.scan(session_id).epoch)
    try:
        found = reader.scan(session_id)
        path = layout.log(session_id)
        require_any(found, path)
        require_known(session_id, found.batches)
        kept, damage = damage_of(found.batches, found.holes)
        if not kept:
            raise StorageError(f"{path} holds no record that can be read")
        return _replace(claim, kept, damage, path) if damage else None
    finally:
        give_back(claim, None)


def _replace(claim: FileClaim, batches: list[r.Batch], damage: list[Hole], path: str) -> str:
    new = f"{path}.{claim.epoch}.tmp"
    try:
        kept = _keep(path)
        kept_lines = mended(batches, damage, claim.epoch, claim.host, os.path.basename(kept))
        write_new(new, b"".join(map(encode_line, kept_lines)), sync=True)
        for cache in (HEAD, SNAPSHOT):
            if os.path.lexists(f"{claim.folder}/{cache}"):
                os.unlink(f"{claim.folder}/{cache}")
        if not claim.holds():
            raise StorageError(f"{path}: another owner took the session while it was being repaired")
        os.replace(new, path)
        sync_folder(claim.folder)
    except OSError as error:
        raise storage_error(path, error) from error
    return kept


def _keep(path: str) -> str:
    """Gives the damaged file a second name."""
    stem = path.removesuffix(".jsonl")
    for number in itertools.count(1):
        name = f"{stem}.damaged-{number}.jsonl"
        try:
            os.link(path, name)
        except FileExistsError:
            continue
        return name
    raise AssertionError("unreachable")
