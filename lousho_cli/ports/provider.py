"""One streamed model call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from lousho_cli.domain.messages import Message, Reasoning
from lousho_cli.domain.usage import CallUsage


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as the model is told of it; ``schema`` is the JSON Schema of its arguments."""

    name: str
    description: str
    schema: dict[str, Any]


class ModelRequest(msgspec.Struct, frozen=True):
    """What the model is asked.

    messages: a valid transcript, system message included. ``turns`` is how many whole answers
    of the model are in it, so that nobody needs to count them.
    model_options: further fields of the request, for this run alone; reasoning: how much the model is to think, as its
    server takes it; prompt_cache: whether it may go by a cache. None leaves it as the provider was made.
    """

    messages: Sequence[Message]
    tools: tuple[ToolSpec, ...] = ()
    model: str | None = None
    turns: int = 0
    model_options: Mapping[str, Any] = {}
    reasoning: Any = None
    prompt_cache: bool | None = None


class TextDelta(msgspec.Struct, frozen=True):
    """A piece of the answer's text."""

    text: str


class ReasoningDelta(msgspec.Struct, frozen=True):
    """A piece of the model's reasoning.

    ``block``: the whole block, where this ends one that its server takes back; an answer that is cut behind it can be gone on with.
    """

    text: str
    block: Reasoning | None = None


class Answer(msgspec.Struct, frozen=True):
    """The whole answer; always the last event of a stream.

    Every call has an id that is unique in the message. ``finish_reason`` is one of stop, length,
    tool_calls, content_filter, error, pause, other; pause: the server wants its answer back as it is, to
    go on with it. ``usage`` holds only what the server said.
    """

    message: Message
    finish_reason: str = "stop"
    usage: CallUsage | None = None
    model: str = ""


ProviderEvent = TextDelta | ReasoningDelta | Answer


class Provider(Protocol):
    """A model behind some wire.

    ``name`` is the provider's type, ``model`` the model it asks when the request names none. One that asks a server
    also has ``address``, where that is: known prices go by it, so one that stands in for another passes it on.
    """

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str | None: ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        """Asks once: deltas as they come, then exactly one ``Answer``. Never retries.

        An answer that stopped without its end mark, or that the server broke off, is no answer.

        Raises:
            ProviderError: with its category and whether asking again may help. No key and no
                whole body is in it.
        """
