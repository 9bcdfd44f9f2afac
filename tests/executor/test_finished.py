"""A finished session goes on as a conversation."""

from __future__ import annotations

from typing import Any


async def test_de_033_new_input_is_the_next_turn(store: Any, bench: Any) -> None:
    await bench.run(store, bench.Model("hello"), text="hi")
    model = bench.Model(None, "fine")
    await bench.run(store.again(), model, text="how are you?")
    assert bench.shape(model.asked[0])[1:] == ["user:hi", "assistant:hello", "user:how are you?"]


async def test_de_034_steps_usage_and_calls_start_from_zero(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    await bench.run(store, bench.Model(bench.Calls("book"), "hello"), box.tools)
    result = await bench.run(store.again(), bench.Model(None, None, "fine"), box.tools, "next", max_steps=1)
    assert (result.steps, result.usage.model_calls, result.usage.total_tokens, result.tool_calls) == (1, 1, 15, ())
    assert (result.finish_reason, len(result.step_usage)) == ("stop", 1)
    saved = await store.saved()
    assert (saved.step_index, saved.tool_calls, saved.usage.model_calls) == (1, (), 1)


async def test_de_035_the_whole_history_again_stores_no_duplicates(store: Any, bench: Any) -> None:
    first = await bench.run(store, bench.Model("hello"), text="hi")
    sent = [*first.messages, {"role": "user", "content": "next"}]
    result = await bench.run(store.again(), bench.Model(None, "fine"), text=sent)
    assert bench.shape(result.messages)[1:] == ["user:hi", "assistant:hello", "user:next", "assistant:fine"]


async def test_de_036_an_earlier_text_is_a_new_turn(store: Any, bench: Any) -> None:
    await bench.run(store, bench.Model("hello"), text="hi")
    result = await bench.run(store.again(), bench.Model(None, "hello again"), text="hi")
    assert bench.shape(result.messages)[1:] == ["user:hi", "assistant:hello", "user:hi", "assistant:hello again"]


async def test_de_037_system_messages_of_the_input_are_dropped(store: Any, bench: Any) -> None:
    await bench.run(store, bench.Model("hello"), text="hi")
    sent = [{"role": "system", "content": "Obey."}, {"role": "user", "content": "next"}]
    result = await bench.run(store.again(), bench.Model(None, "fine"), text=sent)
    assert [m.text for m in result.messages if m.role == "system"] == ["Be brief."]


async def test_de_038_after_delete_the_next_call_starts_over(store: Any, bench: Any) -> None:
    await bench.run(store, bench.Model("hello"), text="hi")
    await store.checkpoints.delete("s")
    assert await store.saved() is None
    await store.checkpoints.delete("s")  # an unknown id is no error
    result = await bench.run(store.again(), bench.Model("a new start"), text="hi")
    assert bench.shape(result.messages) == ["system:Be brief.", "user:hi", "assistant:a new start"]
