"""Transient model errors (DESIGN 6.9): none retried unless asked; the count is in the log before the wait."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lousho_cli.core.failures import classify
from lousho_cli.core.retry import RetryDecision, retry_transient_errors
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message
from lousho_cli.errors import HookError, ProviderError
from lousho_cli.executor.abort import AbortController
from lousho_cli.ports.provider import TextDelta
from lousho_cli.providers.wire.errors import failure_error

BUSY = ProviderError("busy", category="rate-limit", retryable=True)


def failing(times: int, then: Any = "done", error: ProviderError = BUSY) -> Any:
    """An entry that fails so often, in the life of the object."""
    left = iter([error] * times)
    return lambda request: next(left, then)


async def test_ds_198_nothing_is_retried_unless_asked(store: Any, bench: Any) -> None:
    model = bench.Model(failing(1))
    with pytest.raises(ProviderError):
        await bench.run(store, model)
    assert len(model.asked) == 1


async def test_ds_129_a_transient_error_is_retried_with_growing_waits(store: Any, bench: Any, clock: Any) -> None:
    result = await bench.run(store, bench.Model(failing(3)), clock=clock, on_model_error=retry_transient_errors())
    assert (result.text, clock.slept) == ("done", [1.5, 3.0, 6.0])
    assert bench.shape(result.messages) == ["system:Be brief.", "user:go", "assistant:done"]


async def test_ds_132_the_wait_that_the_server_asks_for_is_kept(store: Any, bench: Any, clock: Any) -> None:
    error = ProviderError("busy", category="rate-limit", retryable=True, retry_after_ms=7000)
    await bench.run(store, bench.Model(failing(1, error=error)), clock=clock, on_model_error=retry_transient_errors())
    assert clock.slept == [7.0]


async def test_ds_130_three_retries_then_one_error(store: Any, bench: Any, clock: Any) -> None:
    model, events = bench.Model(failing(9)), []
    with pytest.raises(ProviderError, match="busy"):
        await bench.run(store, model, clock=clock, on_model_error=retry_transient_errors(), on_event=events.append)
    assert len(model.asked) == 4
    assert [event.message for event in events if event.type == "error"] == ["busy"]
    assert [(event.count, event.limit, event.category) for event in events if event.type == "provider.retry"] == [
        (n, 3, "rate-limit") for n in (1, 2, 3)
    ]


async def test_ds_132_a_wait_beyond_15_minutes_ends_the_retries(store: Any, bench: Any, clock: Any) -> None:
    error = failure_error(classify(429), "busy", retry_after_ms=3_600_000)
    model = bench.Model(failing(1, error=error))
    with pytest.raises(ProviderError, match="3600 s"):
        await bench.run(store, model, clock=clock, on_model_error=retry_transient_errors())
    assert (len(model.asked), clock.slept) == (1, [])


@pytest.mark.parametrize("stop", ["abort", "stop"])
async def test_ds_133_cancelling_in_the_wait_ends_the_run_at_once_and_without_an_error(log_stores: Any, bench: Any, stop: str) -> None:
    controller, events = AbortController(), []

    def on_event(event: Any) -> None:
        events.append(event)
        if event.type == "provider.retry":
            asyncio.get_running_loop().call_later(0, getattr(controller, stop))

    model = bench.Model(failing(1))
    policy = retry_transient_errors(base_delay_ms=800_000)
    async with asyncio.timeout(30):
        result = await bench.run(log_stores, model, signal=controller.signal, on_event=on_event, on_model_error=policy)
    assert (result.finish_reason == "aborted", result.stopped, len(model.asked)) == (stop == "abort", stop == "stop", 1)
    assert "error" not in [event.type for event in events]
    head = await log_stores.again().log_store.head("s")
    assert (head.outcome, head.step) == ("aborted" if stop == "abort" else None, 0), "no model call was cut short, so it is no step"
    resumed = await bench.run(log_stores.again(), bench.Model("done"), text=[], on_model_error=policy)
    assert (resumed.text, resumed.steps) == ("done", 1)


async def test_ds_136_a_new_run_begins_its_tries_afresh(store: Any, bench: Any, clock: Any) -> None:
    options = {"clock": clock, "on_model_error": retry_transient_errors(max_retries=2)}
    await bench.run(store, bench.Model(failing(2)), **options)
    result = await bench.run(store, bench.Model("", failing(2)), text="and now?", **options)
    assert (result.text, clock.slept) == ("done", [1.5, 3.0, 1.5, 3.0])


async def test_ds_138_a_retried_run_ends_completed_and_without_an_error(log_stores: Any, bench: Any, clock: Any) -> None:
    events: list[Any] = []
    await bench.run(log_stores, bench.Model(failing(2)), clock=clock, on_model_error=retry_transient_errors(), on_event=events.append)
    assert "error" not in [event.type for event in events]
    assert (events[-1].outcome, events[-1].finish_reason) == ("completed", "stop")
    head = await log_stores.again().log_store.head("s")
    assert (head.outcome, head.error) == ("completed", None)


async def test_whoever_goes_on_with_a_run_that_died_in_its_wait_asks_at_once(log_stores: Any, bench: Any, clock: Any) -> None:
    async def die(seconds: float) -> None:
        raise bench.Killed

    clock.sleep = die
    await bench.dies(bench.run(log_stores, bench.Model(failing(1)), clock=clock, on_model_error=retry_transient_errors()))
    result = await bench.run(log_stores.again(), bench.Model("done"), text=[], clock=clock, on_model_error=retry_transient_errors())
    assert result.text == "done"


async def test_retries_end(store: Any, bench: Any, clock: Any) -> None:
    model = bench.Model(failing(9))
    with pytest.raises(ProviderError):
        await bench.run(store, model, clock=clock, on_model_error=retry_transient_errors(max_retries=2))
    assert (len(model.asked), len(clock.slept)) == (3, 2)


async def test_ds_129_what_no_retry_helps_is_not_retried(store: Any, bench: Any, clock: Any) -> None:
    model = bench.Model(failing(1, error=ProviderError("no", category="auth-failure")))
    with pytest.raises(ProviderError):
        await bench.run(store, model, clock=clock, on_model_error=retry_transient_errors())
    assert (len(model.asked), clock.slept) == (1, [])


async def test_a_policy_may_be_a_function(store: Any, bench: Any, clock: Any) -> None:
    asked: list[Any] = []

    def policy(error: ProviderError, count: int, chance: float) -> int | None:
        asked.append((error.category, count, chance))
        return 250 if count < 1 else None

    with pytest.raises(ProviderError):
        await bench.run(store, bench.Model(failing(9)), clock=clock, on_model_error=policy)
    assert asked == [("rate-limit", 0, 0.0), ("rate-limit", 1, 0.0)]
    assert clock.slept == [0.25]


async def test_ds_135_the_count_is_in_the_log_before_the_wait(log_stores: Any, bench: Any, clock: Any) -> None:
    seen: list[list[int]] = []

    async def sleep(seconds: float) -> None:
        batches = (await log_stores.again().log_store.read("s")).batches
        seen.append([record.count for batch in batches for record in batch.records if isinstance(record, r.ModelRetry)])

    clock.sleep = sleep
    await bench.run(log_stores, bench.Model(failing(2)), clock=clock, on_model_error=retry_transient_errors())
    assert seen == [[1], [1, 2]]


async def test_ds_135_the_count_survives_a_crash_in_the_wait(log_stores: Any, bench: Any, clock: Any) -> None:
    async def die(seconds: float) -> None:
        if len(clock.slept) == 1:
            raise bench.Killed
        clock.slept.append(seconds)

    clock.sleep = die
    await bench.dies(bench.run(log_stores, bench.Model(failing(9)), clock=clock, on_model_error=retry_transient_errors()))
    clock.sleep = lambda seconds: type(clock).sleep(clock, seconds)
    model = bench.Model(failing(9))
    with pytest.raises(ProviderError):
        await bench.run(log_stores.again(), model, text=[], clock=clock, on_model_error=retry_transient_errors())
    assert len(model.asked) == 2, "two of three retries were used up before the crash"


async def test_ds_136_a_finished_tool_phase_is_progress(store: Any, bench: Any, box: Any, clock: Any) -> None:
    box.tool("book")
    model = bench.Model(failing(2, bench.Calls("book")), failing(2))
    result = await bench.run(store, model, box.tools, clock=clock, on_model_error=retry_transient_errors(max_retries=2))
    assert result.text == "done"


async def test_whoever_names_a_failed_run_again_begins_its_tries_afresh(log_stores: Any, bench: Any, clock: Any) -> None:
    """DESIGN 6.8."""
    options = {"clock": clock, "on_model_error": retry_transient_errors(max_retries=1)}
    with pytest.raises(ProviderError):
        await bench.run(log_stores, bench.Model(failing(9)), **options)
    result = await bench.run(log_stores.again(), bench.Model(failing(1)), text=[], **options)
    assert result.text == "done"


async def test_case_009_dropped_streams_leave_no_half_turn(store: Any, bench: Any, box: Any, clock: Any) -> None:
    class Dropping(bench.Model):
        left = 3

        async def stream(self, request: Any) -> Any:
            if self.left:
                self.left -= 1
                yield TextDelta("half an ans")
                raise ProviderError("cut", category="network", retryable=True, partial=True)
            async for event in super().stream(request):
                yield event

    box.tool("book")
    model = Dropping(bench.Calls("book"), "done")
    result = await bench.run(store, model, box.tools, clock=clock, on_model_error=retry_transient_errors())
    assert bench.shape(result.messages)[1:] == ["user:go", "calls:c1", "result:c1", "assistant:done"]
    assert (result.steps, box.ran) == (2, ["c1"])


async def test_an_answer_that_never_ends_is_no_answer(store: Any, bench: Any) -> None:
    class Endless(bench.Model):
        async def stream(self, request: Any) -> Any:
            yield TextDelta("half an ans")

    with pytest.raises(ProviderError) as raised:
        await bench.run(store, Endless())
    assert (raised.value.category, raised.value.retryable) == ("network", True)
    assert await store.saved() is None


async def test_an_error_of_any_kind_from_a_provider_is_a_provider_error(store: Any, bench: Any) -> None:
    with pytest.raises(ProviderError, match="KeyError"):
        await bench.run(store, bench.Model(KeyError("choices")))


async def test_a_key_in_the_error_of_a_provider_of_ones_own_is_in_no_error_of_ours(log_stores: Any, bench: Any) -> None:
    said = RuntimeError("Incorrect API key provided: sk-live-0123456789abcdef.")
    with pytest.raises(ProviderError, match=r"RuntimeError: Incorrect API key provided: \[key\]"):
        await bench.run(log_stores, bench.Model(said))
    assert "0123456789" not in (await log_stores.log_store.head("s")).error


async def test_a_failed_run_is_settled_as_failed_and_not_finished(log_stores: Any, bench: Any) -> None:
    """DESIGN 6.8: ended is not erased."""
    with pytest.raises(ProviderError):
        await bench.run(log_stores, bench.Model(ProviderError("no key", category="auth-failure")))
    head = await log_stores.again().log_store.head("s")
    assert (head.outcome, head.error, head.status) == ("failed", "no key", "in-progress")
    result = await bench.run(log_stores.again(), bench.Model("hello"), text=[])
    assert (result.text, result.messages[-2]) == ("hello", Message(role="user", content="go"))


async def _later(error: Any, retries: int, chance: float) -> int:
    return 1


@pytest.mark.parametrize(
    "policy",
    [
        lambda *given: 1 / 0,
        lambda *given: "soon",
        lambda *given: -5,
        _later,
        lambda *given: True,
        lambda *given: RetryDecision("again"),
        lambda *given: RetryDecision(wait_ms=-1),
        lambda *given: RetryDecision("continue", note=("go on", "")),
    ],
    ids=["raises", "text", "negative", "async", "flag", "action", "wait", "note"],
)
async def test_a_policy_that_can_not_be_used_fails_the_run_and_is_named(store: Any, bench: Any, policy: Any) -> None:
    model = bench.Model(bench.Calls("look"), ProviderError("overloaded", category="overloaded", retryable=True))
    box = bench.Box()
    box.tool("look")
    with pytest.raises(HookError, match="on_model_error"):
        await bench.run(store, model, box.tools, on_model_error=policy)
    saved = await store.saved()
    assert (saved.status, saved.step_index) == ("in-progress", 1)
