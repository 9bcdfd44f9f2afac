"""One streamed HTTP answer at a time, with three time limits and no driver error that gets out.

httpx is imported at the first call: it costs a tenth of a second, and a scripted run needs none of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Protocol

import msgspec

from lousho_cli.providers.wire.errors import timeout_error, transport_error
from lousho_cli.providers.wire.route import Route

if TYPE_CHECKING:
    import httpx

_ERROR_BODY_LIMIT = 65_536
_ERROR_BODY_S = 5.0  # the status says enough, should its body not come


class TimeLimits(msgspec.Struct, frozen=True):
    """Milliseconds: to connect; from the request to the first byte of the answer; between two pieces of it."""

    connect_ms: int
    first_byte_ms: int
    idle_ms: int


class Progress(Protocol):
    """How far the answer has come: whether anything of it was streamed, and whether its end mark was."""

    @property
    def partial(self) -> bool: ...

    @property
    def ended(self) -> bool: ...


class Reply:
    """An answer whose headers have come."""

    def __init__(self, response: httpx.Response, where: str, limits: TimeLimits, first_byte_by: float) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._response = response
        self._where = where
        self._limits = limits
        self._first_byte_by = first_byte_by

    async def chunks(self, progress: Progress) -> AsyncGenerator[bytes, None]:
        """The body in the pieces it comes in. One that breaks off after its end mark simply ends.

        Raises:
            ProviderError: the connection was lost, or nothing came for too long.
        """
        import httpx

        loop = asyncio.get_running_loop()
        deadline = self._first_byte_by
        async with aclosing(self._response.aiter_bytes()) as pieces:  # type: ignore[type-var]  # an async generator, typed as iterator
            while True:
                try:
                    async with asyncio.timeout_at(deadline):
                        piece = await anext(pieces, None)
                except TimeoutError:
                    if progress.ended:
                        return
                    raise timeout_error(f"nothing more from {self._where}", partial=progress.partial) from None
                except httpx.HTTPError as error:
                    if progress.ended:
                        return
                    raise transport_error(error, self._where, partial=progress.partial) from None
                if piece is None:
                    return
                yield piece
                deadline = loop.time() + self._limits.idle_ms / 1000

    async def error_body(self) -> bytes:
        """The beginning of the body of a failed answer; what can not be read of it is left out."""
        import httpx

        body = b""
        try:
            async with asyncio.timeout(_ERROR_BODY_S):
                async for piece in self._response.aiter_bytes():
                    body += piece
                    if len(body) >= _ERROR_BODY_LIMIT:
                        break
        except (TimeoutError, httpx.HTTPError):
            return body
        return body


class HttpClient:
    """Posts to one server. ``where`` names it in errors, without secrets; ``route`` is the way to it."""

    def __init__(self, where: str, limits: TimeLimits, route: Route) -> None:
        self._where, self._limits, self._route = where, limits, route
        self._client: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> AsyncIterator[Reply]:
        """Sends once and gives the answer as soon as its headers are there.

        Raises:
            ProviderError: it could not be sent, or no answer came in time.
        """
        import httpx

        client = self._client_here()
        first_byte_by = asyncio.get_running_loop().time() + self._limits.first_byte_ms / 1000
        try:
            request = client.build_request("POST", url, content=body, headers=dict(headers))
            async with asyncio.timeout_at(first_byte_by):
                response = await client.send(request, stream=True)
        except TimeoutError:
            raise timeout_error(f"no answer from {self._where}") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise transport_error(error, self._where + self._route.through, partial=False) from None
        try:
            yield Reply(response, self._where, self._limits, first_byte_by)
        finally:
            await response.aclose()

    def _client_here(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:  # connections belong to the loop they were made on
            self._client, self._loop = self._new_client(), loop
        return self._client

    def _new_client(self) -> httpx.AsyncClient:
        import httpx

        timeout = httpx.Timeout(None, connect=self._limits.connect_ms / 1000)
        return self._route.client(timeout, encrypted=self._where.startswith("https:"))

    async def aclose(self) -> None:
        """Closes the connections. Safe to call twice; the next call opens new ones."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.aclose()
