"""An answer that was cut in a failed model call: dropped with it, or kept and gone on with."""

from __future__ import annotations

from typing import Any

import pytest

from lousho_cli.core.compare import compare_trajectories
from lousho_cli.core.retry import RetryDecision, retry_transient_errors
from lousho_cli.core.states import session_from, state_from
from lousho_cli.core.telling import Teller
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.domain.texts import CONTINUE_NOTE
from lousho_cli.errors import ProviderError
from lousho_cli.executor.guardrails import Guardrail
from lousho_cli.executor.sub_agents import SubAgent
from lousho_cli.ports.provider import Answer, ReasoningDelta, TextDelta
from lousho_cli.ports.sessions import read_session


class Cutting:
    """A model whose first calls give the pieces of an answer and then fail; behind those it answers as ``then`` says."""

    name, model = "cutting", "m-1"

    def __init__(self, *cut: tuple[Any, ...], then: Any = ("wer",)) -> None:
        self._cut, self._then = list(cut), list(then)
        self.asked: list[tuple[Message, ...]] = []
        self.turns: list[int] = []

    async def stream(self, request: Any) -> Any:
        self.asked.append(tuple(request.messages))
        self.turns.append(request.turns)
        if self._cut:
            for piece in self._cut.pop(0):
                yield piece if isinstance(piece, ReasoningDelta) else TextDelta(piece)
            raise ProviderError("cut", category="network", retryable=True)
        entry = self._then.pop(0)
        if isinstance(entry, str):
            yield TextDelta(entry)
            entry = Answer(Message(role="assistant", content=entry))
        yield entry


CALLS = Answer(Message(role="assistant", tool_calls=(ToolCall("c1", "book"),)), "tool_calls")
KEEPING = retry_transient_errors(continue_partial=True)


async def test_ds_137_continue_keeps_the_text_and_adds_a_note_that_can_be_hidden(store: Any, bench: Any, clock: Any) -> None:
    model = Cutting(("half an ", "ans"))
    result = await bench.run(store, model, clock=clock, on_model_error=KEEPING)
    assert bench.shape(model.asked[1])[1:] == ["user:go", "assistant:half an ans", f"user:{CONTINUE_NOTE}"]
    assert bench.shape(result.messages)[1:] == ["user:go", "assistant:half an ans", f"user:{CONTINUE_NOTE}", "assistant:wer"]
    assert [message.metadata for message in result.messages[-3:-1]] == [{"cutOff": True}, {"synthetic": "continue"}]
    assert (result.text, result.steps, model.turns) == ("half an answer", 1, [0, 0])


async def test_ds_137_retry_drops_the_text(store: Any, bench: Any, clock: Any) -> None:
    model = Cutting(("half",), then=("whole",))
    result = await bench.run(store, model, clock=clock, on_model_error=retry_transient_errors())
    assert model.asked[1] == model.asked[0]
    assert (result.text, bench.shape(result.messages)[-1]) == ("whole", "assistant:whole")


@pytest.mark.parametrize("came", [(), (" \n",), (ReasoningDelta("hm"),)], ids=["nothing", "blank", "reasoning"])
async def test_ds_137_without_text_to_keep_continue_is_retry(store: Any, bench: Any, clock: Any, came: Any) -> None:
    model = Cutting(came)
    result = await bench.run(store, model, clock=clock, on_model_error=lambda *given: "continue")
    assert model.asked[1] == model.asked[0]
    assert (result.text, clock.slept) == ("wer", [1.5])


@pytest.mark.parametrize(
    ("answer", "waits"),
    [
        ("retry", [1.5, 3.0]),
        ("continue", [1.5, 3.0]),
        (RetryDecision(wait_ms=20), [0.02, 0.02]),
        (RetryDecision("continue", 30), [0.03, 0.03]),
    ],
)
async def test_a_policy_may_answer_in_words_or_with_a_decision(store: Any, bench: Any, clock: Any, answer: Any, waits: Any) -> None:
    result = await bench.run(store, Cutting((), ()), clock=clock, on_model_error=lambda *given: answer)
    assert (result.text, clock.slept) == ("wer", waits)


