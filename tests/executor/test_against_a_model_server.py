"""Whole runs against llmock, a model server that nobody here wrote: parallel calls, a rate limit, a cut stream.

Its pytest fixture starts it on loopback.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from llmock.scenarios import Reply
from llmock.scenarios import ToolCall as MockCall

from lousho_cli import Agent, AgentExecutor, FileStore, OpenAIProvider, function_tool, retry_transient_errors
from lousho_cli.domain import records as r
from lousho_cli.executor.clock import SYSTEM_CLOCK


async def run(server: Any, store: FileStore, clock: Any, events: list[Any]) -> Any:
    def forecast(city: str) -> str:
        return f"sun in {city}"

    def trains(city: str) -> str:
        return f"trains to {city}"

    provider = OpenAIProvider("gpt-mock", base_url=server.base_url())
    try:
        return await AgentExecutor.execute(
            Agent("trip", prompt="You plan trips."),
            "Weather and trains?",
            provider,
            [function_tool(forecast), function_tool(trains)],
            session_id="trip",
            checkpoint_store=store.checkpoints,
            on_model_error=retry_transient_errors(),
            on_event=events.append,
            clock=clock,
        )
    finally:
        await provider.aclose()


@pytest.mark.parametrize("fault", [None, "rate_limit", "disconnect", "truncate"])
async def test_a_run_gets_through(tmp_path: Path, llmock: Any, clock: Any, fault: str | None) -> None:
    if fault == "rate_limit":
        llmock.rate_limit(retry_after=1)
        clock = SYSTEM_CLOCK  # the server judges whether we really waited
    elif fault is not None:
        llmock.reply("this answer never comes to its end, whatever happens here")
        getattr(llmock, fault)(after_chunks=3)
    llmock.add(Reply(text="Let me look.", tool_calls=(MockCall("forecast", {"city": "Lisbon"}), MockCall("trains", {"city": "Porto"}))))
    llmock.reply("Sunny, and the train leaves at nine.")
    store, events = FileStore(tmp_path), []
    result = await run(llmock, store, clock, events)
    assert (result.text, result.finish_reason, result.steps) == ("Sunny, and the train leaves at nine.", "stop", 2)
    assert [m.text for m in result.messages if m.role == "tool"] == ['"sun in Lisbon"', '"trains to Porto"']
    assert [m.text for m in result.messages if m.role == "assistant"] == ["Let me look.", "Sunny, and the train leaves at nine."]
    assert len([event for event in events if event.type == "text.delta"]) > 2
    retried = [x for batch in (await store.read("trip")).batches for x in batch.records if isinstance(x, r.ModelRetry)]
    assert len(retried) == (fault is not None)
    if fault == "rate_limit":
        assert retried[0].wait_ms == 1000
    llmock.assert_resilient()
