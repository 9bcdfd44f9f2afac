"""Any Messages server, by its address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import msgspec

from lousho_cli.errors import ConfigurationError, RangeError
from lousho_cli.ports.provider import ModelRequest
from lousho_cli.providers.anthropic.request import RESERVED, default_max_tokens, encode_request, endpoint
from lousho_cli.providers.anthropic.stream import MessagesBuilder
from lousho_cli.providers.wire.provider import WireProvider
from lousho_cli.providers.wire.settings import Options, Server, settings_from

SERVER = Server(
    "https://api.anthropic.com",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_API_KEY",
    endpoint,
    RESERVED,
    key_header="x-api-key",
    key_prefix="",
    bearer_env="ANTHROPIC_AUTH_TOKEN",
    headers={"anthropic-version": "2023-06-01"},
)


class MessagesWire(msgspec.Struct, frozen=True):
    """Messages. ``max_tokens`` limits an answer; ``prompt_cache`` puts the marks a server's cache goes by."""

    extra_body: dict[str, Any]
    max_tokens: int
    prompt_cache: bool

    def encode(self, request: ModelRequest, model: str) -> bytes:
        return encode_request(request, model, self.extra_body, max_tokens=self.max_tokens, prompt_cache=self.prompt_cache)

    def builder(self, model: str, new_id: Callable[[], str]) -> MessagesBuilder:
        return MessagesBuilder(model, new_id)


class AnthropicProvider(WireProvider):
    """A Messages server.

    Args:
        model: what to ask for when the request names none.
        max_tokens: the longest answer, thinking included. None: 8192, and on top the budget of ``thinking``; 32000
            where thinking is ``adaptive``.
        prompt_cache: whether requests carry cache marks.
        options: see ``Options``. The key's variable is ``ANTHROPIC_API_KEY``, a bearer's token is in
            ``ANTHROPIC_AUTH_TOKEN``; the address is ``ANTHROPIC_BASE_URL``, else Anthropic's own, and needs no ``/v1``.
            ``extra_body`` takes ``thinking``, ``temperature`` and the rest; its ``tools`` are the server's own, such as
            a search, and stand behind those of the run. Betas are a header.

    Raises:
        ConfigurationError: a value that can not be used; ``field`` is ``provider.NAME``.
        RangeError: ``max_tokens`` or a time limit below 1.
    """

    name = "anthropic"

    def __init__(
        self, model: str | None = None, *, max_tokens: int | None = None, prompt_cache: bool = True, **options: Unpack[Options]
    ) -> None:
        settings = settings_from(SERVER, options)
        if max_tokens is None:
            max_tokens = default_max_tokens(settings.extra_body)
        if not isinstance(max_tokens, int) or isinstance(max_tokens, bool) or max_tokens < 1:
            raise RangeError(f"provider.max_tokens is {max_tokens!r}, but must be a whole number, 1 or more", field="provider.max_tokens")
        if not isinstance(prompt_cache, bool):
            raise ConfigurationError("provider.prompt_cache must be true or false", field="provider.prompt_cache")
        tools = settings.extra_body.get("tools", [])
        if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
            raise ConfigurationError("provider.extra_body.tools must be a list of objects", field="provider.extra_body.tools")
        super().__init__(model, settings, MessagesWire(settings.extra_body, max_tokens, prompt_cache), options.get("clock"))
