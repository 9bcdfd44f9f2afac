"""The same questions to every wire, against model servers that nobody here wrote: aimock and llmock, on loopback."""

from __future__ import annotations

from typing import Any

import pytest

from lousho_cli import Agent, AgentExecutor, FileStore, function_tool, retry_transient_errors
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message
from lousho_cli.errors import ProviderError
from lousho_cli.ports.provider import Answer, ModelRequest, ReasoningDelta, TextDelta, ToolSpec

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = (ToolSpec("forecast", "Forecast for a city", CITY), ToolSpec("trains", "Trains to a city", CITY))

FAULTS = {
    "rate-limit": ("rate-limit", False),
    "overloaded": ("overloaded", False),
    "server-error": ("server", False),
    "disconnect": ("network", True),
    "truncate": ("network", True),
    "malformed": ("server", None),  # one breaks a piece of the answer, the other all of it
    "stall": ("timeout", True),
}
IMPATIENT = {"stall": {"idle_timeout_ms": 300}}


def wait_asked(server: Any, fault: str) -> int | None:
    """Milliseconds the server asks to wait; llmock says it with some more failures than aimock does."""
    if server.name == "aimock":
        return 1000 if fault == "rate-limit" else None
    return 100 if fault in ("rate-limit", "overloaded", "server-error") else None


def asking(text: str) -> ModelRequest:
    return ModelRequest(messages=(Message(role="user", content=text),), tools=TOOLS)


@pytest.fixture
async def ask(kind: Any, server: Any) -> Any:
    """Asks once, and gives what was streamed; a failure is given behind it."""
    opened = []

    async def run(request: ModelRequest, **options: Any) -> tuple[list[Any], Any]:
        provider = kind.provider(server.root_of(kind), headers=server.headers, **options)
        opened.append(provider)
        events: list[Any] = []
        try:
            async for event in provider.stream(request):
                events.append(event)
        except ProviderError as error:
            return events, error
        return events[:-1], events[-1]

    yield run
    for provider in opened:
        await provider.aclose()


