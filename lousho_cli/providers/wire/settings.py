"""What a provider over HTTP was configured with, checked once, and its headers for a call."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict
from urllib.parse import urlsplit

import msgspec

from lousho_cli.core.failures import Failure
from lousho_cli.errors import ConfigurationError, ProviderError, RangeError
from lousho_cli.ports.clock import Clock
from lousho_cli.providers.wire.client import TimeLimits
from lousho_cli.providers.wire.errors import failure_error
from lousho_cli.providers.wire.keys import SERVICE, Found, find_key, in_environment
from lousho_cli.providers.wire.route import Route, route_from, secrets_of

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e\t]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LOOPBACK = re.compile(r"localhost|127(\.[0-9]{1,3}){3}|::1")
_SHORTEST_SECRET = 8  # a shorter header value is no secret, and would blot out common words


class Options(TypedDict, total=False):
    """What every provider over HTTP takes besides its model.

    base_url: where the server is, up to and including its version (``http://127.0.0.1:11434/v1``).
    api_key_env: the variable with the key, or several, of which the first that is set counts; empty for none. It is
        looked up at each call, in the environment, then in the keyring (see ``wire.keys``). A server on this machine
        needs no key, nor does an address with user and password in it, which are sent as basic authentication.
    headers: sent with each request. headers_env: headers by the variables that hold their values, looked up like a key.
    extra_body: further fields of the request, such as ``temperature``.
    connect_timeout_ms, first_byte_timeout_ms, idle_timeout_ms: to connect (10 s), until the first byte of
        the answer (5 min), and between two pieces of it (2 min).
    proxy: the proxy to ask through, with its user and password if it wants any; else the environment's
        (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY), past which a server on this machine is asked directly.
    ca_file: a file or folder of the authorities to trust, in place of the usual ones or those of SSL_CERT_FILE
        and SSL_CERT_DIR.
    clock: for the distance of an HTTP date and for the ids of calls that came without; default: the system's.
    """

    base_url: str | None
    api_key_env: str | Sequence[str]
    headers: Mapping[str, str] | None
    headers_env: Mapping[str, str] | None
    extra_body: Mapping[str, Any] | None
    connect_timeout_ms: int
    first_byte_timeout_ms: int
    idle_timeout_ms: int
    proxy: str | None
    ca_file: str | None
    clock: Clock | None


class Server(msgspec.Struct, frozen=True):
    """What a wire's own servers are like: where they are by default, what names another place, and how a key is sent.

    endpoint: the address that is asked, from a base address. reserved: keys of the body that the run itself fills in.
    key_header, key_prefix: the header a key goes in, and what stands in front of it. bearer_env: a variable with a
        token that goes besides or instead of the key, as a bearer's, unless a variable for the key was configured.
    headers: what every request of this wire has.
    """

    base_url: str
    base_url_env: str
    api_key_env: str
    endpoint: Callable[[str], str]
    reserved: frozenset[str]
    key_header: str = "authorization"
    key_prefix: str = "Bearer "
    bearer_env: str = ""
    headers: dict[str, str] = {}


class Settings(msgspec.Struct, frozen=True):
    """Checked settings. ``url`` is what is asked, ``where`` the same for people, without user, password and query.

    keys: the variables a key may be in. basic: whether ``url`` holds a user, which is sent in place of a key.
    """

    server: Server
    url: str
    where: str
    basic: bool
    keys: tuple[str, ...]
    headers: dict[str, str]
    headers_env: dict[str, str]
    extra_body: dict[str, Any]
    limits: TimeLimits
    route: Route

    @property
    def needs_key(self) -> bool:
        """Whether a call fails where no key is found."""
        given = {self.server.key_header, "authorization"}.intersection([*self.headers, *self.headers_env])
        return bool(self.keys) and not (self.route.local or self.basic or given)

    @property
    def bearer(self) -> tuple[str, ...]:
        """The variable of a bearer's token, if one may stand in for the key."""
        own = (self.server.bearer_env,) if self.server.bearer_env else ()
        return own if self.keys == _names(self.server.api_key_env) else ()

    async def headers_now(self) -> tuple[dict[str, str], tuple[str, ...]]:
        """The headers of a request made now, and the values in them that nobody may see.

        Raises:
            ProviderError: a key or another value is missing, can not be looked up, or can not be sent.
        """
        server = self.server
        headers = {"accept": "text/event-stream", "content-type": "application/json", **server.headers, **self.headers}
        secrets = [*self.headers.values(), *self.route.secrets]
        if self.basic:
            secrets += secrets_of(self.url)
        for header, name in self.headers_env.items():
            found = await find_key((name,))
            if found is None:
                raise _missing_key((name,), f"the header {header}")
            headers[header] = _sendable(found)
            secrets.append(headers[header])
        for header, key in (await self._credentials()).items():
            headers[header] = (server.key_prefix if header == server.key_header else "Bearer ") + key
            secrets.append(key)
        return headers, tuple(secret for secret in secrets if len(secret) >= _SHORTEST_SECRET)

    async def _credentials(self) -> dict[str, str]:
        """The key and the token by their headers, without what stands in front of them."""
        header, found = self.server.key_header, {}
        given = {*self.headers, *self.headers_env} | ({"authorization"} if self.basic else set())
        if "authorization" not in given and (token := in_environment(self.bearer)):
            found["authorization"] = _sendable(token)
        if header not in given and self.keys:
            # A keyring may ask a person to unlock it: not for a key that is not needed and that nobody named.
            asked = self.keys != _names(self.server.api_key_env) or (self.needs_key and not found)
            key = await find_key(self.keys) if asked else in_environment(self.keys)
            if key:
                found[header] = _sendable(key)
        if not found and self.needs_key:
            raise _missing_key((*self.keys, *self.bearer), self.where)
        return found


def _sendable(found: Found) -> str:
    if not _HEADER_VALUE.fullmatch(found.value):
        raise failure_error(Failure("auth-failure", False), f"the key in {found.name} has characters that can not be sent")
    return found.value


def _missing_key(names: Sequence[str], what: str) -> ProviderError:
    kept = f"keyring set {SERVICE} {names[0]}"
    return ProviderError(
        f"no key for {what}: {' or '.join(names)} is not set",
        category="auth-failure",
        code="LOUSHO_PROVIDER_KEY_MISSING",
        hint=f"Set {names[0]} in the environment, or keep it in the keyring: {kept} (needs the extra keyring).",
    )


def _checked_variables(field: str, names: Sequence[str]) -> tuple[str, ...]:
    """The names of variables. What is none may be a key that was put in its place, so it is not told."""
    for name in names:
        if not _VARIABLE.fullmatch(name):
            raise ConfigurationError(f"{field} is not the name of an environment variable", field=field)
    return tuple(names)


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in ((given,) if isinstance(given, str) else given) if name)


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
    headers_env = _checked_headers("headers_env", options.get("headers_env") or {})
    for header, name in headers_env.items():
        _checked_variables(f"provider.headers_env.{header}", (name,))
    return Settings(
        server=server,
        url=server.endpoint(address),
        where=where,
        basic=bool(urlsplit(address).username),
        keys=_checked_variables("provider.api_key_env", _names(options.get("api_key_env", server.api_key_env))),
        headers=_checked_headers("headers", options.get("headers") or {}),
        headers_env=headers_env,
        extra_body=extra_body,
        limits=limits,
        route=route_from(local, options.get("proxy"), options.get("ca_file")),
    )


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


def _checked_headers(place: str, headers: Mapping[str, str]) -> dict[str, str]:
    checked = {}
    for name, value in headers.items():
        text = str(value)
        if not _HEADER_NAME.fullmatch(str(name)) or not _HEADER_VALUE.fullmatch(text):
            field = f"provider.{place}.{name}"
            raise ConfigurationError(f"{field} is not a header that can be sent", field=field)
        checked[str(name).lower()] = text
    return checked
