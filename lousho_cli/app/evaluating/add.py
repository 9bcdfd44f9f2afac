"""``eval add``: a recorded session, or the beginning of one, as a case with its cassette.

Nobody is asked: the agent of today runs in a store in memory, its model's answers and its tools' results are those of the
session, and a cassette records what it asks. So what is asked when the case replays is what was asked here.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from lousho_cli.app.agents import AgentChoice, find_agent
from lousho_cli.app.evaluating.agents import on_tape
from lousho_cli.app.evaluating.case_files import Written, placed
from lousho_cli.app.preparing import Prepared, RunFlags, preparing
from lousho_cli.app.redacting import taking_out_of_cassettes
from lousho_cli.app.showing import Point, read_point
from lousho_cli.app.wiring import checkpoints_of, open_store, open_to_look
from lousho_cli.domain.messages import Message
from lousho_cli.errors import ProviderError
from lousho_cli.evals.cassette_file import check_folder, read_cassette, write_cassette
from lousho_cli.evals.given_results import GivenResult
from lousho_cli.evals.story import Story, check_retold, story_of
from lousho_cli.evals.tape import Tape
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.hooks import HookCall
from lousho_cli.ports.provider import Answer, ModelRequest, ProviderEvent

SESSION_ID = "told-again"


class AddOrder(msgspec.Struct, frozen=True):
    """What is to become a case.

    source: a session, or an address of it. case: its name, None for one after the source.
    to: the eval file, None for ``<agent>.eval.yaml`` beside the agent.
    """

    source: str
    case: str | None = None
    to: str | None = None
    choice: AgentChoice = AgentChoice()


class Added(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A case that was added. file, cassette: from the working folder. stop_after: it ends there, as more was not part of it."""

    file: str
    eval: str
    case: str
    cassette: str
    steps: int
    calls: tuple[str, ...]
    made: bool
    stop_after: int | None = None


async def add_case(order: AddOrder) -> Added:
    """Adds a case. The session stays as it is.

    Raises:
        NotFoundError: no such session or step.
        ConfigurationError: the agent can not be found, the session can not be told as a case, or the file can not take it.
        CassetteError, StorageError: something can not be written; then no case is added.
    """
    store = open_to_look(order.choice.store)
    point = await read_point(store, order.source)
    session = point.loaded.session
    redact = taking_out_of_cassettes()
    messages = _messages(point)
    story = story_of(messages, _used(point), _finish_reason(point), redact)
    file = find_agent(point.loaded.id, session.agent or session.run.agent_id, session.path, order.choice)
    place = placed(file, order.to, order.case, str(point.address))
    with TemporaryDirectory(prefix="lousho-eval-") as folder:
        aside = Path(folder) / "cassette.json"
        async with preparing(file, RunFlags()) as prepared:
            told = await _told(prepared, story, aside)
        check_retold(messages, told.messages, redact)
        recorded = read_cassette(aside)
        assert recorded is not None, "a run that answered was recorded"
        text, whole = place.whole(_case(story, told))
        check_folder(place.cassette)
        write_cassette(place.cassette, recorded)
        return _added(place.write(text, whole), place.cassette, story)


def _messages(point: Point) -> tuple[Message, ...]:
    if point.mark is not None:
        return (*point.mark.messages, *point.mark.held)
    session = point.loaded.session
    behind = session.turn.results.values() if session.turn else ()
    return (*session.messages, *behind, *session.held)


def _used(point: Point) -> Sequence[Any]:
    return tuple(point.mark.step_usage if point.mark is not None else point.loaded.session.step_usage)


def _finish_reason(point: Point) -> str:
    return point.mark.finish_reason if point.mark is not None else point.loaded.session.finish_reason


class _Told(msgspec.Struct, frozen=True):
    """The run of today: its transcript, whether it came to an answer, and what its tools were given."""

    messages: tuple[Message, ...]
    completed: bool
    results: tuple[GivenResult, ...]


async def _told(prepared: Prepared, story: Story, aside: Path) -> _Told:
    tape = Tape(aside, "record", clean=taking_out_of_cassettes())
    teller = _Teller(prepared.provider, story)
    telling = on_tape(msgspec.structs.replace(prepared, provider=teller), tape)
    store = open_store("memory:", create=True)
    assert store is not None, "a store in memory is always there"
    settings = {**telling.settings, "hooks": [{"name": "told again", "pre_tool": teller.pre_tool}], "on_model_error": None}
    result = None
    for text in story.inputs:
        if story.stop_after is not None:
            settings["max_steps"] = story.stop_after - teller.answered
        result = await AgentExecutor.execute(
            telling.agent,
            text,
            telling.provider,
            telling.tools,
            session_id=SESSION_ID,
            checkpoint_store=checkpoints_of(store),
            **settings,
        )
    assert result is not None, "a story has an input"
    await tape.complete()
    completed = result.status == "finished" and result.finish_reason == "stop"
    return _Told(result.messages, completed, tuple(teller.given))


class _Teller:
    """The model and the tools of a session that is told again: its answers in order, and the result that each call had."""

    def __init__(self, provider: Any, story: Story) -> None:
        self._provider, self._story = provider, story
        self.answered = 0
        self.given: list[GivenResult] = []

    @property
    def name(self) -> str:
        return str(getattr(self._provider, "name", "cassette"))

    @property
    def model(self) -> str | None:
        model: str | None = getattr(self._provider, "model", None)
        return model

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._provider, name)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        """The next answer of the session."""
        if self.answered == len(self._story.answers):
            raise ProviderError("it asks the model once more than the session did", category="other", retryable=False)
        answer: Answer = self._story.answers[self.answered]
        self.answered += 1
        yield answer

    def pre_tool(self, call: HookCall) -> dict[str, Any] | None:
        """The result that the session has of a call, whatever its tool would do."""
        key = (self.answered - 1, call.tool_call_id)
        result, failed = self._story.results[key], key in self._story.failed
        self.given.append(GivenResult(call.tool_name, result, call.args, failed))
        return {"error": result} if failed else {"result": result}


def _case(story: Story, told: _Told) -> dict[str, Any]:
    """The case as its file has it, but for its name."""
    case: dict[str, Any] = {"input": story.inputs[0] if len(story.inputs) == 1 else list(story.inputs)}
    if told.results:
        case["tool_results"] = [_written(one) for one in told.results]
    if story.stop_after is not None:
        case["stop_after"] = story.stop_after
    expect: dict[str, Any] = {"completed": told.completed}
    if story.calls:
        expect["tool_order"] = list(story.calls)
    else:
        expect["trajectory"] = {"calls": []}
    return case | {"expect": expect | {"max_steps": len(story.answers)}}


def _written(one: GivenResult) -> dict[str, Any]:
    return {"name": one.name, "args": one.args, "result": one.result} | ({"is_error": True} if one.is_error else {})


def _added(written: Written, cassette: Path, story: Story) -> Added:
    return Added(
        file=_from_here(written.path),
        eval=written.eval,
        case=written.case,
        cassette=_from_here(cassette),
        steps=len(story.answers),
        calls=story.calls,
        made=written.made,
        stop_after=story.stop_after,
    )


def _from_here(path: Path) -> str:
    return Path(os.path.relpath(path)).as_posix()
