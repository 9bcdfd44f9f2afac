"""Any chat-completions server, by its address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Unpack, get_args
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from lousho_cli.errors import ConfigurationError
from lousho_cli.ports.provider import ModelRequest
from lousho_cli.providers.chat.dialects import DIALECTS, ReasoningField, dialect_of
from lousho_cli.providers.chat.request import RESERVED, Form, encode_request, endpoint
from lousho_cli.providers.chat.stream import ChatBuilder
from lousho_cli.providers.wire.provider import WireProvider
from lousho_cli.providers.wire.settings import Options, Server, settings_from

SERVER = Server("https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY", endpoint, RESERVED)


class ChatWire(msgspec.Struct, frozen=True):
    """Chat completions, as one server takes them."""

    form: Form

    def encode(self, request: ModelRequest, model: str) -> bytes:
        return encode_request(request, model, self.form)

    def builder(self, model: str, new_id: Callable[[], str]) -> ChatBuilder:
        return ChatBuilder(model, new_id, self.form.wire, self.form.dialect)


class OpenAIProvider(WireProvider):
    """A chat-completions server.

    Args:
        model: what to ask for when the request names none.
        dialect: which imitator it is, where its host does not tell: a key of ``chat.dialects.DIALECTS``.
        empty_content: the content of an answer that is only tool calls, as sent back: None or ``""``.
        reasoning_field: where reasoning goes when it is sent back, ``none`` for nowhere; else as the dialect has it.
        stream_options: False for a server that refuses the field with which usage is asked for; None as the dialect has it.
        options: see ``Options``. The key's variable is ``OPENAI_API_KEY``; the address ``OPENAI_BASE_URL``, else OpenAI's own.

    Raises:
        ConfigurationError: a value that can not be used; ``field`` is ``provider.NAME``.
        RangeError: a time limit below 1.
    """

    name = "openai"

    def __init__(
        self,
        model: str | None = None,
        *,
        dialect: str = "openai",
        empty_content: Literal[""] | None = None,
        reasoning_field: ReasoningField | None = None,
        stream_options: bool | None = None,
        **options: Unpack[Options],
    ) -> None:
        if empty_content not in (None, ""):
            raise ConfigurationError('provider.empty_content must be null or ""', field="provider.empty_content")
        if dialect not in DIALECTS:
            raise ConfigurationError(f"provider.dialect must be one of {', '.join(DIALECTS)}", field="provider.dialect")
        if reasoning_field not in (None, *get_args(ReasoningField)):
            told = ", ".join(get_args(ReasoningField))
            raise ConfigurationError(f"provider.reasoning_field must be one of {told}", field="provider.reasoning_field")
        settings = settings_from(SERVER, options)
        host = urlsplit(settings.url).hostname or ""
        spoken = dialect_of(dialect, host)
        if reasoning_field is not None:
            spoken = replace(spoken, reasoning=reasoning_field, echo=False, thinks_with_tools=False)
        if stream_options is not None:
            spoken = replace(spoken, stream_options=stream_options)
        form = Form(spoken, f"chat:{host}", settings.extra_body, empty_content)
        super().__init__(model, settings, ChatWire(form), options.get("clock"))
        self.name = dialect
