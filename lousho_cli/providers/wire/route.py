"""The way to a server: directly or through a proxy, and whose certificates are trusted on it."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import msgspec

from lousho_cli.core.failures import Failure
from lousho_cli.errors import ConfigurationError, ProviderError
from lousho_cli.providers.wire.errors import failure_error

if TYPE_CHECKING:
    import ssl

    import httpx

_PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")
_HASHED = re.compile(r"[0-9a-f]{8}\.[0-9]+")
_SOCKS_HINT = "Install it: pip install 'httpx[socks]'."


class Route(msgspec.Struct, frozen=True):
    """How a server is reached. local: it is on this machine, so that only a proxy that was named stands before it.

    proxy: the address of that proxy, None for the environment's. ca_file: a file or folder of the authorities to
    trust, None for the environment's or the usual ones.
    """

    local: bool = False
    proxy: str | None = None
    ca_file: str | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """What nobody may see of the proxy's address."""
        return secrets_of(self.proxy) if self.proxy else ()

    @property
    def through(self) -> str:
        """The proxy for people, "" for none that was named."""
        if not self.proxy:
            return ""
        parts = urlsplit(self.proxy)
        return f" through the proxy {parts.scheme}://{parts.netloc.rpartition('@')[2]}"

    def client(self, timeout: httpx.Timeout, *, encrypted: bool) -> httpx.AsyncClient:
        """A client that goes this way. ``encrypted``: it asks over TLS.

        Raises:
            ProviderError: the proxy or the certificates of the environment can not be used.
        """
        import httpx

        from_environment = self.proxy is None and not self.local
        # Plain HTTP with no proxy that may encrypt has nothing to verify; reading the certificates would cost 15 ms.
        verified = encrypted or from_environment or (self.proxy or "").startswith("https:")
        context = self._trust() if verified else False
        try:
            return httpx.AsyncClient(timeout=timeout, verify=context, proxy=self.proxy, trust_env=from_environment)
        except ImportError:
            raise _unusable("the environment names a SOCKS proxy, for which httpx lacks a package", _SOCKS_HINT) from None
        except (OSError, ValueError) as error:
            raise _unusable(f"the proxy of the environment can not be used ({type(error).__name__})", "Check HTTPS_PROXY.") from None

    def _trust(self) -> ssl.SSLContext:
        import httpx

        try:
            return _context_of(self.ca_file) if self.ca_file else httpx.create_ssl_context()
        except (OSError, ValueError) as error:
            where = "in provider.ca_file" if self.ca_file else "named by SSL_CERT_FILE or SSL_CERT_DIR"
            raise _unusable(f"the certificates {where} can not be used ({type(error).__name__})", "Check the path.") from None


def route_from(local: bool, proxy: str | None, ca_file: str | None) -> Route:
    """Checks what was configured.

    Raises:
        ConfigurationError: ``field`` is ``provider.proxy`` or ``provider.ca_file``.
    """
    if proxy:
        _check_proxy(proxy)
    if ca_file:
        ca_file = str(Path(ca_file).expanduser())
        _check_authorities(Path(ca_file))
    return Route(local, proxy or None, ca_file or None)


def secrets_of(address: str) -> tuple[str, ...]:
    """The password in an address, as it stands there and as it is sent."""
    password = urlsplit(address).password or ""
    return tuple(dict.fromkeys(text for text in (password, unquote(password)) if text))


def _check_proxy(proxy: str) -> None:
    field = "provider.proxy"
    try:
        parts = urlsplit(proxy)
        scheme, host, _ = parts.scheme, parts.hostname, parts.port
    except ValueError:
        scheme, host = "", None
    if scheme not in _PROXY_SCHEMES or not host:
        hint = f"For example http://127.0.0.1:3128; known are {', '.join(_PROXY_SCHEMES)}."
        raise ConfigurationError(f"{field} is not the address of a proxy", field=field, hint=hint)
    if scheme.startswith("socks") and find_spec("socksio") is None:
        raise ConfigurationError(f"{field} is a SOCKS proxy, for which httpx lacks a package", field=field, hint=_SOCKS_HINT)


def _check_authorities(path: Path) -> None:
    field = "provider.ca_file"
    try:
        if path.is_dir():
            if not any(_HASHED.fullmatch(entry.name) for entry in path.iterdir()):
                raise ConfigurationError(f"{field}: {path} holds no hashed certificates", field=field, hint=f"Run: openssl rehash {path}")
            return
        _context_of(str(path))
    except FileNotFoundError:
        raise ConfigurationError(f"{field}: there is no {path}", field=field, hint="Give a PEM file, or a folder of them.") from None
    except PermissionError:
        raise ConfigurationError(f"{field}: {path} can not be read", field=field) from None
    except (OSError, ValueError):  # an SSLError is an OSError
        raise ConfigurationError(f"{field}: {path} is no PEM file of certificates", field=field) from None


def _context_of(path: str) -> ssl.SSLContext:
    import ssl

    return ssl.create_default_context(capath=path) if Path(path).is_dir() else ssl.create_default_context(cafile=path)


def _unusable(detail: str, hint: str) -> ProviderError:
    error = failure_error(Failure("bad-request", False), detail)
    error.hint = hint
    return error
