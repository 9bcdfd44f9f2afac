"""What a provider over HTTP was configured with, checked once, and its headers for a call."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any, TypedDict
from urllib.parse import urlsplit

import msgspec

from lousho_cli.core.retry import Failure
from lousho_cli.errors import ConfigurationError, ProviderError, RangeError
from lousho_cli.ports.clock import Clock
from lousho_cli.providers.wire.client import TimeLimits
from lousho_cli.providers.wire.errors import failure_error

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e\t]*")
_LOOPBACK = re.compile(r"localhost|127(\.[0-9]{1,3}){3}|::1")
_SHORTEST_SECRET = 8  # a shorter header value is no secret, and would blot out common words


class Options(TypedDict, total=False):
    """What every provider over HTTP takes besides its model.

    base_url: where the server is, up to and including its version (``http://127.0.0.1:11434/v1``).
    api_key_env: the environment variable with the key, read at each call; empty for none. A server on
        this machine needs no key.
    headers: sent with each request.
    extra_body: further fields of the request, such as ``temperature``.
    connect_timeout_ms, first_byte_timeout_ms, idle_timeout_ms: to connect (10 s), until the first byte of
        the answer (5 min), and between two pieces of it (2 min).
    clock: for the distance of an HTTP date and for the ids of calls that came without; default: the system's.
    """

    base_url: str | None
    api_key_env: str
    headers: Mapping[str, str] | None
    extra_body: Mapping[str, Any] | None
    connect_timeout_ms: int
    first_byte_timeout_ms: int
    idle_timeout_ms: int
    clock: Clock | None


class Server(msgspec.Struct, frozen=True):
    """What a wire's own servers are like: where they are by default, what names another place, and how a key is sent.

    endpoint: the address that is asked, from a base address. reserved: keys of the body that the run itself fills in.
    key_header, key_prefix: the header a key goes in, and what stands in front of it.
    headers: what every request of this wire has.
    """

    base_url: str
    base_url_env: str
    api_key_env: str
    endpoint: Callable[[str], str]
    reserved: frozenset[str]
    key_header: str = "authorization"
    key_prefix: str = "Bearer "
    headers: dict[str, str] = {}


class Settings(msgspec.Struct, frozen=True):
    """Checked settings. ``url`` is what is asked, ``where`` the same for people, without user, password and query."""

    server: Server
    url: str
    where: str
    local: bool
    api_key_env: str
    headers: dict[str, str]
    extra_body: dict[str, Any]
    limits: TimeLimits

    def headers_now(self) -> tuple[dict[str, str], tuple[str, ...]]:
        """The headers of a request made now, and the values in them that nobody may see.

        Raises:
            ProviderError: the key is missing or can not be sent.
        """
        server = self.server
        headers = {"accept": "text/event-stream", "content-type": "application/json", **server.headers, **self.headers}
        if server.key_header not in headers and (key := self._key()):
            headers[server.key_header] = server.key_prefix + key
        secrets = [headers.get(server.key_header, "").removeprefix(server.key_prefix), *self.headers.values()]
        return headers, tuple(secret for secret in secrets if len(secret) >= _SHORTEST_SECRET)

    def _key(self) -> str:
        key = os.environ.get(self.api_key_env, "").strip() if self.api_key_env else ""
        if not key and self.api_key_env and not self.local:
            raise ProviderError(
                f"no key for {self.where}: {self.api_key_env} is not set",
                category="auth-failure",
                code="LOUSHO_PROVIDER_KEY_MISSING",
                hint=f"Set {self.api_key_env} in the environment.",
            )
        if not _HEADER_VALUE.fullmatch(key):
            raise failure_error(Failure("auth-failure", False), f"the key in {self.api_key_env} has characters that can not be sent")
        return key


def settings_from(server: Server, options: Options) -> Settings:
    """Checks what was configured.

    Raises:
        ConfigurationError, RangeError: ``field`` names what is wrong by its path, ``provider.NAME``.
    """
    address = options.get("base_url") or os.environ.get(server.base_url_env) or server.base_url
    limits = _limits(options)
    extra_body = dict(options.get("extra_body") or {})
    for name in server.reserved.intersection(extra_body):
        field = f"provider.extra_body.{name}"
        raise ConfigurationError(f"{field} is filled in by the run itself", field=field)
    where, local = _checked_address(server, address)
    headers = _checked_headers(options.get("headers") or {})
    key_env = options.get("api_key_env", server.api_key_env)
    return Settings(server, server.endpoint(address), where, local, key_env, headers, extra_body, limits)


def _limits(options: Options) -> TimeLimits:
    limits = TimeLimits(
        options.get("connect_timeout_ms", 10_000), options.get("first_byte_timeout_ms", 300_000), options.get("idle_timeout_ms", 120_000)
    )
    for name, value in (("connect", limits.connect_ms), ("first_byte", limits.first_byte_ms), ("idle", limits.idle_ms)):
        if not isinstance(value, int) or value < 1:
            field = f"provider.{name}_timeout_ms"
            raise RangeError(f"{field} is {value!r}, but must be a whole number of milliseconds, 1 or more", field=field)
    return limits


def _checked_address(server: Server, address: str) -> tuple[str, bool]:
    """The address for people, and whether it is on this machine."""
    field = "provider.base_url"
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigurationError(f"{field} is not an http or https address", field=field, hint="For example http://127.0.0.1:11434/v1.")
    shown = f"[{host}]" if ":" in host else host
    path = urlsplit(server.endpoint(address)).path
    return f"{parts.scheme}://{shown}{f':{port}' if port else ''}{path}", bool(_LOOPBACK.fullmatch(host))


def _checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    checked = {}
    for name, value in headers.items():
        text = str(value)
        if not _HEADER_NAME.fullmatch(str(name)) or not _HEADER_VALUE.fullmatch(text):
            field = f"provider.headers.{name}"
            raise ConfigurationError(f"{field} is not a header that can be sent", field=field)
        checked[str(name).lower()] = text
    return checked
