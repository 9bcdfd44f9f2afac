"""Hosts of two versions on one store: the older one stops at what it does not know, and the newer one goes on."""

from __future__ import annotations

from typing import Any

import pytest

from lousho_cli.core import pending, versions
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import user
from lousho_cli.domain.session import IMPORTING
from lousho_cli.errors import ConfigurationError, LogVersionError
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.host.host import create_harness_host
from lousho_cli.providers.scripted import ScriptedProvider
from tests.host.owning import Work, closing, nobody_owns, says


async def newer_wrote(store: Any, thread_id: str) -> None:
    """What a host of a newer version left behind."""
    claim = await store.claim(thread_id, "newer")
    head = (await store.read(thread_id)).head
    line = r.Batch(head + 1, claim.epoch, SYSTEM_CLOCK.now(), (r.Claimed("newer", format=r.FORMAT + 1),))
    await store.append(claim, (line,))
    await store.release(claim)


async def left_open(store: Any) -> None:
    work = Work()
    host = create_harness_host({"log": store})
    session = await host.open(work.harness(abort_grace_ms=0), "t")
    await session.send("Go", input_id="a")
    await work.begun.wait()
    await host.close(recoverable=True)


async def test_ds_032_a_newer_record_stops_the_session_and_nothing_is_written(store: Any) -> None:
    host = create_harness_host({"log": store})
    async with closing(host):
        session = await host.open(says("One.", "Two."), "t")
        await session.send("Hi", input_id="a")
        await session.settled("a")
        await nobody_owns(store, "t")
        await newer_wrote(store, "t")
        before = (await store.read("t")).batches
        for _ in range(2):
            with pytest.raises(LogVersionError):
                await session.send("More", input_id="b")
        with pytest.raises(LogVersionError):
            await session.cancel()
        assert (await store.read("t")).batches == before
        assert (await session.settled("a")).text == "One.", "it reads on"


async def test_ds_192_a_newer_host_finishes_what_an_older_one_let_go(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    await left_open(store)
    await newer_wrote(store, "t")
    work = Work()
    work.go.set()
    older = create_harness_host({"log": store})
    async with closing(older):
        assert await older.resume_pending([work.harness()]) == []
        session = await older.open(work.harness(), "t")
        await older.recover()
        with pytest.raises(LogVersionError):
            await session.send("More", input_id="b")
        assert await store.owner("t") is None, "it let the thread go"
        for module in (r, pending, versions):
            monkeypatch.setattr(module, "FORMAT", r.FORMAT + (module is r) if module is r else 2)
        newer = create_harness_host({"log": store})
        async with closing(newer):
            assert [one.thread_id for one in await newer.resume_pending([work.harness()])] == ["t"]
            assert (await session.settled("a")).text == "Done."


async def test_nobody_goes_on_with_half_an_import(store: Any) -> None:
    claim = await store.claim("t", "importer")
    records = (r.Claimed("importer"), r.Created("a"), r.SettingChanged(IMPORTING, True), r.Splice(0, (user("One?"),)))
    await store.append(claim, (r.Batch(1, claim.epoch, SYSTEM_CLOCK.now(), records),))
    await store.release(claim)
    before = (await store.read("t")).batches
    provider = ScriptedProvider(["Never said."])
    host = create_harness_host({"log": store})
    async with closing(host):
        session = await host.open(says("Never said.", name="a"), "t")
        for going_on in (
            session.send("And?"),
            AgentExecutor.execute(agent={"id": "a"}, input="And?", provider=provider, session_id="t", checkpoint_store=store.checkpoints),
        ):
            with pytest.raises(ConfigurationError) as caught:
                await going_on
            assert caught.value.code == "LOUSHO_IMPORT_CUT"
        assert await host.resume_pending([says("Never said.", name="a")]) == []
    assert (await store.read("t")).batches == before
