"""What a store URL says: where the server is, for its driver, and what is ours, for us. Pure."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, quote, unquote, urlencode

import msgspec

from lousho_cli.core.masking import masked_urls
from lousho_cli.errors import ConfigurationError

DEFAULT_SCHEMA = "lousho"
DEFAULT_CONNECTIONS = 6
LEAST_CONNECTIONS = 3
"""One for what is appended, one for the lease, one for all else."""

_MASK = "[secret]"
_ENCODE = "Such as postgresql://me@db.internal/agents; in a password write % as %25, / as %2F, ? as %3F, @ as %40, or use PGPASSWORD."
_SCHEMA = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,47}", re.ASCII)
_OURS = ("schema", "listen", "prepare", "connections")
_PLACE = re.compile(r"(?:[^@/]*@)?(?:\[[^\[\]@/]*\]|[^\[\]:@/]*)(?::[0-9]*)?(?:/[^@]*)?", re.ASCII)
_SETTING = re.compile(r"[A-Za-z_]+", re.ASCII)


class Address(msgspec.Struct, frozen=True):
    """A server, and how to talk to it.

    url: for the driver, with its password. shown: for people, without. schema: where the tables stand. prepare: whether statements
    are prepared, which not every pooler bears. listen: where to listen, as ``url``; None: where ``url`` leads, if that is the server.
    connections: at most so many at once.
    """

    url: str
    shown: str
    schema: str = DEFAULT_SCHEMA
    prepare: bool = False
    listen: str | None = None
    connections: int = DEFAULT_CONNECTIONS
    secrets: tuple[str, ...] = ()

    def masked(self, text: str) -> str:
        """A text of the driver's without what is secret in the address."""
        for secret in self.secrets:
            text = text.replace(secret, _MASK)
        return masked_urls(text, _MASK)

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"


def read_address(url: str) -> Address:
    """The address in ``postgresql://USER@HOST/DATABASE?schema=…``; what is not ours in it is the driver's, such as ``sslmode``.

    Raises:
        ConfigurationError: something in it is not valid; what it says does not hold the password.
    """
    place, _, query = url.partition("?")
    scheme, colon, rest = place.partition("://")
    if scheme.lower() not in ("postgresql", "postgres") or not colon or "\0" in url:
        raise _refused("a PostgreSQL store is named postgresql://USER@HOST/DATABASE")
    said = _read_query(query)
    _require_plain(rest, said)
    ours = {name: value for name, value in said if name in _OURS}
    theirs = [(name, value) for name, value in said if name not in _OURS]
    schema = ours.get("schema", DEFAULT_SCHEMA)
    if not _SCHEMA.fullmatch(schema):
        raise _refused(f"?schema={schema} can not name a schema", "Use up to 48 letters, digits and _, and begin with no digit.")
    listen = ours.get("listen") or None
    whole = f"postgresql://{rest}{_query(theirs)}"
    return Address(
        url=whole,
        shown=_shown(rest, theirs),
        schema=schema,
        prepare=_switch(ours),
        listen=None if listen is None else read_address(listen).url,
        connections=_connections(ours),
        secrets=tuple(dict.fromkeys((*_secrets(rest, theirs), *(_secrets_of(listen) if listen else ())))),
    )


def _require_plain(rest: str, query: list[tuple[str, str]]) -> None:
    """Refuses what a password that is not encoded makes of an address: the driver would take the rest of it for a host, and name it."""
    user, at, place = rest.rpartition("@")
    hosts, slash, database = place.partition("/")
    first, *more = hosts.split(",")
    if not all(_PLACE.fullmatch(one) for one in (f"{user}{at}{first}{slash}{database}", *more)):
        raise _refused("the address of the store can not be read", _ENCODE)
    if not all(_SETTING.fullmatch(name) for name, _ in query):
        raise _refused("what stands behind the ? of the store's address is no list of NAME=VALUE", _ENCODE)


def _shown(rest: str, query: list[tuple[str, str]]) -> str:
    user, at, place = rest.rpartition("@")
    name, colon, _ = user.partition(":")
    whole = f"postgresql://{name}{':' + _MASK if colon else ''}{at}{place}"
    return masked_urls(whole + _query(query), _MASK)


def _read_query(query: str) -> list[tuple[str, str]]:
    return parse_qsl(query.replace("+", "%2B"), keep_blank_values=True)  # to the driver a plus is a plus


def _query(said: list[tuple[str, str]]) -> str:
    return f"?{urlencode(said, quote_via=quote)}" if said else ""


def _switch(ours: dict[str, str]) -> bool:
    value = ours.get("prepare", "0")
    if value not in ("0", "1"):
        raise _refused(f"?prepare={value} must be 0 or 1")
    return value == "1"


def _connections(ours: dict[str, str]) -> int:
    value = ours.get("connections", str(DEFAULT_CONNECTIONS))
    if not re.fullmatch(r"[0-9]{1,4}", value, re.ASCII) or int(value) < LEAST_CONNECTIONS:
        raise _refused(f"?connections={value} must be a whole number from {LEAST_CONNECTIONS}")
    return int(value)


def _secrets_of(url: str) -> tuple[str, ...]:
    place, _, query = url.partition("?")
    return _secrets(place.partition("://")[2], _read_query(query))


def _secrets(rest: str, query: list[tuple[str, str]]) -> tuple[str, ...]:
    """The passwords in what follows the scheme: as they stand there, and as they are meant; the longest first."""
    user, at, _ = rest.rpartition("@")
    _, colon, password = user.partition(":")
    found = {value for name, value in query if name.lower() in ("password", "sslpassword")}
    if at and colon:
        found |= {password, unquote(password)}
    return tuple(sorted((one for one in found if one), key=len, reverse=True))


def _refused(detail: str, hint: str = "") -> ConfigurationError:
    return ConfigurationError(detail, field="store", hint=hint or "Such as postgresql://me@db.internal/agents?schema=lousho")
