"""How a server is reached: time limits, proxies, certificates, keys, and headers. Over real sockets, with a real proxy and real TLS."""

from __future__ import annotations

import asyncio
import os
import ssl
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import keyring.core
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, NoKeyringError

from lousho_cli.errors import ConfigurationError, ProviderError
from lousho_cli.ports.provider import ModelRequest
from lousho_cli.providers.anthropic.provider import AnthropicProvider
from lousho_cli.providers.chat.provider import OpenAIProvider
from lousho_cli.providers.wire import keys

FAR = "http://models.invalid/v1"
"""A server that only a proxy could know."""

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROXY_VARIABLES, *map(str.lower, PROXY_VARIABLES), "SSL_CERT_FILE", "SSL_CERT_DIR", "TEAM_KEY"):
        monkeypatch.delenv(name, raising=False)


async def refused(provider: OpenAIProvider | AnthropicProvider) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        async for _ in provider.stream(ModelRequest(messages=())):
            pass
    await provider.aclose()
    return caught.value


# Time limits


async def test_a_server_that_does_not_finish_connecting(wire: Any) -> None:
    """Its port is open, but it never says a word of the TLS that the address asks for."""
    async with asyncio.timeout(9):  # what it would take without a limit of its own is longer
        error = await refused(wire.provider(base_url=f"https://127.0.0.1:{wire.port}", connect_timeout_ms=50))
    assert (error.category, error.retryable, error.partial) == ("timeout", True, False)
    assert "no connection to https://127.0.0.1" in error.detail


async def test_each_time_limit_is_its_own(wire: Any) -> None:
    early = wire.sse(wire.chunk({"content": "a"}), done=False)
    error = await wire.fail(wire.Play([early], end="hang"), idle_timeout_ms=50, first_byte_timeout_ms=60_000)
    assert (error.category, error.partial) == ("timeout", True)
    error = await wire.fail(wire.Play([], end="hang"), idle_timeout_ms=60_000, first_byte_timeout_ms=50)
    assert (error.category, error.partial) == ("timeout", False)


# Proxies


async def test_a_proxy_that_wants_a_password_is_asked_once(wire: Any) -> None:
    """With TLS the answer comes to the tunnel that could not be made, without it in place of the server's own."""
    for address in (FAR, FAR.replace("http:", "https:")):
        error = await wire.fail(wire.Play([b"who are you"], status=407), base_url=address, proxy=wire.root, api_key_env="")
        assert (error.category, error.retryable) == ("auth-failure", False)
        assert "407" in error.detail
        assert "proxy" in error.hint
    error = await wire.fail(wire.Play([], status=503), base_url=address, proxy=wire.root, api_key_env="")
    assert (error.category, error.retryable) == ("overloaded", True)


