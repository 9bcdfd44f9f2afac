"""Any chat-completions server, by its address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Unpack

import msgspec

from lousho_cli.errors import ConfigurationError
from lousho_cli.ports.provider import ModelRequest
from lousho_cli.providers.chat.request import RESERVED, encode_request, endpoint
from lousho_cli.providers.chat.stream import ChatBuilder
from lousho_cli.providers.wire.provider import WireProvider
from lousho_cli.providers.wire.settings import Options, Server, settings_from

SERVER = Server("https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY", endpoint, RESERVED)


class ChatWire(msgspec.Struct, frozen=True):
    """Chat completions. ``empty_content`` is the content of an answer that is only tool calls, as sent back."""

    extra_body: dict[str, Any]
    empty_content: Literal[""] | None = None

    def encode(self, request: ModelRequest, model: str) -> bytes:
        return encode_request(request, model, self.extra_body, self.empty_content)

    def builder(self, model: str, new_id: Callable[[], str]) -> ChatBuilder:
        return ChatBuilder(model, new_id)


class OpenAIProvider(WireProvider):
    """A chat-completions server.

    Args:
        model: what to ask for when the request names none.
        empty_content: the content of an answer that is only tool calls, as sent back: None or ``""``.
        options: see ``Options``. The key's variable is ``OPENAI_API_KEY``; the address ``OPENAI_BASE_URL``, else OpenAI's own.

    Raises:
        ConfigurationError: a value that can not be used; ``field`` is ``provider.NAME``.
        RangeError: a time limit below 1.
    """

    name = "openai"

    def __init__(self, model: str | None = None, *, empty_content: Literal[""] | None = None, **options: Unpack[Options]) -> None:
        if empty_content not in (None, ""):
            raise ConfigurationError('provider.empty_content must be null or ""', field="provider.empty_content")
        settings = settings_from(SERVER, options)
        super().__init__(model, settings, ChatWire(settings.extra_body, empty_content), options.get("clock"))
