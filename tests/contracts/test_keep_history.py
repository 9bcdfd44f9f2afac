"""On every log store: a session that is deleted with its history kept, what can be done with that, and what follows."""

from __future__ import annotations

from lousho_cli.app.sessions import is_cleared
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.messages import Message, user
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.trimming import trim_session
from lousho_cli.ports.log_store import LogStore
from lousho_cli.stores.views import CheckpointView


def _checkpoint(step: int, text: str) -> Checkpoint:
    return Checkpoint("trip", (user("go"), Message("assistant", text)), step_index=step, agent_id="agent")


async def _kept(store: LogStore) -> CheckpointView:
    """Two saves, then a deletion that keeps them."""
    view = CheckpointView(store)
    for step in (1, 2):
        await view.save("trip", _checkpoint(step, f"old {step}"))
    await view.delete("trip", keep_history=True)
    return view


async def test_de_084_the_ring_stays_and_the_checkpoint_goes(store: LogStore) -> None:
    view = await _kept(store)
    assert await view.load("trip") is None
    assert [entry.address for entry in await view.history("trip")] == ["1/2.1", "1/1.1"]
    head = await store.head("trip")
    assert head is not None
    assert is_cleared(head)
    assert [one.id for one in (await store.heads()).heads] == ["trip"]


async def test_a_kept_checkpoint_can_be_forked(store: LogStore) -> None:
    view = await _kept(store)
    forked = await AgentExecutor.fork("trip", 1, view)
    assert (forked.session_id, forked.checkpoint.messages[-1].text) == ("trip.fork-1", "old 1")


async def test_de_085_a_new_save_extends_the_old_ring(store: LogStore) -> None:
    view = await _kept(store)
    await view.save("trip", _checkpoint(1, "new 1"))
    await view.save("trip", _checkpoint(2, "new 2"))
    entries = await view.history("trip")
    assert [entry.address for entry in entries] == ["2/2.1", "2/1.1", "1/2.1", "1/1.1"]
    assert [entry.checkpoint.messages[-1].text for entry in entries] == ["new 2", "new 1", "old 2", "old 1"]
    loaded = await view.load("trip")
    assert loaded is not None
    assert loaded.messages[-1].text == "new 2"


async def test_what_is_kept_outlives_a_trim(store: LogStore) -> None:
    view = await _kept(store)
    assert (await trim_session("trip", store)).trimmed
    assert await view.load("trip") is None
    head = await store.head("trip")
    assert head is not None
    assert is_cleared(head)
    await view.save("trip", _checkpoint(1, "new 1"))
    assert [entry.address for entry in await view.history("trip")] == ["2/1.1", "1/2.1", "1/1.1"]


async def test_without_it_everything_goes(store: LogStore) -> None:
    view = await _kept(store)
    await view.delete("trip")
    assert await view.history("trip") == []
    assert (await store.heads()).heads == ()
    await view.delete("nothing")
    await view.delete("nothing", keep_history=True)
    assert await store.head("nothing") is None