def words(deltas: list[Any]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


async def test_text(server: Any, ask: Any, text: str) -> None:
    deltas, answer = await ask(asking(server.prepare("text")))
    assert len(deltas) > 3
    assert words(deltas) == answer.message.content == text
    assert (answer.finish_reason, answer.message.tool_calls) == ("stop", ())
    assert answer.usage is not None
    assert answer.model


async def test_parallel_calls_and_the_answer_behind_them(server: Any, ask: Any) -> None:
    request = asking(server.prepare("calls"))
    deltas, answer = await ask(request)
    assert words(deltas) == answer.message.content == "Let me look at both."
    calls = answer.message.tool_calls
    assert [(call.name, call.arguments.replace(" ", "")) for call in calls] == [
        ("forecast", '{"city":"Lisbon"}'),
        ("trains", '{"city":"Porto"}'),
    ]
    assert len({call.id for call in calls} - {""}) == 2
    assert answer.finish_reason == "tool_calls"
    results = [Message(role="tool", content='"sun"', tool_call_id=call.id, tool_name=call.name) for call in calls]
    _, after = await ask(ModelRequest(messages=(*request.messages, answer.message, *results), tools=TOOLS, turns=1))
    assert (after.message.content, after.finish_reason) == ("It is sunny.", "stop")


async def test_thinking(kind: Any, aimock: Any) -> None:
    """llmock has no thinking."""
    provider = kind.provider(aimock.root, headers=aimock.headers)
    *deltas, answer = [event async for event in provider.stream(asking(aimock.prepare("thinking")))]
    await provider.aclose()
    thought = "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))
    assert thought == "Two cities, so two calls."
    assert "".join(block.text for block in answer.message.reasoning) == thought
    assert (answer.message.content, answer.finish_reason) == ("Sunny.", "tool_calls")
    if kind.id == "anthropic":
        assert "c2lnbmVk" in [block.signature for block in answer.message.reasoning]
        assert "c2VhbGVk" in repr(answer.message.reasoning)


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_failure_says_what_it_is(server: Any, ask: Any, text: str, fault: str) -> None:
    deltas, error = await ask(asking(server.prepare(fault)), **IMPATIENT.get(fault, {}))
    category, partial = FAULTS[fault]
    assert (error.category, error.retryable) == (category, True)
    assert error.partial is (server.name == "llmock" if partial is None else partial)
    assert not any(isinstance(delta, Answer) for delta in deltas)
    assert bool(words(deltas)) is error.partial
    assert text.startswith(words(deltas))
    assert error.retry_after_ms == wait_asked(server, fault)


@pytest.mark.parametrize(
    ("status", "category", "retryable"),
    [
        (400, "bad-request", False),
        (401, "auth-failure", False),
        (403, "auth-failure", False),
        (404, "bad-request", False),
        (502, "server", True),
        (503, "overloaded", True),
    ],
)
async def test_statuses(kind: Any, llmock: Any, status: int, category: str, retryable: bool) -> None:
    """As llmock writes the error of each; aimock writes what it is told."""
    llmock.fail(status, retry_after=0.1)
    error = await failing(kind, llmock)
    assert (error.category, error.retryable) == (category, retryable)


async def test_a_transcript_that_is_too_long(kind: Any, llmock: Any) -> None:
    llmock.context_overflow()
    error = await failing(kind, llmock)
    assert (error.category, error.retryable) == ("context-length-exceeded", False)


async def failing(kind: Any, llmock: Any) -> ProviderError:
    provider = kind.provider(llmock.base_url(kind.llmock).removesuffix("/v1"))
    with pytest.raises(ProviderError) as caught:
        _ = [event async for event in provider.stream(asking("hello"))]
    await provider.aclose()
    return caught.value


async def test_a_slow_start(server: Any, ask: Any, text: str) -> None:
    """Not held against the time between two pieces; held against the time until the first."""
    _, answer = await ask(asking(server.prepare("slow")), idle_timeout_ms=200)
    assert answer.message.content == text
    deltas, error = await ask(asking(server.prepare("slow")), first_byte_timeout_ms=60)
    assert (error.category, error.retryable, error.partial, deltas) == ("timeout", True, False, [])


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_run_gets_through_and_keeps_one_answer(
    tmp_path: Any, kind: Any, server: Any, verdict: Any, clock: Any, text: str, fault: str
) -> None:
    provider = kind.provider(server.root_of(kind), headers=server.headers, **IMPATIENT.get(fault, {}))
    store = FileStore(tmp_path)
    judged = server.name == "llmock"  # whether we really waited, and only once it had done with the call before
    options = {} if judged else {"clock": clock}
    try:
        result = await AgentExecutor.execute(
            Agent("a", prompt="Be brief."),
            server.prepare(fault),
            provider,
            session_id="s",
            checkpoint_store=store.checkpoints,
            on_model_error=retry_transient_errors(base_delay_ms=80 if judged else 1),
            **options,
        )
    finally:
        await provider.aclose()
    assert (result.text, result.finish_reason, result.steps) == (text, "stop", 1)
    assert [message.role for message in result.messages] == ["system", "user", "assistant"]
    kept = [record for batch in (await store.read("s")).batches for record in batch.records]
    turns = [record for record in kept if isinstance(record, r.Turn)]
    assert [turn.message.text for turn in turns] == [text]
    (wait,) = [record.wait_ms for record in kept if isinstance(record, r.ModelRetry)]
    asked = wait_asked(server, fault)
    assert wait == asked if asked else (60 <= wait <= 80 if judged else wait == 1)
    if judged:
        found = verdict()
        assert (found["passed"], found["findings"], found["attempts"]) == (True, [], 2)


async def test_a_run_with_parallel_calls(kind: Any, server: Any, verdict: Any) -> None:
    def forecast(city: str) -> str:
        return f"sun in {city}"

    def trains(city: str) -> str:
        return f"trains to {city}"

    provider = kind.provider(server.root_of(kind), headers=server.headers)
    try:
        result = await AgentExecutor.execute(
            Agent("a", prompt="Be brief."), server.prepare("calls"), provider, [function_tool(forecast), function_tool(trains)]
        )
    finally:
        await provider.aclose()
    assert (result.text, result.steps) == ("It is sunny.", 2)
    assert [message.text for message in result.messages if message.role == "tool"] == ['"sun in Lisbon"', '"trains to Porto"']
    if server.name == "llmock":
        assert verdict()["findings"] == []
