"""A model whose answers are written down and counted, an agent over it, and a folder for its cassettes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import warm_process

from lousho_cli import AgentExecutor, cassette, memory_store
from lousho_cli.__main__ import main
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


# Evals

collect_ignore = ["project"]  # a project that tests drive with the command; its evals are no tests of ours


class Ran(NamedTuple):
    """What a command line gave."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)["data"]


class EvalsBench:
    """A person in an empty folder with evals, and ``lousho`` in this process or in one of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys

    def lousho(self, *args: str) -> Ran:
        self._capsys.readouterr()
        code = main(list(args))
        return Ran(int(code), *self._capsys.readouterr())

    def process(self, *args: str, **options: Any) -> Any:
        """The same in a process of its own."""
        return warm_process.run([sys.executable, "-m", "lousho_cli", *args], cwd=self.folder, capture_output=True, text=True, **options)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def agent(self, *turns: Any, name: str = "agent.yaml", **more: Any) -> None:
        """A scripted agent with the tool ``weather``."""
        turns = turns or ({"tool_calls": [{"name": "weather", "args": {"city": "Lisbon"}, "id": "call_1"}]}, {"text": "Sunny."})
        agent = {"name": "agent", "prompt": "Be brief.", "provider": {"type": "scripted", "turns": list(turns)}}
        self.write("tools.py", 'def weather(city: str = "", at: str = "") -> dict:\n    """Forecast."""\n    return {"forecast": "sun"}\n')
        self.write(name, json.dumps(agent | {"tools": [{"python": "tools.py:weather"}]} | more))

    def eval(self, *cases: dict[str, Any], name: str = "trip.eval.yaml", **more: Any) -> None:
        """An eval of that agent. A case without input says go."""
        whole = [{"name": f"case {number}", "input": "go"} | case for number, case in enumerate(cases or ({},), 1)]
        self.write(name, json.dumps({"agent": "agent.yaml", "cases": whole} | more))


@pytest.fixture
def evals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> EvalsBench:
    """An empty working folder below an empty home, and an environment that says nothing."""
    here = tmp_path / "home" / "work"
    here.mkdir(parents=True)
    for name in list(os.environ):
        if name.startswith(("LOUSHO_", "XDG_", "OPENAI_")) or name in {"CI", "NO_COLOR", "FORCE_COLOR", "COLUMNS"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(here)
    return EvalsBench(here, capsys)
