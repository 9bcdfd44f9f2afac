"""Against llmock, a model server that nobody here wrote. Its fixture starts it on loopback."""

from __future__ import annotations

from typing import Any

import pytest
from llmock.scenarios import Reply
from llmock.scenarios import ToolCall as MockCall

from lousho_cli.domain.messages import Message
from lousho_cli.errors import ProviderError
from lousho_cli.ports.provider import ModelRequest, TextDelta, ToolSpec
from lousho_cli.providers.chat.provider import OpenAIProvider

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = (ToolSpec("forecast", "Forecast for a city", CITY), ToolSpec("trains", "Trains to a city", CITY))


@pytest.fixture
async def provider(llmock: Any) -> Any:
    asked = OpenAIProvider("gpt-mock", base_url=llmock.base_url())
    yield asked
    await asked.aclose()


async def failing(provider: OpenAIProvider, request: ModelRequest) -> tuple[ProviderError, str]:
    streamed = []
    with pytest.raises(ProviderError) as caught:
        async for event in provider.stream(request):
            streamed.append(getattr(event, "text", ""))
    return caught.value, "".join(streamed)


async def test_text_and_two_parallel_calls_and_then_the_answer(llmock: Any, provider: OpenAIProvider, wire: Any) -> None:
    llmock.add(
        Reply(text="Let me look at both.", tool_calls=(MockCall("forecast", {"city": "Lisbon"}), MockCall("trains", {"city": "Porto"})))
    )
    asked = Message(role="user", content="Weather and trains?")
    events = await wire.events(provider, ModelRequest(messages=(asked,), tools=TOOLS))
    answer = events[-1]
    assert len([event for event in events if isinstance(event, TextDelta)]) > 1
    assert answer.message.content == "Let me look at both."
    assert [(call.name, call.arguments.replace(" ", "")) for call in answer.message.tool_calls] == [
        ("forecast", '{"city":"Lisbon"}'),
        ("trains", '{"city":"Porto"}'),
    ]
    assert answer.finish_reason == "tool_calls"
    assert answer.usage is not None
    assert answer.usage.input_tokens
    assert answer.usage.output_tokens

    llmock.reply("It is sunny.")
    results = [Message(role="tool", content='"sun"', tool_call_id=call.id, tool_name=call.name) for call in answer.message.tool_calls]
    after = await wire.answer(provider, ModelRequest(messages=(asked, answer.message, *results), tools=TOOLS, turns=1))
    assert (after.message.content, after.finish_reason) == ("It is sunny.", "stop")
    llmock.assert_resilient(strict=True)


async def test_a_rate_limit_with_its_wait(llmock: Any, provider: OpenAIProvider, wire: Any) -> None:
    llmock.rate_limit(retry_after=2)
    error, streamed = await failing(provider, wire.hello)
    assert (error.category, error.retryable, error.retry_after_ms, error.partial, streamed) == ("rate-limit", True, 2000, False, "")


@pytest.mark.parametrize("how", ["disconnect", "truncate", "corrupt"])
async def test_a_stream_that_breaks_in_the_middle(llmock: Any, provider: OpenAIProvider, wire: Any, how: str) -> None:
    llmock.reply("one two three four five six seven eight")
    getattr(llmock, how)(after_chunks=3)
    error, streamed = await failing(provider, wire.hello)
    assert (error.retryable, error.partial) == (True, True)
    assert streamed
    assert "one two three four five six seven eight".startswith(streamed)


async def test_a_stream_that_stalls(llmock: Any, wire: Any) -> None:
    llmock.reply("one two three four five")
    llmock.stall(after_chunks=2, seconds=1)
    provider = OpenAIProvider("gpt-mock", base_url=llmock.base_url(), idle_timeout_ms=100)
    error, _ = await failing(provider, wire.hello)
    await provider.aclose()
    assert (error.category, error.retryable) == ("timeout", True)


@pytest.mark.parametrize(
    ("status", "category", "retryable"),
    [(400, "bad-request", False), (401, "auth-failure", False), (500, "server", True), (503, "overloaded", True)],
)
async def test_statuses(llmock: Any, provider: OpenAIProvider, wire: Any, status: int, category: str, retryable: bool) -> None:
    llmock.fail(status)
    error, _ = await failing(provider, wire.hello)
    assert (error.category, error.retryable) == (category, retryable)


async def test_a_transcript_that_is_too_long(llmock: Any, provider: OpenAIProvider, wire: Any) -> None:
    llmock.context_overflow()
    error, _ = await failing(provider, wire.hello)
    assert (error.category, error.retryable) == ("context-length-exceeded", False)
