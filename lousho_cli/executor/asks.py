"""What calls of this process wait for, and the secrets on their way to them: the one part of a run that is in no log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import PendingApproval


class Asks:
    """Wakes calls when what they asked was answered. What the answer is, the log says, unless it was a secret."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._secrets: dict[tuple[tuple[str, ...], str | None], Any] = {}

    def expect(self, ask_id: str) -> asyncio.Future[None]:
        """Done once the log has the answer."""
        return self._waiting.setdefault(ask_id, asyncio.get_running_loop().create_future())

    def heard(self, batches: Sequence[r.Batch]) -> None:
        """These were written."""
        if not self._waiting:
            return
        for batch in batches:
            for record in batch.records:
                waiting = self._waiting.pop(record.id, None) if isinstance(record, r.AskAnswered) else None
                if waiting is not None and not waiting.done():
                    waiting.set_result(None)

    def hold(self, ask: PendingApproval, secret: Any) -> None:
        """Keeps a secret until the call that asked takes it, or runs again and asks."""
        self._secrets[ask.place, ask.step] = secret

    def take(self, place: tuple[str, ...], step: str) -> Any:
        """The secret that was answered there, None for none; it is kept no longer."""
        return self._secrets.pop((place, step), None)