@pytest.mark.parametrize("word", ["retry", "continue"])
async def test_a_word_takes_the_wait_of_the_server_up_to_15_minutes(store: Any, bench: Any, clock: Any, word: Any) -> None:
    def busy(ms: int) -> ProviderError:
        return ProviderError("busy", category="rate-limit", retryable=True, retry_after_ms=ms)

    errors = iter([busy(7000), busy(900_001)])
    with pytest.raises(ProviderError):
        await bench.run(store, bench.Model(lambda request: next(errors)), clock=clock, on_model_error=lambda *given: word)
    assert clock.slept == [7.0]


async def test_the_policy_hears_that_something_came(store: Any, bench: Any, clock: Any) -> None:
    heard: list[bool] = []

    def policy(error: ProviderError, count: int, chance: float) -> Any:
        heard.append(error.partial)
        return "retry"

    await bench.run(store, Cutting(("half",), ()), clock=clock, on_model_error=policy)
    assert heard == [True, False]


@pytest.mark.parametrize(("note", "told"), [("Go on.", ["Go on."]), (("Go on.", "In French."), ["Go on.", "In French."])])
async def test_the_note_may_be_another_one(store: Any, bench: Any, clock: Any, note: Any, told: list[str]) -> None:
    model = Cutting(("half",))
    await bench.run(store, model, clock=clock, on_model_error=lambda *given: RetryDecision("continue", note=note))
    assert [message.text for message in model.asked[1][3:]] == told


async def test_what_is_cut_twice_is_kept_twice(store: Any, bench: Any, clock: Any) -> None:
    model = Cutting(("a",), ("b",), then=("c",))
    result = await bench.run(store, model, clock=clock, on_model_error=KEEPING)
    assert (result.text, clock.slept) == ("abc", [1.5, 3.0])
    ((step,), usage) = compare_trajectories(list(result.messages), list(result.messages)).a, result.usage
    assert (step.text, usage.model_calls) == ("abc", 1), "one step and one answer, whatever it took"


async def test_it_is_in_the_log_in_one_batch_before_the_wait_and_survives_a_crash_there(log_stores: Any, bench: Any, clock: Any) -> None:
    async def die(seconds: float) -> None:
        raise bench.Killed

    clock.sleep = die
    await bench.dies(bench.run(log_stores, Cutting(("half ",)), clock=clock, on_model_error=KEEPING))
    last = (await log_stores.again().log_store.read("s")).batches[-1].records
    assert [type(record) for record in last] == [r.Splice, r.ModelRetry]
    assert (last[1].count, last[1].continued, last[1].limit, last[1].category) == (1, True, 3, "network")
    model = Cutting(then=("done",))
    result = await bench.run(log_stores.again(), model, text=[], clock=clock)
    assert bench.shape(model.asked[0])[1:] == ["user:go", "assistant:half ", f"user:{CONTINUE_NOTE}"]
    assert (result.text, model.turns) == ("half done", [0])


async def test_the_same_input_again_is_the_retry_of_it_and_no_new_message(log_stores: Any, bench: Any, clock: Any) -> None:
    with pytest.raises(ProviderError):
        await bench.run(log_stores, Cutting(("half ",), ()), clock=clock, on_model_error=retry_transient_errors(1, continue_partial=True))
    model = Cutting(then=("done",))
    result = await bench.run(log_stores.again(), model, text="go", clock=clock)
    assert [message.text for message in model.asked[0] if message.role == "user"] == ["go", CONTINUE_NOTE]
    assert result.text == "half done"


@pytest.mark.parametrize("as_one", [True, False])
async def test_a_history_that_is_sent_again_adds_only_what_follows(store: Any, bench: Any, clock: Any, as_one: bool) -> None:
    """Whether its sender shows the answer as it is stored, or as the one answer it is."""
    first = await bench.run(store, Cutting(("half ",)), clock=clock, on_model_error=KEEPING)
    shown = [{"role": "user", "content": "go"}, {"role": "assistant", "content": first.text}] if as_one else list(first.messages)
    model = Cutting(then=("more",))
    await bench.run(store.again(), model, text=[*shown, {"role": "user", "content": "and?"}], clock=clock)
    assert bench.shape(model.asked[0])[1:] == ["user:go", "assistant:half ", f"user:{CONTINUE_NOTE}", "assistant:wer", "user:and?"]