@pytest.mark.parametrize("how", ["said", "HTTP_PROXY", "ALL_PROXY"])
async def test_a_proxy_is_asked_for_the_server(wire: Any, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = f"http://127.0.0.1:{wire.port}"
    if how != "said":
        monkeypatch.setenv(how, proxy)
    answer = await wire.ask(wire.said(), base_url=FAR, api_key_env="", **({"proxy": proxy} if how == "said" else {}))
    assert answer.message.content == "hi"
    assert wire.seen[0].path == "http://models.invalid/v1/chat/completions", "a proxy gets the whole address"


async def test_a_server_on_this_machine_is_asked_past_the_proxies_of_the_environment(wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    await wire.ask(wire.said())
    assert wire.seen[0].path == "/v1/chat/completions"
    await wire.ask(wire.said(), proxy=f"http://127.0.0.1:{wire.port}")
    assert wire.seen[1].path == f"{wire.base_url}/chat/completions", "one that was named is meant"


async def test_the_password_of_a_proxy_is_sent_and_never_shown(wire: Any) -> None:
    proxy = f"http://garden:hidden%2Dword@127.0.0.1:{wire.port}"
    play = wire.Play([b"hidden-word is wrong, hidden%2Dword too"], status=407)
    error = await wire.fail(play, base_url=FAR, proxy=proxy, api_key_env="")
    assert wire.seen[0].headers["proxy-authorization"].startswith("Basic ")
    assert "hidden" not in f"{error} {error.hint}"
    await wire.stop()
    error = await refused(wire.provider(base_url=FAR, proxy=proxy, api_key_env=""))
    assert f"through the proxy http://127.0.0.1:{wire.port}" in error.detail
    assert "hidden" not in f"{error} {error.hint}"


@pytest.mark.parametrize("proxy", ["127.0.0.1:3128", "ftp://127.0.0.1:1", "http://", "http://h:99999", "http://[h"])
def test_a_wrong_proxy_names_its_field(proxy: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        OpenAIProvider("m", proxy=proxy)
    assert caught.value.field == "provider.proxy"


async def test_a_socks_proxy_needs_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)
    with pytest.raises(ConfigurationError, match="SOCKS") as caught:
        OpenAIProvider("m", proxy="socks5://user:hidden-word@127.0.0.1:1")
    assert (caught.value.field, "httpx[socks]" in caught.value.hint) == ("provider.proxy", True)
    monkeypatch.setenv("ALL_PROXY", "socks5://user:hidden-word@127.0.0.1:1")
    error = await refused(OpenAIProvider("m", base_url=FAR, api_key_env=""))
    assert (error.category, "httpx[socks]" in error.hint) == ("bad-request", True)
    assert "hidden" not in f"{error} {caught.value}"


# Certificates


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that nobody but its maker vouches for; its key is in the same file."""
    file = tmp_path_factory.mktemp("tls") / "own.pem"
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=lousho-test", "-keyout", str(file)]
    usage = ["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "keyUsage=critical,digitalSignature,keyCertSign"]
    made = subprocess.run(["openssl", *words, *usage], capture_output=True, text=True, check=True)
    file.write_text(file.read_text() + made.stdout)
    return file


@pytest.fixture
async def tls(wire: Any, certificate: Path) -> AsyncIterator[Any]:
    """The play server once more, over TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = await asyncio.start_server(wire._serve, "127.0.0.1", 0, ssl=context)
    wire.address = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    yield wire
    server.close()


async def test_a_certificate_nobody_vouches_for_is_refused(tls: Any) -> None:
    error = await refused(tls.provider(base_url=tls.address))
    assert (error.category, error.retryable) == ("network", False), "it will be refused again"
    assert "CERTIFICATE_VERIFY_FAILED" in error.detail
    assert "provider.ca_file" in error.hint
    assert tls.seen == []


@pytest.mark.parametrize("how", ["ca_file", "folder", "SSL_CERT_FILE", "SSL_CERT_DIR"])
async def test_a_certificate_is_taken_where_its_authority_is_trusted(
    tls: Any, certificate: Path, tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed = subprocess.run(["openssl", "x509", "-hash", "-noout", "-in", certificate], capture_output=True, text=True, check=True).stdout
    (tmp_path / f"{hashed.strip()}.0").symlink_to(certificate)
    options = {"ca_file": {"ca_file": str(certificate)}, "folder": {"ca_file": str(tmp_path)}}.get(how, {})
    if not options:
        monkeypatch.setenv(how, str(certificate if how == "SSL_CERT_FILE" else tmp_path))
    answer = await tls.ask(tls.said(), base_url=tls.address, **options)
    assert answer.message.content == "hi"


async def test_tls_goes_through_a_proxy_unread(tls: Any, certificate: Path) -> None:
    asked = []

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65_536):
            writer.write(piece)
        writer.close()

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        asked.append(head.split()[:2])
        host, _, port = head.split()[1].rpartition(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(pipe(reader, far_writer), pipe(far_reader, writer), return_exceptions=True)

    proxy = await asyncio.start_server(tunnel, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
    await tls.ask(tls.said(), base_url=tls.address, ca_file=str(certificate), proxy=address)
    assert asked == [["CONNECT", tls.address.removeprefix("https://").removesuffix("/v1")]]
    assert tls.seen[0].path == "/v1/chat/completions"
    proxy.close()


@pytest.mark.parametrize("kind", ["missing", "no certificate", "empty", "folder"])
def test_a_wrong_ca_file_names_its_field(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "ca.pem"
    if kind == "folder":
        path = tmp_path
    elif kind != "missing":
        path.write_text("" if kind == "empty" else "no certificate")
    with pytest.raises(ConfigurationError) as caught:
        OpenAIProvider("m", ca_file=str(path))
    assert (caught.value.field, str(path) in caught.value.detail) == ("provider.ca_file", True)


async def test_wrong_certificates_of_the_environment_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "gone.pem"))
    error = await refused(OpenAIProvider("m", base_url="https://models.invalid/v1", api_key_env=""))
    assert (error.retryable, "SSL_CERT_FILE" in error.detail) == (False, True)


# Keys and headers


class Ring(KeyringBackend):
    """A keyring in memory that can also be locked, missing or stuck."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.failure: Exception | None = None
        self.stuck: threading.Event | None = None

    def get_password(self, service: str, username: str) -> str | None:
        if self.stuck:
            self.stuck.wait(30)
        if self.failure:
            raise self.failure
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> Ring:
    mine = Ring()
    monkeypatch.setattr(keyring.core, "_keyring_backend", mine)
    return mine


def far(wire: Any, **options: Any) -> dict[str, Any]:
    """The options of a server elsewhere, which the play server stands in for as its proxy."""
    return {"base_url": FAR, "proxy": f"http://127.0.0.1:{wire.port}", **options}


async def test_a_key_comes_from_the_environment_else_from_the_keyring(wire: Any, ring: Ring, monkeypatch: pytest.MonkeyPatch) -> None:
    ring.kept["lousho", "OPENAI_API_KEY"] = "from-the-ring\n"
    await wire.ask(wire.said(), **far(wire))
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    ring.failure = KeyringLocked("not asked")
    await wire.ask(wire.said(), **far(wire))
    assert [seen.headers["authorization"] for seen in wire.seen] == ["Bearer from-the-ring", "Bearer from-the-environment"]


async def test_of_several_variables_the_first_that_is_set_counts(wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECOND_KEY", "second-key")
    await wire.ask(wire.said(), api_key_env=("FIRST_KEY", "SECOND_KEY"))
    monkeypatch.setenv("FIRST_KEY", "first-key")
    await wire.ask(wire.said(), api_key_env=("FIRST_KEY", "SECOND_KEY"))
    assert [seen.headers["authorization"] for seen in wire.seen] == ["Bearer second-key", "Bearer first-key"]


async def test_the_keyring_is_not_asked_for_a_key_that_is_not_needed(wire: Any, ring: Ring) -> None:
    ring.failure = KeyringLocked("must not be asked")
    await wire.ask(wire.said())
    ring.failure = None
    ring.kept["lousho", "GATEWAY_KEY"] = "gateway-key"
    await wire.ask(wire.said(), api_key_env="GATEWAY_KEY")
    assert [seen.headers.get("authorization") for seen in wire.seen] == [None, "Bearer gateway-key"], "one that was named is looked up"


async def test_a_keyring_without_the_key_or_without_a_backend_is_none(wire: Any, ring: Ring) -> None:
    for ring.failure in (None, NoKeyringError("no backend")):
        error = await refused(wire.provider(**far(wire)))
        assert error.code == "LOUSHO_PROVIDER_KEY_MISSING"
        assert "OPENAI_API_KEY is not set" in error.detail
        assert "keyring set lousho OPENAI_API_KEY" in error.hint


async def test_a_locked_keyring_says_so(wire: Any, ring: Ring) -> None:
    ring.failure = KeyringLocked("secret-of-the-backend")
    error = await refused(wire.provider(**far(wire)))
    assert (error.category, error.retryable, error.code) == ("auth-failure", False, "LOUSHO_PROVIDER_KEY_MISSING")
    assert "KeyringLocked" in error.detail
    assert "secret" not in str(error)


async def test_a_keyring_that_hangs_is_not_waited_for(ring: Ring) -> None:
    ring.stuck = threading.Event()
    with pytest.raises(ProviderError, match=r"did not answer within 0\.05 s"):
        await keys.find_key(("OPENAI_API_KEY",), wait_s=0.05)
    ring.stuck.set()


def test_a_backend_that_can_not_be_loaded_says_so(tmp_path: Path) -> None:
    code = "import asyncio; from lousho_cli.providers.wire.keys import find_key; print(asyncio.run(find_key(('A_KEY',))))"
    env = os.environ | {"PYTHON_KEYRING_BACKEND": "no.such.Backend", "HOME": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert "A_KEY is not set, and the keyring could not be asked (ModuleNotFoundError)" in ran.stderr


def test_a_key_of_the_environment_loads_no_keyring() -> None:
    code = (
        "import asyncio, sys; from lousho_cli.providers.wire.keys import find_key\n"
        "print(asyncio.run(find_key(('A_KEY',))).source, 'keyring' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | {"A_KEY": "x"}, check=True)
    assert ran.stdout.split() == ["environment", "False"]


async def test_where_keys_are_is_told_without_them(ring: Ring, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "secret-a")
    ring.kept["lousho", "B_KEY"] = "secret-b"
    assert await keys.look_up(("A_KEY", "B_KEY", "C_KEY")) == {"A_KEY": "set", "B_KEY": "set (in the keyring)", "C_KEY": "not set"}
    ring.failure = KeyringLocked()
    told = await keys.look_up(("C_KEY", "A_KEY", "B_KEY"))
    assert told["A_KEY"] == "set"
    assert told["B_KEY"] == told["C_KEY"] == "not set; the keyring could not be asked (KeyringLocked)"


async def test_headers_by_their_variables(wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"headers_env": {"X-Team-Key": "TEAM_KEY"}}
    error = await refused(wire.provider(**options))
    assert error.code == "LOUSHO_PROVIDER_KEY_MISSING"
    assert "no key for the header x-team-key: TEAM_KEY is not set" in error.detail
    provider = wire.provider(**options)
    for value in ("team-key-one", "team-key-two"):
        monkeypatch.setenv("TEAM_KEY", value)
        wire.plays.append(wire.Play([wire.said()]))
        await wire.answer(provider)
        assert wire.seen[-1].headers["x-team-key"] == value, "read at each call"
    error = await wire.fail(wire.Play([b"what is team-key-two"], status=400), **options)
    assert "team-key-two" not in str(error)


async def test_a_header_may_take_the_place_of_the_key(wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM_KEY", "Custom abcdefgh")
    monkeypatch.setenv("OPENAI_API_KEY", "not-this-one")
    await wire.ask(wire.said(), **far(wire, headers_env={"authorization": "TEAM_KEY"}))
    assert wire.seen[0].headers["authorization"] == "Custom abcdefgh"


async def test_a_bearers_token_goes_besides_or_instead_of_the_key(wire: Any, ring: Ring, monkeypatch: pytest.MonkeyPatch) -> None:
    async def headers(**options: Any) -> tuple[str | None, ...]:
        said = ", ".join(value for name, value in os.environ.items() if value.endswith("-of-mine") and name in sent_variables)
        wire.plays.append(wire.Play([said.encode()], status=400))
        assert "of-mine" not in str(await refused(AnthropicProvider("m", **far(wire, **options))))
        return tuple(wire.seen[-1].headers.get(name) for name in ("authorization", "x-api-key"))

    sent_variables = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"]
    for name in sent_variables:
        monkeypatch.delenv(name, raising=False)
    error = await refused(AnthropicProvider("m", **far(wire)))
    assert "ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN is not set" in error.detail
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-of-mine")
    ring.failure = KeyringLocked("not asked, with a token")
    assert await headers() == ("Bearer token-of-mine", None)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-mine")
    assert await headers() == ("Bearer token-of-mine", "key-of-mine")
    monkeypatch.setenv("OTHER_KEY", "other-key-of-mine")
    sent_variables[:] = ["OTHER_KEY"]
    assert await headers(api_key_env="OTHER_KEY") == (None, "other-key-of-mine"), "a key that was named is the only one"


async def test_user_and_password_of_an_address_take_the_place_of_the_key(wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    address = FAR.replace("//", "//garden:hidden%2Dword@")
    play = wire.Play([b"no entry for hidden-word"], status=401)
    error = await wire.fail(play, **far(wire, base_url=address))
    assert wire.seen[0].headers["authorization"] == "Basic Z2FyZGVuOmhpZGRlbi13b3Jk"
    assert "hidden" not in str(error)
