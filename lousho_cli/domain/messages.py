"""What a model and its tools say to each other.

A tool call keeps the model's exact argument text; a tool message holds the JSON
text of its result, which is also what the model gets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from lousho_cli.domain.plain import json_text, plain
from lousho_cli.domain.unfolding import unfolds
from lousho_cli.errors import ConfigurationError

Role = Literal["system", "user", "assistant", "tool"]


class ToolCall(msgspec.Struct, frozen=True, gc=False):
    """One call the model asked for. ``arguments`` is its text as sent, valid JSON or not."""

    id: str
    name: str
    arguments: str = "{}"


class TextPart(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="text"):
    """Plain text inside a message of several parts."""

    text: str


class ImagePart(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="type", tag="image"):
    """An image: an address, a data address, or base64 text."""

    image: str
    mime_type: str | None = None


class FilePart(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="type", tag="file"):
    """A file as base64 text."""

    data: str
    mime_type: str
    filename: str | None = None


Part = TextPart | ImagePart | FilePart


class Reasoning(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A block of the model's reasoning. Signed and redacted ones are sent back byte for byte."""

    text: str = ""
    signature: str | None = None
    redacted: str | None = None


class Native(msgspec.Struct, frozen=True, gc=False):
    """An answer as its wire wrote it, where our own fields do not hold all of it: the order of its parts, a server's own tools.

    ``wire`` names the only wire it is ever sent back on; ``content`` is JSON text. Its calls, in order, are those of
    ``Message.tool_calls``, which may have been given other ids; everything else in it is sent as it is.
    """

    wire: str
    content: str


class Message(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One entry of a transcript.

    ``native``: see ``Native``; who changes another field of a message leaves it out.
    ``metadata`` is never sent to a model. Two messages are the same input when their
    role, content and tool call id are equal (see ``core.recognise``).
    """

    role: Role
    content: str | tuple[Part, ...] = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_error: bool = False
    reasoning: tuple[Reasoning, ...] = ()
    metadata: dict[str, Any] | None = None
    native: Native | None = None

    @property
    def text(self) -> str:
        """The text of the message: its content, or its text parts joined."""
        if isinstance(self.content, str):
            return self.content
        return "".join(part.text for part in self.content if isinstance(part, TextPart))


MessageLike = Message | Mapping[str, Any]
Input = str | MessageLike | list[MessageLike] | tuple[MessageLike, ...]


def user(text: str) -> Message:
    """A user message of plain text; a lone surrogate in it becomes U+FFFD."""
    return Message(role="user", content=plain(text)[0])


def messages_from(value: Input) -> tuple[Message, ...]:
    """Reads what a caller may pass as input: text, a message, or a list of messages.

    Raises:
        ConfigurationError: a message that has no known role or a content of the wrong kind.
    """
    if isinstance(value, str):
        return (user(value),)
    if isinstance(value, (Message, Mapping)):
        return (message_from(value),)
    if not isinstance(value, (list, tuple)):
        raise ConfigurationError(f"an input is text or messages, not {type(value).__name__}", field="input")
    return tuple(message_from(item) for item in value)


def message_from(value: MessageLike) -> Message:
    """Reads one message; a dictionary may spell its fields as the original product does (``toolCallId``) or as we do.

    What it gives can be stored and read back as it is, whatever was put into a ``Message``, which does not
    check its fields when it is made.

    Raises:
        ConfigurationError: it has no known role, or something in it is of the wrong kind.
    """
    if isinstance(value, Message) and is_sound(value):
        return value
    try:
        return remade(value)
    except (msgspec.ValidationError, TypeError, ValueError, KeyError) as error:
        raise ConfigurationError(
            f"a message of the input is not valid: {_why(error)}",
            field="input",
            hint="A message has a role (system, user, assistant, tool) and a content.",
        ) from error


def is_sound(message: Message) -> bool:
    """Whether a message is read back as it is once it was written."""
    try:
        if not _holds_text_alone(message) and unfolds(message):
            return False
        return _decoder.decode(_encoder.encode(message)) == message
    except (msgspec.MsgspecError, AttributeError, TypeError, ValueError, RecursionError):
        return False


def _holds_text_alone(message: Message) -> bool:
    if message.metadata is not None or type(message.content) is not str:
        return False
    return all(type(call.arguments) is str for call in message.tool_calls)


def remade(value: MessageLike, **instead: Any) -> Message:
    """A message made of checked fields, all of its text plain; ``instead`` stands in place of its own fields.

    Raises:
        msgspec.ValidationError, TypeError, KeyError: something in it is of the wrong kind.
    """
    _must_be(value, (Message, Mapping), "a message")
    given = {name: getattr(value, name) for name in value.__struct_fields__} if isinstance(value, Message) else value
    fields: dict[str, Any] = {_SEED_SPELLING.get(key, key): item for key, item in given.items()} | instead
    if fields.get("content") is None:
        fields["content"] = ""
    fields["tool_calls"] = [_call_fields(call) for call in fields.get("tool_calls") or ()]
    return msgspec.convert(plain(fields)[0], Message)


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Message)

_SEED_SPELLING = {
    "toolCalls": "tool_calls",
    "toolCallId": "tool_call_id",
    "toolName": "tool_name",
    "name": "tool_name",
    "isError": "is_error",
}


def _call_fields(value: ToolCall | Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a call; arguments that are no text yet become their JSON text."""
    _must_be(value, (ToolCall, Mapping), "a call")
    if isinstance(value, ToolCall):
        return {"id": value.id, "name": value.name, "arguments": _arguments(value.arguments)}
    inner = value.get("function")
    source = inner if isinstance(inner, Mapping) else value
    return {"id": value["id"], "name": source["name"], "arguments": _arguments(source.get("arguments"))}


def _arguments(given: Any) -> str:
    return given if isinstance(given, str) else "{}" if given is None else json_text(given)[0]


def _must_be(value: object, kinds: tuple[type, ...], what: str) -> None:
    if not isinstance(value, kinds):
        raise TypeError(f"expected {what}, got {type(value).__name__}")


def _why(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


def without_system(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The messages that are not system messages, in order."""
    return tuple(message for message in messages if message.role != "system")
