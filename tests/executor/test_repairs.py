"""An old or foreign transcript is made one that a provider takes before it is sent; that is recorded and told, once."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.errors import ConfigurationError
from lousho_cli.executor.input_queue import InputQueue

BROKEN = (
    user("go"),
    Message(role="assistant", tool_calls=(ToolCall("x1", "book"), ToolCall("x2", "book"))),
    Message(role="tool", content='"two"', tool_call_id="x2"),
    user("well?"),
    Message(role="tool", content='"one"', tool_call_id="x1"),
    Message(role="tool", content='"nobody asked"', tool_call_id="x9"),
    Message(role="assistant", content="hm"),
    user("and now?"),
)
"""A history as somebody might hand it in: nothing in it is where a provider wants it."""

MENDED = ["user:go", "calls:x1+x2", "result:x1", "result:x2", "user:well?", "assistant:hm", "user:and now?"]


async def stored(stores: Any) -> list[Any]:
    return [record for batch in (await stores.again().log_store.read("s")).batches for record in batch.records]


async def test_a_history_that_does_not_hold_is_mended_before_it_is_sent(store: Any, bench: Any, caplog: Any) -> None:
    events: list[Any] = []
    model = bench.Model(None, None, "done")
    with caplog.at_level(logging.WARNING, "lousho"):
        result = await bench.run(store, model, text=list(BROKEN), on_event=events.append)
    assert bench.shape(model.asked[0])[1:] == MENDED
    assert (result.text, bench.result(result.messages, "x1")) == ("done", "one")
    (warning,) = [event for event in events if event.type == "warning"]
    assert warning.about == "repair"
    assert "the result of call x1 was moved" in warning.text
    assert "x9, which nobody asked for, was dropped" in warning.text
    assert [record.getMessage() for record in caplog.records] == [f"s: {warning.text}"]


async def test_a_repair_is_one_change_in_the_log_and_made_once(log_stores: Any, bench: Any) -> None:
    await bench.run(log_stores, bench.Model(None, None, "done"), text=list(BROKEN))
    (splice,) = [record for record in await stored(log_stores) if isinstance(record, r.Splice)]
    assert (splice.keep, splice.why) == (3, "repair"), "what stood right stays where it is"
    events: list[Any] = []
    await bench.run(log_stores.again(), bench.Model(None, None, None, "again"), text="more", on_event=events.append)
    assert "warning" not in [event.type for event in events]
    assert len([record for record in await stored(log_stores) if isinstance(record, r.Splice)]) == 1


async def test_an_input_that_others_left_is_mended_too(log_stores: Any, bench: Any) -> None:
    body = [msgspec.to_builtins(message) for message in BROKEN]
    await bench.run(log_stores, bench.Model("hello"))
    await log_stores.log_store.post("s", Post(id="theirs", kind="input", at="2026-01-01T00:00:00.000Z", body=body))
    model = bench.Model(None, None, None, "done")
    result = await bench.run(log_stores.again(), model, text=[])
    assert bench.shape(model.asked[0])[3:] == MENDED
    assert result.text == "done"


async def test_many_changes_are_told_in_short(store: Any, bench: Any) -> None:
    orphans = [Message(role="tool", content="1", tool_call_id=f"x{number}") for number in range(300)]
    events: list[Any] = []
    await bench.run(store, bench.Model("done"), text=[*orphans, user("go")], on_event=events.append)
    (text,) = [event.text for event in events if event.type == "warning"]
    assert text.endswith("and 295 more")


@pytest.mark.parametrize(
    "blank",
    ["", " \n", {"role": "user", "content": []}, {"role": "user", "content": [{"type": "text", "text": " "}]}, [user("go"), user(" ")]],
    ids=["empty", "space", "no parts", "a blank part", "behind another"],
)
async def test_case_138_a_blank_prompt_is_refused_before_anything(store: Any, bench: Any, blank: Any) -> None:
    model = bench.Model()
    with pytest.raises(ConfigurationError, match="blank") as raised:
        await bench.run(store, model, text=blank)
    assert (raised.value.field, raised.value.code) == ("input", "LOUSHO_CONFIG_MISSING_INPUT")
    assert (model.asked, await store.saved()) == ([], None)
    queue = InputQueue()
    with pytest.raises(ConfigurationError):
        await queue.send(blank)


async def test_case_138_an_image_alone_says_something(store: Any, bench: Any) -> None:
    picture = {"role": "user", "content": [{"type": "image", "image": "data:image/png;base64,AA=="}]}
    assert (await bench.run(store, bench.Model("seen"), text=picture)).text == "seen"
