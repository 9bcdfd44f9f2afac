"""What a store URL means. Pure."""

from __future__ import annotations

import re
from typing import Literal

from lousho_cli.errors import ConfigurationError

Kind = Literal["path", "memory", "sqlite", "postgresql", "kv"]

_WORD = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_KINDS: dict[str, Kind] = {"memory": "memory", "sqlite": "sqlite", "postgresql": "postgresql", "postgres": "postgresql", "kv": "kv"}


def kv_parts(url: str) -> tuple[str, str, str]:
    """Account, namespace and key prefix of ``kv:ACCOUNT/NAMESPACE`` or ``kv:ACCOUNT/NAMESPACE/PREFIX``; the prefix is taken as it is.

    Raises:
        ConfigurationError: an account or a namespace is missing.
    """
    account, _, rest = url.partition(":")[2].partition("/")
    namespace, _, prefix = rest.partition("/")
    if not account or not namespace:
        raise ConfigurationError(
            f"{url} names no namespace", field="store", hint="Write kv:ACCOUNT/NAMESPACE, both as the dashboard shows them."
        )
    return account, namespace, prefix


def kind_of(url: str) -> Kind:
    """Which store a URL names: a path, unless it begins with a known word and a colon.

    Raises:
        ConfigurationError: it is empty, or begins with another word and a colon.
    """
    if not url.strip() or "\0" in url:
        raise ConfigurationError("the store URL is empty", field="store", hint="Give a folder, such as --store .lousho")
    match = _WORD.match(url)
    if match is None:
        return "path"
    kind = _KINDS.get(match[1].lower())
    if kind is None:
        raise ConfigurationError(
            f"the store URL begins with {match[1]}:, which is no kind of store",
            field="store",
            hint=f"Known are a path, sqlite:FILE, postgresql://, memory: and kv:ACCOUNT/NAMESPACE; a path of that name is ./{match[0]}…",
        )
    return kind
