"""Logs as a host left them that is gone, and looks into what became of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.domain.session import Session
from lousho_cli.host.harness import Harness, define_harness
from lousho_cli.ports.provider import Answer, ModelRequest, ProviderEvent
from lousho_cli.ports.sessions import read_session

NAME = "acme/assistant"
THEN = "2020-01-01T00:00:00.000Z"


class Model:
    """Answers from a list, and keeps what it was asked."""

    name, model = "listed", "listed"

    def __init__(self, *answers: str | Message | Exception) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[Message, ...]] = []
        self.models: list[str | None] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        self.asked.append(tuple(request.messages))
        self.models.append(request.model)
        given = self._answers.pop(0)
        if isinstance(given, Exception):
            raise given
        message = Message("assistant", given) if isinstance(given, str) else given
        yield Answer(message, "tool_calls" if message.tool_calls else "stop")


def harness(model: Any, **options: Any) -> Harness:
    return define_harness(NAME, model, **options)


def calling(*names: str) -> Message:
    """An answer that asks for tools; each call has its tool's name with a ``c-`` in front as its id."""
    return Message("assistant", "", tuple(ToolCall(f"c-{name}", name, "{}") for name in names))


def begun(input_id: str = "a", text: str = "Hi", **run: Any) -> tuple[r.Record, ...]:
    """A thread whose first input began to run."""
    started = r.RunStarted(input_id, **({"replay": "never"} | run))
    return r.Created(NAME, None, NAME), r.InputReceived(input_id, (user(text),)), started, r.InputApplied(input_id)


async def left(store: Any, *batches: Sequence[r.Record], thread: str = "t") -> None:
    """Writes batches as another host would have, and lets go of the log without a word."""
    claim = await store.claim(thread, "gone")
    head = (await store.read(thread)).head
    written = [r.Batch(head + n, claim.epoch, THEN, tuple(records)) for n, records in enumerate(batches, 1)]
    await store.append(claim, written, durable=True)
    await store.release(claim)


async def attempts(store: Any, times: int) -> None:
    """Lets further hosts begin the run that stands open, and be gone, until it has been begun so often."""
    for attempt in range(2, times + 1):
        await left(store, (r.RunResumed(attempt),))


async def records(store: Any, kind: type[Any], thread: str = "t") -> list[Any]:
    """The records of one kind in a log, in order."""
    return [record for batch in (await store.read(thread)).batches for record in batch.records if isinstance(record, kind)]


async def state(store: Any, thread: str = "t") -> Session:
    return await read_session(store, thread)
