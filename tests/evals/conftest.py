"""A model whose answers are written down and counted, an agent over it, and a folder for its cassettes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any

import pytest

from lousho_cli import AgentExecutor, cassette, memory_store
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.ports.provider import Answer, ModelRequest, ProviderEvent, TextDelta
from lousho_cli.tools.function import function_tool


class Model:
    """A provider. An entry is a text, an ``Answer``, a list of events, an exception to raise, or a function of the request.

    It plays entry N for the Nth time it is asked, whatever the transcript says.
    """

    name = "written"

    def __init__(self, *entries: Any, model: str | None = "m-1") -> None:
        self.entries, self.model = entries, model
        self.address = "https://models.test/v1"
        self.asked: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        self.asked.append(request)
        entry = self.entries[len(self.asked) - 1]
        if callable(entry):
            entry = entry(request)
            if isinstance(entry, Awaitable):
                entry = await entry
        if isinstance(entry, str):
            entry = [TextDelta(entry), Answer(Message("assistant", entry), model="m-1")]
        for event in entry if isinstance(entry, list) else [entry]:
            if isinstance(event, Exception):
                raise event
            yield event


def calling(name: str, args: Any = None, *, call: str = "call_1", text: str = "") -> Answer:
    """An answer that asks for one tool."""
    given = args if isinstance(args, str) else json.dumps(args or {})
    return Answer(Message("assistant", text, tool_calls=(ToolCall(call, name, given),)), "tool_calls", model="m-1")


def request(*texts: str, model: str | None = "m-1", tools: Any = ()) -> ModelRequest:
    """What a model is asked: a user's texts."""
    return ModelRequest(tuple(Message("user", text) for text in texts), tuple(tools), model)


async def events(provider: Any, asked: ModelRequest) -> list[ProviderEvent]:
    """All that one call gives."""
    return [event async for event in provider.stream(asked)]


async def said(provider: Any, *texts: str) -> str:
    """The text of one answer."""
    return (await events(provider, request(*texts)))[-1].message.text


class Bench:
    """What the tests of this folder use."""

    Model, calling, request, events, said = Model, staticmethod(calling), staticmethod(request), staticmethod(events), staticmethod(said)

    @staticmethod
    async def run(provider: Any, text: str = "go", tools: Any = (), **options: Any) -> Any:
        """A run of one agent in a store of its own."""
        store = options.pop("store", None) or memory_store()
        options = {"agent": {"name": "agent", "prompt": "Be brief."}, "session_id": "s"} | options
        return await AgentExecutor.execute(
            input=text,
            provider=provider,
            tool_registry=tools,
            checkpoint_store=store.checkpoints,
            approval_store=store.approvals,
            **options,
        )

    @staticmethod
    def weather(forecast: str = "sun", calls: list[Any] | None = None) -> Any:
        """A tool."""

        def weather(city: str = "", n: int = 0) -> dict[str, Any]:
            """Forecast for a city."""
            if calls is not None:
                calls.append((city, n))
            return {"forecast": forecast, "n": n}

        return function_tool(weather)

    @staticmethod
    async def recorded(path: Path, *texts: str, **options: Any) -> Any:
        """A cassette of single questions, each answered with itself and a number."""
        model = Model(*(f"{text}!{number}" for number, text in enumerate(texts, 1)))
        provider = cassette(model, path, "record", **options)
        for text in texts:
            await said(provider, text)
        return provider

    @staticmethod
    def content(path: Path) -> Any:
        """What is in a cassette."""
        return json.loads(path.read_text())


@pytest.fixture
def bench() -> type[Bench]:
    return Bench


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    """Where a cassette goes; its folder is not there yet."""
    return tmp_path / "__cassettes__" / "one.json"
