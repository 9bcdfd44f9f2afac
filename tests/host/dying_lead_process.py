"""A process with a host over a file store that starts a background agent, and kills itself right behind the first record of a kind.

Its words: the store's folder, the record's type, and ``again`` where the agent is to run again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lousho_cli import FileStore
from lousho_cli.domain.records import Batch
from lousho_cli.host.host import create_harness_host
from tests.host.agents import digging

folder, where, again = Path(sys.argv[1]), sys.argv[2], sys.argv[3:] == ["again"]


class Dying(FileStore):
    async def append(self, claim: Any, batches: Sequence[Batch], *, durable: bool = True) -> None:
        await super().append(claim, batches, durable=durable)
        if any(record.__struct_config__.tag == where for batch in batches for record in batch.records):
            os.kill(os.getpid(), signal.SIGKILL)


async def main() -> None:
    session = await create_harness_host({"log": Dying(folder)}).open(digging(folder.parent / "ran.txt"), "t")
    await session.start_agent("scout", "Dig", run_again_after_crash=again, start_turn_when_done=True, agent_id="one")
    await session.agent_result("one")
    await asyncio.Event().wait()


asyncio.run(main())
