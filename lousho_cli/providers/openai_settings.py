"""What a chat-completions provider was configured with, checked once, and its headers for a call."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from lousho_cli.core.retry import Failure
from lousho_cli.errors import ConfigurationError, ProviderError, RangeError
from lousho_cli.providers.http_errors import failure_error
from lousho_cli.providers.http_stream import TimeLimits
from lousho_cli.providers.openai_request import RESERVED, endpoint

DEFAULT_BASE_URL = "https://api.openai.com/v1"

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e\t]*")
_LOOPBACK = re.compile(r"localhost|127(\.[0-9]{1,3}){3}|::1")
_SHORTEST_SECRET = 8  # a shorter header value is no secret, and would blot out common words


class Settings(msgspec.Struct, frozen=True):
    """Checked settings. ``url`` is what is asked, ``where`` the same for people, without user, password and query."""

    url: str
    where: str
    local: bool
    api_key_env: str
    headers: dict[str, str]
    extra_body: dict[str, Any]
    empty_content: str | None

    def headers_now(self) -> tuple[dict[str, str], tuple[str, ...]]:
        """The headers of a request made now, and the values in them that nobody may see.

        Raises:
            ProviderError: the key is missing or can not be sent.
        """
        headers = {"accept": "text/event-stream", "content-type": "application/json", **self.headers}
        if "authorization" not in headers and (key := self._key()):
            headers["authorization"] = f"Bearer {key}"
        secrets = [headers.get("authorization", "").removeprefix("Bearer "), *self.headers.values()]
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


def settings_from(
    base_url: str | None,
    api_key_env: str,
    headers: Mapping[str, str],
    extra_body: Mapping[str, Any],
    empty_content: str | None,
    limits: TimeLimits,
) -> Settings:
    """Checks what was configured.

    Raises:
        ConfigurationError, RangeError: ``field`` names what is wrong by its path, ``provider.NAME``.
    """
    address = base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL
    for name, value in (("connect", limits.connect_ms), ("first_byte", limits.first_byte_ms), ("idle", limits.idle_ms)):
        if not isinstance(value, int) or value < 1:
            field = f"provider.{name}_timeout_ms"
            raise RangeError(f"{field} is {value!r}, but must be a whole number of milliseconds, 1 or more", field=field)
    if empty_content not in (None, ""):
        raise ConfigurationError('provider.empty_content must be null or ""', field="provider.empty_content")
    for name in RESERVED.intersection(extra_body):
        field = f"provider.extra_body.{name}"
        raise ConfigurationError(f"{field} is filled in by the run itself", field=field)
    where, local = _checked_address(address)
    return Settings(endpoint(address), where, local, api_key_env, _checked_headers(headers), dict(extra_body), empty_content)


def _checked_address(address: str) -> tuple[str, bool]:
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
    path = urlsplit(endpoint(address)).path
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
