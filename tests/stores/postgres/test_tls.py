"""The way to the server is checked as ``sslmode`` says, and a password is shown nowhere, however it came."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pg_server import free_port
from tls_front import Authority, TlsFront

from lousho_cli.app.agents import AgentChoice
from lousho_cli.app.driving import store_flag
from lousho_cli.app.secrets import mask_url
from lousho_cli.domain import records as r
from lousho_cli.errors import SDKError, StorageError
from lousho_cli.stores.postgres import database
from lousho_cli.stores.postgres.store import PostgresStore

MakeBatch = Callable[..., r.Batch]
Open = Callable[..., PostgresStore]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls") / "ca")


@pytest.fixture(scope="module")
def certificate(authority: Authority) -> tuple[Path, Path]:
    return authority.certificate("localhost")


@pytest.fixture
def front(url: str, certificate: tuple[Path, Path]) -> Iterator[TlsFront]:
    running = TlsFront(int(url.partition("127.0.0.1:")[2].partition("/")[0]), certificate)
    yield running
    running.close()


@pytest.fixture
def secure(url: str, front: TlsFront, authority: Authority) -> str:
    """The address of the store by way of TLS, checked in full."""
    place, _, rest = url.partition("127.0.0.1:")
    _, _, rest = rest.partition("/")
    return f"{place}localhost:{front.port}/{rest}&hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert={authority.file}"


async def test_a_server_that_is_the_one_it_says_is_let_in(secure: str, front: TlsFront, opened: Open, batch: MakeBatch) -> None:
    store = opened(secure)
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    assert (await store.read("trip")).head == 1
    assert front.let_in > 0


@pytest.fixture
def refused(secure: str, opened: Open) -> Callable[[str, str], Any]:
    async def refuse(old: str, new: str) -> SDKError:
        with pytest.raises(StorageError) as caught:
            await opened(secure.replace(old, new)).claim("trip", "here")
        return caught.value

    return refuse


async def test_one_that_somebody_else_signed_is_refused(
    refused: Callable[[str, str], Any], authority: Authority, tmp_path: Path, front: TlsFront
) -> None:
    error = await refused(str(authority.file), str(Authority(tmp_path / "other").file))
    assert "certificate verify failed" in error.detail
    assert "sslrootcert" in error.hint
    assert front.let_in == 0


async def test_one_of_another_name_is_refused(refused: Callable[[str, str], Any]) -> None:
    error = await refused("@localhost:", "@elsewhere:")
    assert 'does not match host name "elsewhere"' in error.detail
    assert "as its certificate does" in error.hint


async def test_a_file_that_is_not_there_is_named(refused: Callable[[str, str], Any], authority: Authority) -> None:
    error = await refused(str(authority.file), "/nowhere/ca.pem")
    assert '"/nowhere/ca.pem" does not exist' in error.detail
    assert "sslrootcert" in error.hint


async def test_a_mode_that_does_not_exist_is_named(refused: Callable[[str, str], Any]) -> None:
    assert "verify-fully" in (await refused("verify-full", "verify-fully")).detail


@pytest.mark.parametrize(
    "place",
    [
        "me:hush-hush@{at}/x",
        "me:hush%2Dhush@{at}/x",
        "me:%68ush-hush@{at}/x",
        "me:hush-hush/more@{at}/x",
        "me:hush-hush?more@{at}/x",
        "me:hush-hush?more=1@{at}/x",
        "me:hush-hush@more@{at}/x",
        "me@corp:hush-hush@{at}/x",
        "me:hush-hush#more@{at}/x",
        "me:hush-hush%more@{at}/x",
        "me:hush-hush[more@{at}/x",
        "me:more'hush-hush@{at}/x",
        "me@{at}/x?password=hush-hush",
        "me@{at}/x?password=hush%2Dhush",
        "me@{at}/x?PASSWORD=hush-hush",
        "{at}/x?user=me&sslpassword=hush-hush&sslkey=k",
        "{at}/x?listen=postgresql://me:hush-hush@{at}/x&schema=1",
        "me:hush-hush@{at},{at}/x",
        "me:hush-hush@{at}/x?sslmode=nonsense",
        "me:hush-hush@nowhere.invalid/x",
    ],
)
async def test_a_password_is_shown_nowhere(
    opened: Open, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr(database, "BRIEFLY_S", 0.0)
    caplog.set_level(logging.DEBUG)
    address = "postgresql://" + place.replace("{at}", f"127.0.0.1:{free_port()}")
    shown = [mask_url(address), mask_url(f"store: {address} (flag)"), mask_url(f'{{"store":"{address}"}}')]
    try:
        store = opened(address)
        shown.append(repr(store))
        await store.heads()
        pytest.fail("nobody is there")
    except SDKError as error:
        shown += [str(error), repr(error), "".join(traceback.format_exception(error)), str(error.hint)]
    shown.append(caplog.text)
    for text in shown:
        assert "hush-hush" not in text
        assert "hush%2Dhush" not in text
        assert "%68ush" not in text


async def test_a_password_of_the_environment_is_shown_nowhere(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BRIEFLY_S", 0.0)
    monkeypatch.setenv("PGPASSWORD", "hush-hush")
    with pytest.raises(StorageError) as caught:
        await opened(f"postgresql://me@127.0.0.1:{free_port()}/x").heads()
    assert "hush-hush" not in "".join(traceback.format_exception(caught.value))


def test_the_line_that_goes_on_is_one_for_a_shell_and_shows_no_password() -> None:
    choice = AgentChoice(store="postgresql://me:hush-hush@db/x?schema=s&sslmode=require")
    assert store_flag(choice) == " --store 'postgresql://me:[secret]@db/x?schema=s&sslmode=require'"
