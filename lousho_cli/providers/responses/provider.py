"""Any Responses server, by its address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack
from urllib.parse import urlsplit

import msgspec

from lousho_cli.errors import ConfigurationError, ProviderError
from lousho_cli.ports.provider import ModelRequest
from lousho_cli.providers.responses.request import RESERVED, WIRE, encode_request, endpoint
from lousho_cli.providers.responses.stream import ResponsesBuilder
from lousho_cli.providers.wire.client import Reply
from lousho_cli.providers.wire.provider import WireProvider
from lousho_cli.providers.wire.settings import Options, Server, settings_from

SERVER = Server("https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY", endpoint, RESERVED)


class ResponsesWire(msgspec.Struct, frozen=True):
    """The Responses wire, as one server takes it. ``extra_body`` is checked; ``wire``: the name its own items are kept under."""

    extra_body: dict[str, Any]
    wire: str = WIRE

    def encode(self, request: ModelRequest, model: str) -> bytes:
        return encode_request(request, model, self.extra_body, self.wire)

    def builder(self, model: str, new_id: Callable[[], str]) -> ResponsesBuilder:
        return ResponsesBuilder(model, new_id, self.wire)


class OpenAIResponsesProvider(WireProvider):
    """A Responses server. Nothing is stored there: each request holds the whole transcript, the model's reasoning included.

    Args:
        model: what to ask for when the request names none.
        options: see ``Options``. The key's variable is ``OPENAI_API_KEY``; the address ``OPENAI_BASE_URL``, else OpenAI's own.
            ``extra_body`` may have ``tools``, which the server runs by itself (``{"type": "web_search"}``) and which are
            offered behind the agent's own, and ``include``, in place of the encrypted reasoning that is asked for by default.

    Raises:
        ConfigurationError: a value that can not be used; ``field`` is ``provider.NAME``.
        RangeError: a time limit below 1.
    """

    name = "openai-responses"

    def __init__(self, model: str | None = None, **options: Unpack[Options]) -> None:
        settings = settings_from(SERVER, options)
        for name, kind, what in (("tools", dict, "objects"), ("include", str, "texts")):
            value = settings.extra_body.get(name)
            if value is not None and not (isinstance(value, list) and all(isinstance(entry, kind) for entry in value)):
                field = f"provider.extra_body.{name}"
                raise ConfigurationError(f"{field} must be a list of {what}", field=field)
        wire = f"{WIRE}:{urlsplit(settings.url).hostname}"
        super().__init__(model, settings, ResponsesWire(settings.extra_body, wire), options.get("clock"))

    async def _refusal(self, reply: Reply) -> ProviderError:
        error = await super()._refusal(reply)
        if "encrypted content is not supported" in error.detail.lower():
            error.hint = "Set provider.extra_body.include to an empty list."
        return error
