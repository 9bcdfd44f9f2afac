"""Taking over from an owner that stays silent for its lease, and stopping agents of agents."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from warm_process import Popen

import lousho_cli
from lousho_cli.app.aborting import abort
from lousho_cli.core.background import calling_off
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import user
from lousho_cli.errors import SessionBusyError
from lousho_cli.host.harness import define_harness
from lousho_cli.host.host import create_harness_host
from lousho_cli.ports.sessions import read_session
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.stores.file.store import FileStore
from lousho_cli.tools.define import define_tool

OWNER = """
import asyncio, os, signal, sys
from lousho_cli.stores.file.store import FileStore
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import user

async def own():
    store = FileStore(sys.argv[1])
    claim = await store.claim("s", "elsewhere", 400)
    begun = (r.Claimed("elsewhere"), r.Created("trip"), r.InputReceived("i", (user("Go"),)), r.RunStarted("i"), r.InputApplied("i"))
    await store.append(claim, (r.Batch(1, claim.epoch, "2026-01-01T00:00:00.000Z", begun),))
    print("owned", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)

asyncio.run(own())
"""


async def test_now_takes_over_once_the_lease_is_up(tmp_path: Path) -> None:
    place = str(tmp_path / ".lousho")
    environ = os.environ | {"PYTHONPATH": str(Path(lousho_cli.__file__).parents[1])}
    owner = Popen([sys.executable, "-c", OWNER, place], stdout=subprocess.PIPE, text=True, env=environ)
    try:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "owned\n"
        told: list[str] = []
        done = await abort(place, "s", told.append, now=True)
        assert (done.outcome, done.by) == ("aborted", "us")
        assert (done.taken_from or "").startswith(f"elsewhere, pid {owner.pid}, since ")
    finally:
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        if owner.stdout is not None:
            owner.stdout.close()


async def test_an_abort_stops_agents_of_agents_too(tmp_path: Path) -> None:
    @define_tool(needs_approval=True)
    def dig() -> str:
        """Dig."""
        return "gold"

    place = tmp_path / ".lousho"
    host, store = create_harness_host({"log": FileStore(place)}), FileStore(place)
    below = define_harness("digger", ScriptedProvider([{"tool_calls": [{"name": "dig"}]}]), tools=[dig])
    scout = define_harness("scout", ScriptedProvider([{"tool_calls": [{"name": "dig"}]}]), tools=[dig], agents={"digger": below})
    lead = define_harness("lead", ScriptedProvider(["Hello."]), agents={"scout": scout})
    session = await host.open(lead, "t")
    key = await session.start_agent("scout", "Dig")
    handle = await session.agent(key)
    await handle.start_agent("digger", "Dig deeper")
    await host.idle("t")
    await host.close(recoverable=True)
    agents = [head.id for head in (await store.heads()).heads if head.waits_for is not None]
    done = await abort(str(place), "t", print)
    assert (done.by, sorted(done.agents)) == (None, sorted(agents))
    assert [(await read_session(store, one)).outcome for one in agents] == ["aborted", "aborted"]
    assert (await abort(str(place), "t", print)).agents == ()


def a_lead(epoch: int) -> r.Batch:
    """What the log of a lead says whose run goes on, and that of an agent."""
    run = (r.InputReceived("i", (user("Go"),)), r.RunStarted("i"), r.InputApplied("i"), r.AgentStarted("a", "scout", "t.scout", ()))
    return r.Batch(1, epoch, "2026-01-01T00:00:00.000Z", (r.Claimed("elsewhere"), r.Created("lead"), *run))


def an_agent(epoch: int) -> r.Batch:
    run = (r.InputReceived("a", (user("Dig"),)), r.RunStarted("a"), r.InputApplied("a"))
    return r.Batch(1, epoch, "2026-01-01T00:00:00.000Z", (r.Claimed("elsewhere"), r.Created("scout", parent="t"), *run))


async def test_the_wish_is_left_for_a_silent_owner_of_a_lead_and_for_its_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lousho_cli.app.aborting.SILENT_AFTER_S", 0.0)
    place = str(tmp_path / ".lousho")
    owner, here = FileStore(place), FileStore(place)
    claims = [await owner.claim(name, "elsewhere") for name in ("t", "t.scout")]
    for claim, batch in zip(claims, (a_lead(claims[0].epoch), an_agent(claims[1].epoch)), strict=True):
        await owner.append(claim, (batch,))
    # Its own end waits as well, and another person has asked before.
    for by in (None, "somebody else"):
        (post,) = calling_off(await read_session(here, "t"), "2026-01-01T00:00:00.000Z", by)
        await here.post("t", post if by else msgspec.structs.replace(post, id="agent-ended.a"))
    for _ in range(2):  # who asks again leaves no second wish
        with pytest.raises(SessionBusyError, match="elsewhere"):
            await abort(place, "t", print)
    left = {name: sorted(post.kind for post in await here.inbox(name)) for name in ("t", "t.scout")}
    assert left == {"t": ["abort", "agent_ended", "agent_ended"], "t.scout": ["abort"]}

    for claim in claims:
        await owner.release(claim)
    done = await abort(place, "t", print)
    assert (done.outcome, done.by, done.agents) == ("aborted", "us", ("t.scout",))
    assert [post.id for post in await here.inbox("t")] == ["agent-ended.a"]  # means nothing any more, and goes with the next owner


async def test_an_agent_that_is_started_meanwhile_keeps_nobody_waiting(tmp_path: Path) -> None:
    place = str(tmp_path / ".lousho")
    owner, here = FileStore(place), FileStore(place)
    claim = await owner.claim("t", "elsewhere")
    await owner.append(claim, (a_lead(claim.epoch),))

    async def go_on() -> None:
        """The owner takes up what is left for it, but starts another agent first."""
        seq, asked = 1, set[str]()
        while "abort" not in asked:
            posts = list(await owner.inbox("t"))
            started = (r.AgentStarted(f"b{seq}", "scout", f"t.b{seq}", ()),) if posts and seq < 4 else ()
            ended = [r.AgentEnded(post.body["id"], "aborted", code="lead_aborted") for post in posts if post.kind == "agent_ended"]
            asked = {post.kind for post in posts}
            settled = (r.AbortAsked(None), r.InputSettled("i", "aborted")) if "abort" in asked else ()
            if posts:
                seq += 1
                batch = r.Batch(seq, claim.epoch, "2026-01-01T00:00:00.000Z", (*started, *ended, *settled))
                await owner.append(claim, (batch,))
                await owner.discard("t", [post.id for post in posts])
            await asyncio.sleep(0)
        await owner.release(claim)

    going_on = asyncio.create_task(go_on())
    async with asyncio.timeout(30):
        done = await abort(place, "t", print)
    await going_on
    assert (done.outcome, done.by) == ("aborted", "owner")
    ended = (await read_session(here, "t")).agents
    assert {agent.code for agent in ended.values()} == {"lead_aborted"}
