"""Parts of an answer reach the log only while somebody looks on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from lousho_cli import Agent, AgentExecutor, FileStore
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message
from lousho_cli.executor.abort import AbortController
from lousho_cli.executor.partials import AT_LEAST
from lousho_cli.ports.log_store import Claim
from lousho_cli.ports.provider import Answer, ModelRequest, ProviderEvent, TextDelta
from lousho_cli.stores.memory import MemoryStore

PIECE = "x" * AT_LEAST


class Talker:
    """Streams three large pieces."""

    name, model = "talker", "talker"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        for _ in range(3):
            yield TextDelta(PIECE)
        yield Answer(Message("assistant", PIECE * 3))


@pytest.mark.parametrize("watched", [True, False])
async def test_parts_are_written_while_somebody_follows(tmp_path: Path, watched: bool) -> None:
    store = FileStore(tmp_path)
    claim = await store.claim("talk", "host")  # the folder is there before anybody can look on
    if watched:
        await store.follow("talk")
    await store.release(claim)
    result = await AgentExecutor.execute(Agent("a"), "speak", Talker(), session_id="talk", checkpoint_store=store.checkpoints)
    assert result.text == PIECE * 3
    batches = (await store.read("talk")).batches
    parts = [record.text for batch in batches for record in batch.records if isinstance(record, r.Partial)]
    assert parts == ([PIECE] * 3 if watched else [])
    loaded = await store.checkpoints.load("talk")
    assert loaded is not None and [m.text for m in loaded.messages] == ["speak", PIECE * 3]


async def test_what_a_hook_takes_out_of_an_answer_is_in_no_part_of_it(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    claim = await store.claim("talk", "host")
    await store.follow("talk")
    await store.release(claim)
    hook = {"after_model": lambda request, answer: Answer(Message("assistant", "withheld"))}
    await AgentExecutor.execute(Agent("a"), "speak", Talker(), session_id="talk", checkpoint_store=store.checkpoints, hooks=[hook])
    assert PIECE not in repr((await store.read("talk")).batches)


class Slow(MemoryStore):
    """Tells when a part is being written, and takes a while to write one."""

    def __init__(self) -> None:
        super().__init__()
        self.writes_part = asyncio.Event()

    async def append(self, claim: Claim, batches: Sequence[r.Batch], *, durable: bool = True) -> None:
        if any(isinstance(record, r.Partial) for batch in batches for record in batch.records):
            self.writes_part.set()
            for _ in range(3):
                await asyncio.sleep(0)
        await super().append(claim, batches, durable=durable)


@pytest.mark.parametrize("stop", ["abort", "stop"])
async def test_an_abort_while_a_part_is_written_does_not_break_the_log_off(stop: str) -> None:
    store, controller = Slow(), AbortController()
    run = AgentExecutor.execute(
        Agent("a"),
        "speak",
        Talker(),
        session_id="talk",
        checkpoint_store=store.checkpoints,
        signal=controller.signal,
        continue_cut_off=True,
    )
    running = asyncio.ensure_future(run)
    await store.writes_part.wait()
    getattr(controller, stop)()
    result = await running
    assert (result.finish_reason == "aborted", result.stopped) == (stop == "abort", stop == "stop")
    parts = [record.text for batch in (await store.read("talk")).batches for record in batch.records if isinstance(record, r.Partial)]
    assert parts == [PIECE]


async def test_looking_on_an_unknown_session_makes_nothing(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "store")
    await store.follow("nobody")
    assert not (tmp_path / "store").exists()
    assert not await store.followed("nobody")