async def test_behind_an_answer_that_only_paused_nothing_is_kept(store: Any, bench: Any, clock: Any) -> None:
    paused = Answer(Message(role="assistant", content="I search."), "pause")

    class Pausing(Cutting):
        async def stream(self, request: Any) -> Any:
            if not self.asked:
                self.asked.append(tuple(request.messages))
                yield paused
                return
            async for event in super().stream(request):
                yield event

    model = Pausing(("half",), then=("found",))
    result = await bench.run(store, model, clock=clock, on_model_error=KEEPING)
    assert model.asked[2] == model.asked[1]
    assert bench.shape(result.messages)[1:] == ["user:go", "assistant:I search.", "assistant:found"]


async def test_a_call_that_was_cut_never_runs(store: Any, bench: Any, box: Any, clock: Any) -> None:
    """What had come of a call when the connection was lost is in no event, so only the text is kept."""
    box.tool("book")
    model = Cutting(("I book. ",), then=(CALLS, "booked"))
    result = await bench.run(store, model, box.tools, clock=clock, on_model_error=KEEPING)
    assert bench.shape(result.messages)[2:] == ["assistant:I book. ", f"user:{CONTINUE_NOTE}", "calls:c1", "result:c1", "assistant:booked"]
    assert (box.ran, result.text, result.steps, model.turns) == (["c1"], "booked", 2, [0, 0, 1])


async def test_a_fork_behind_it_counts_its_answers_as_the_run_did(ringed: Any, bench: Any, box: Any, clock: Any) -> None:
    box.tool("book")
    await bench.run(ringed, Cutting(("I book. ",), then=(CALLS, "booked")), box.tools, clock=clock, on_model_error=KEEPING)
    saved = await ringed.saved()
    assert [message.metadata for message in saved.messages[2:4]] == [{"cutOff": True}, {"synthetic": "continue"}]
    model = Cutting(then=("more",))
    result = await bench.run(ringed.again(), model, box.tools, text="and now?", clock=clock)
    assert (result.text, model.turns) == ("more", [2])


@pytest.mark.parametrize(
    "looks",
    [
        {"guardrails": [Guardrail("output", lambda answer: None)]},
        {"hooks": [{"after_model": lambda request, answer: None}]},
    ],
    ids=["guardrail", "hook"],
)
async def test_nothing_is_kept_that_somebody_wants_to_see_whole_first(store: Any, bench: Any, clock: Any, looks: Any) -> None:
    model = Cutting(("half",))
    await bench.run(store, model, clock=clock, on_model_error=KEEPING, **looks)
    assert model.asked[1] == model.asked[0]


async def test_the_events_say_what_counts_the_same_live_and_from_the_log(log_stores: Any, bench: Any, clock: Any) -> None:
    live: list[Any] = []
    await bench.run(log_stores, Cutting(("half an ", "ans")), clock=clock, on_model_error=KEEPING, on_event=live.append)
    teller, stored = Teller("s"), []
    for batch in (await log_stores.log_store.read("s")).batches:
        stored += teller.of(batch, batch.seq)
    for events in (live, stored):
        assert "".join(event.text for event in events if event.type == "text.delta") == "half an answer"
        (retry,) = [event for event in events if event.type == "provider.retry"]
        assert (retry.continued, retry.step, retry.limit) == (True, 1, 3)
        assert [event.text for event in events if event.type == "step.done"] == ["wer"]


async def test_the_answer_of_a_sub_agent_is_kept_too(store: Any, bench: Any, clock: Any) -> None:
    child = Cutting(("sa",), then=("nd",))
    sub = {"scout": SubAgent({"name": "scout", "prompt": "You scout."}, provider=child, description="Looks around")}
    events: list[Any] = []
    lead = bench.Model(bench.Calls(("scout", {"input": "look"})), "done")
    result = await bench.run(store, lead, subagents=sub, clock=clock, on_model_error=KEEPING, on_event=events.append)
    assert bench.shape(child.asked[1])[1:] == ["user:look", "assistant:sa", f"user:{CONTINUE_NOTE}"]
    assert (result.text, bench.result(result.messages, "c1")) == ("done", "sand")
    assert [(event.path, event.continued) for event in events if event.type == "provider.retry"] == [(("scout",), True)]


async def test_a_snapshot_holds_it(bench: Any, clock: Any) -> None:
    stores = bench.memory()
    await bench.run(stores, Cutting(("half ",)), clock=clock, on_model_error=KEEPING)
    session = await read_session(stores.log_store, "s")
    assert session_from(state_from(session)) == session
    assert (session.answer, session.turns) == ("half wer", 1)
