"""A process that imports a file into a store, and kills itself when half of what it writes at once is there.

Its words: the store's address and the file.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lousho_cli.app.importing import import_paths
from lousho_cli.app.wiring import open_store
from lousho_cli.domain.records import Batch


async def main(url: str, file: Path) -> None:
    store: Any = open_store(url, create=True)
    append = store.append

    async def half(claim: Any, batches: Sequence[Batch], *, durable: bool = True) -> None:
        assert len(batches) > 1, "what is one batch is there whole or not at all"
        await append(claim, batches[: len(batches) // 2], durable=durable)
        os.kill(os.getpid(), signal.SIGKILL)

    store.append = half
    await import_paths(store, [file], dry_run=False)


asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
