"""``continue_cut_off`` without a host: whoever goes on with a session keeps what was written of the answer."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from lousho_cli import Agent, AgentExecutor, FileStore, ScriptedProvider
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import user
from lousho_cli.domain.texts import CONTINUE_NOTE
from lousho_cli.executor.abort import AbortController
from lousho_cli.ports.provider import ModelRequest, TextDelta


class Stopped:
    """Says half an answer; then its run is stopped for another process to go on with."""

    name, model = "stopped", "stopped"

    def __init__(self, controller: AbortController) -> None:
        self._controller = controller

    async def stream(self, request: ModelRequest) -> Any:
        yield TextDelta("It was ")
        self._controller.stop()
        await asyncio.Event().wait()
        yield TextDelta("unreachable")


@pytest.mark.parametrize("kept", [True, {"note": "Go on."}, False], ids=["on", "note", "off"])
async def test_a_run_that_was_stopped_goes_on_with_its_answer(tmp_path: Path, kept: Any) -> None:
    store, controller = FileStore(tmp_path), AbortController()
    options: dict[str, Any] = {"session_id": "s", "checkpoint_store": store.checkpoints, "continue_cut_off": kept}
    await AgentExecutor.execute(Agent("a"), "Hi", Stopped(controller), signal=controller.signal, **options)
    result = await AgentExecutor.execute(Agent("a"), [], ScriptedProvider([{"text": "night."}]), **options)
    assert result.text == ("It was night." if kept else "night.")
    asked = [message.text for message in result.messages[:-1]]
    note = CONTINUE_NOTE if kept is True else "Go on."
    assert asked == (["Hi", "It was ", note] if kept else ["Hi"])


async def test_the_next_message_of_a_run_that_failed_drops_it(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    claim = await store.claim("s", "gone")
    begun = (r.Created("a"), r.InputReceived("i", (user("Hi"),)), r.RunStarted("i"), r.InputApplied("i"))
    written = [begun, (r.Partial("It was "),), (r.InputSettled("i", "failed", "no"),)]
    await store.append(claim, [r.Batch(n, claim.epoch, "", records) for n, records in enumerate(written, 1)], durable=True)
    await store.release(claim)
    options: dict[str, Any] = {"session_id": "s", "checkpoint_store": store.checkpoints, "continue_cut_off": True}
    result = await AgentExecutor.execute(Agent("a"), [], ScriptedProvider([{"text": "Anew."}]), **options)
    assert [message.text for message in result.messages] == ["Hi", "Anew."]
