"""What a caller may pass as a message, and what of it can be stored."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from lousho_cli.domain.messages import ImagePart, Message, Reasoning, TextPart, ToolCall, message_from, messages_from, user
from lousho_cli.errors import ConfigurationError

WRONG: list[Any] = [
    Message("bot", "x"),  # type: ignore[arg-type]
    Message("user", 5),  # type: ignore[arg-type]
    Message("user", ("x",)),  # type: ignore[arg-type]
    Message("assistant", "", (ToolCall(7, "n"),)),  # type: ignore[arg-type]
    Message("assistant", "", (ToolCall("c", None),)),  # type: ignore[arg-type]
    Message("assistant", "", ("call",)),  # type: ignore[arg-type]
    Message("tool", "{}", tool_call_id=3),  # type: ignore[arg-type]
    Message("user", "x", is_error="no"),  # type: ignore[arg-type]
    Message("user", "x", metadata=[1]),  # type: ignore[arg-type]
    {"content": "no role"},
    {"role": "assistant", "toolCalls": [{"name": "n"}]},
    {"role": "assistant", "toolCalls": [5]},
    {"role": "assistant", "toolCalls": 5},
    {5: "x"},
    5,
    None,
]


@pytest.mark.parametrize("value", WRONG, ids=repr)
def test_a_message_of_the_wrong_kinds_is_refused_whatever_it_is_made_of(value: Any) -> None:
    with pytest.raises(ConfigurationError) as raised:
        messages_from([value])
    assert raised.value.field == "input"


def read_back(message: Message) -> Message:
    return msgspec.json.decode(msgspec.json.encode(message), type=Message)


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (Message("user", None), user("")),  # type: ignore[arg-type]
        ({"role": "user"}, user("")),
        (Message("user", [TextPart("a"), ImagePart("b")]), Message("user", (TextPart("a"), ImagePart("b")))),  # type: ignore[arg-type]
        (Message("user", "a\ud800b"), user("a\ufffdb")),
        ({"role": "user", "content": [{"type": "text", "text": "\udcff"}]}, Message("user", (TextPart("\ufffd"),))),
        (Message("user", (TextPart("\udcff"),)), Message("user", (TextPart("\ufffd"),))),
        (
            Message("assistant", "", (ToolCall("c\ud800", "n\ud800", "\ud800"),), reasoning=(Reasoning("r\ud800"),)),
            Message("assistant", "", (ToolCall("c\ufffd", "n\ufffd", "\ufffd"),), reasoning=(Reasoning("r\ufffd"),)),
        ),
        (Message("assistant", "", (ToolCall("c", "n", {"a": 1}),)), Message("assistant", "", (ToolCall("c", "n", '{"a":1}'),))),  # type: ignore[arg-type]
        ({"role": "assistant", "toolCalls": [{"id": "c", "function": {"name": "n"}}]}, Message("assistant", "", (ToolCall("c", "n"),))),
        (Message("user", "x", metadata={"n": float("nan"), 1: b"b"}), Message("user", "x", metadata={"n": "NaN", "1": {"$bytes": "Yg=="}})),  # type: ignore[dict-item]
    ],
)
def test_what_can_be_understood_is_made_fit_to_be_stored(given: Any, stored: Message) -> None:
    message = message_from(given)
    assert message == stored
    assert read_back(message) == message


def test_a_message_that_is_sound_is_the_same_object() -> None:
    message = Message("assistant", "ok", (ToolCall("c", "n"),), reasoning=(Reasoning("r", "s"),), metadata={"a": [1, None]})
    assert message_from(message) is message


def test_plain_text_as_input_holds_no_lone_surrogate() -> None:
    assert messages_from("\udcff\udcfe hi") == (user("\ufffd\ufffd hi"),)
    assert user("\ud83c\udf78").content == "\U0001f378"
