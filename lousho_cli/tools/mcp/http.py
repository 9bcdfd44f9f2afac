"""A server over streamable HTTP: the SDK's transport, with our headers and time limits."""

from __future__ import annotations

import os
import re
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import httpx2
from mcp.client.streamable_http import streamable_http_client

from lousho_cli.errors import ConfigurationError
from lousho_cli.tools.mcp.spec import ServerSpec

_LOOPBACK = re.compile(r"localhost|127(\.[0-9]{1,3}){3}|::1")
_SESSION = "mcp-session-id"


def headers_of(spec: ServerSpec) -> dict[str, str]:
    """The headers of every request, with those whose values stand in the environment.

    Raises:
        ConfigurationError: a variable is not set, or its value can not be sent.
    """
    headers = dict(spec.headers)
    for header, variable in spec.headers_env.items():
        value, field = os.environ.get(variable, "").strip(), f"{spec.field}.headers_env.{header}"
        if not value:
            raise ConfigurationError(f"{field}: the environment variable {variable} is not set", field=field, hint="Set it.")
        if not value.isprintable() or not value.isascii():
            raise ConfigurationError(f"{field}: {variable} holds what no header can", field=field, hint="Look for a line end in it.")
        headers[header] = value
    return headers


class HttpTransport:
    """The streams of messages to and from a server; entered and left by one task.

    A call's own time limit ends one that takes too long, not that of its connection. A server on this machine is asked
    past the proxies of the environment. ``ended``: the server knows our session no more, and answers 404 to all of it.
    """

    def __init__(self, spec: ServerSpec) -> None:
        self._spec = spec
        self._headers = headers_of(spec)
        self._stack = AsyncExitStack()
        self._refused = 0
        self.ended = False

    async def __aenter__(self) -> Any:
        connect_s, call_s = self._spec.connect_timeout_ms / 1000, self._spec.timeout_ms / 1000
        timeout = httpx2.Timeout(connect_s, read=max(connect_s, call_s) + 5)
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(self._client(timeout))
            streams = await stack.enter_async_context(streamable_http_client(self._spec.url, http_client=client))
            self._stack = stack.pop_all()
            return streams

    def _client(self, timeout: httpx2.Timeout) -> httpx2.AsyncClient:
        local = bool(_LOOPBACK.fullmatch(urlsplit(self._spec.url).hostname or ""))
        hooks = {"response": [self._seen]}
        return httpx2.AsyncClient(headers=self._headers, timeout=timeout, event_hooks=hooks, trust_env=not local)

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    async def how_it_stands(self) -> str:
        """The last refusal of a message, for an error: '' for none."""
        if not self._refused:
            return ""
        hint = ": it wants a token or a key, which headers_env sends" if self._refused in (401, 403) else ""
        return f"HTTP {self._refused}{hint}"

    async def _seen(self, response: httpx2.Response) -> None:
        if response.request.method == "POST":  # a server need not offer the others
            self._refused = response.status_code if response.status_code >= 400 else 0
            self.ended = self.ended or (response.status_code == 404 and _SESSION in response.request.headers)
