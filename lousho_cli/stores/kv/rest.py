"""``CloudflareKV``: a Workers KV namespace over Cloudflare's REST API, from anywhere.

httpx is imported at the first request: it costs a tenth of a second. No error holds the token.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

import msgspec

from lousho_cli.core.failures import classify
from lousho_cli.core.retry_after import parse_retry_after
from lousho_cli.errors import ConfigurationError, StorageError
from lousho_cli.stores.kv.namespace import KVError

if TYPE_CHECKING:
    import httpx

TOKEN_VARIABLE = "CLOUDFLARE_API_TOKEN"  # noqa: S105 - where the token is, not what it is
URL_VARIABLE = "CLOUDFLARE_API_BASE_URL"
CLOUDFLARE = "https://api.cloudflare.com/client/v4"

_CONNECT_S, _ANSWER_S = 10.0, 60.0
_KEY_NOT_FOUND = 10009
_LOCAL = {"localhost", "127.0.0.1", "::1"}


class _Said(msgspec.Struct, frozen=True):
    code: int = 0
    message: str = ""


class _Name(msgspec.Struct, frozen=True):
    name: str


class _Info(msgspec.Struct, frozen=True):
    cursor: str | None = None


class _Envelope(msgspec.Struct, frozen=True):
    errors: tuple[_Said, ...] = ()
    result: msgspec.Raw = msgspec.Raw()
    result_info: _Info | None = None


class CloudflareKV:
    """One namespace, with ``get``, ``put``, ``delete`` and ``list``.

    Args:
        account_id, namespace_id: as Cloudflare's dashboard shows them.
        token: an API token with Workers KV Storage: Edit; from ``CLOUDFLARE_API_TOKEN`` when not given.
        base_url: another address of the API; from ``CLOUDFLARE_API_BASE_URL``, else Cloudflare's own.

    Raises:
        ConfigurationError: an id or the token is missing or can not be one.
    """

    def __init__(self, account_id: str, namespace_id: str, token: str | None = None, base_url: str | None = None) -> None:
        self.account_id, self.namespace_id = account_id, namespace_id
        for field, value in (("account_id", account_id), ("namespace_id", namespace_id)):
            if not value or not value.isascii() or not value.replace("-", "").replace("_", "").isalnum():
                raise ConfigurationError(f"{value!r} is no {field.replace('_', ' ')}", field=field, hint="Copy it from the dashboard.")
        self._token = (token or os.environ.get(TOKEN_VARIABLE, "")).strip()
        if not self._token or not self._token.isascii() or not self._token.isprintable():
            what = "can not be one" if self._token else "is missing"
            raise ConfigurationError(f"the Cloudflare API token {what}", field="token", hint=f"Set {TOKEN_VARIABLE}.")
        self._base = (base_url or os.environ.get(URL_VARIABLE) or CLOUDFLARE).rstrip("/")
        parts = urlsplit(self._base)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError("the base URL of the Cloudflare API is no http address", field="base_url")
        self._host, self._local = parts.hostname, parts.hostname in _LOCAL
        self._client: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open: AsyncGenerator[None, None] | None = None

    def __repr__(self) -> str:
        return f"CloudflareKV({self.account_id!r}, {self.namespace_id!r})"

    async def get(self, key: str) -> bytes | None:
        """The value of a key, None for none.

        Raises:
            StorageError: it could not be asked for.
        """
        answer = await self._ask("GET", _value(key))
        return None if answer.status_code == 404 else answer.content

    async def put(self, key: str, value: str | bytes, expiration_ttl: int | None = None) -> None:
        """Stores a value, for ``expiration_ttl`` seconds where given. Raises like ``get``."""
        params = {} if expiration_ttl is None else {"expiration_ttl": str(expiration_ttl)}
        await self._ask("PUT", _value(key), params, value.encode() if isinstance(value, str) else value)

    async def delete(self, key: str) -> None:
        """Removes a key; an unknown one is no error. Raises like ``get``."""
        await self._ask("DELETE", _value(key))

    async def list(self, prefix: str = "") -> list[str]:
        """The names of all keys that begin so. Raises like ``get``."""
        names: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            params = {"prefix": prefix} | ({"cursor": cursor} if cursor else {})
            envelope = _envelope((await self._ask("GET", "keys", params)).content)
            try:
                names += [one.name for one in msgspec.json.decode(envelope.result, type=tuple[_Name, ...])]
            except msgspec.DecodeError as error:
                raise StorageError("the list of keys that Cloudflare sent can not be read") from error
            cursor = (envelope.result_info.cursor if envelope.result_info else None) or None
        return names

    async def aclose(self) -> None:
        """Closes the connections, which the end of their event loop does too. Safe to call twice; the next request opens new ones."""
        held, self._client, self._open = self._open, None, None
        if held is not None and self._loop is asyncio.get_running_loop():
            await held.aclose()

    async def _ask(self, method: str, path: str, params: Mapping[str, str] | None = None, body: bytes | None = None) -> httpx.Response:
        """One request. Gives a success, and the 404 of a key that is not there.

        Raises:
            KVError: anything else; it says whether the same may work later.
        """
        import httpx

        url = f"{self._base}/accounts/{self.account_id}/storage/kv/namespaces/{self.namespace_id}/{path}"
        headers = {"authorization": f"Bearer {self._token}"} | ({} if body is None else {"content-type": "application/octet-stream"})
        try:
            client = await self._client_here()
            answer = await client.request(method, url, params=params, content=body, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # A request that can not even be made would fail again; everything else about a connection may pass.
            lost = isinstance(error, httpx.TransportError) and not isinstance(error, (httpx.UnsupportedProtocol, httpx.LocalProtocolError))
            detail = f"no answer from {self._host} ({type(error).__name__})"
            raise KVError(detail, retryable=lost, hint=f"Check the connection and {URL_VARIABLE}.") from None
        if answer.is_success or (answer.status_code == 404 and _first(answer.content).code == _KEY_NOT_FOUND):
            return answer
        raise self._refused(answer)

    def _refused(self, answer: httpx.Response) -> KVError:
        status, said = answer.status_code, _first(answer.content)
        kind = classify(status, "", "")
        message = said.message.replace(self._token, "[token]")[:300]
        return KVError(
            f"Cloudflare answered {status}" + (f": {message} (code {said.code})" if message else ""),
            busy=status == 429,
            retryable=kind.retryable,
            retry_after_ms=parse_retry_after(answer.headers, time.time_ns() // 1_000_000),
            hint=_hint(status),
        )

    async def _client_here(self) -> httpx.AsyncClient:
        import httpx

        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:  # connections belong to the loop they were made on
            timeout = httpx.Timeout(_ANSWER_S, connect=_CONNECT_S)
            # What runs on this machine is asked directly, past any proxy; plain HTTP has nothing to verify.
            verify = not (self._local and self._base.startswith("http://"))
            client = httpx.AsyncClient(timeout=timeout, trust_env=not self._local, verify=verify)
            self._client, self._loop, self._open = client, loop, _until_closed(client)
            await anext(self._open)
            return client
        return self._client


async def _until_closed(client: httpx.AsyncClient) -> AsyncGenerator[None, None]:
    """Closes a client when it is closed itself: a loop that ends does that with every generator that was begun on it."""
    try:
        yield
    finally:
        await client.aclose()


def _value(key: str) -> str:
    return f"values/{quote(key, safe='')}"


def _envelope(body: bytes) -> _Envelope:
    try:
        return msgspec.json.decode(body, type=_Envelope)
    except (msgspec.DecodeError, ValueError):
        return _Envelope()


def _first(body: bytes) -> _Said:
    """What an answer says of its failure."""
    return next(iter(_envelope(body).errors), _Said())


def _hint(status: int) -> str:
    if status in (401, 403):
        return f"Check {TOKEN_VARIABLE}: the token needs Workers KV Storage: Edit for this account."
    if status == 404:
        return "Check the account and the namespace: kv:ACCOUNT/NAMESPACE."
    if status == 429:
        return "KV takes one write a second for each key, and a day's limit on the free plan; try again later."
    return ""
