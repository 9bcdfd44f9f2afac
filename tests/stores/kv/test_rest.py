"""``CloudflareKV`` against the real KV, and against a server that fails on purpose."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.errors import ConfigurationError, StorageError
from lousho_cli.stores.kv.checkpoints import KVCheckpointStore
from lousho_cli.stores.kv.namespace import KVError
from lousho_cli.stores.kv.rest import CloudflareKV


@pytest.fixture
def failing(kv_front: Any) -> Iterator[Any]:
    path = Path(__file__).with_name("failing_front.py")
    spec = importlib.util.spec_from_file_location("failing_front", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with module.FailingFront(kv_front.base_url).running() as front:
        yield front


@pytest.fixture
async def client(kv_front: Any, failing: Any) -> Any:
    made = kv_front.client(base_url=failing.base_url)
    yield made
    await made.aclose()


@pytest.mark.parametrize("key", ["plain", "a/b", "a b", "ü?x=1&y#z", "50%", "..%2F"])
@pytest.mark.parametrize("value", ["", "text", "ü\x00\n", '{"a": 1}'])
async def test_what_is_put_is_what_is_got(workerd: Any, prefix: str, key: str, value: str) -> None:
    assert await workerd.get(prefix + key) is None
    await workerd.put(prefix + key, value)
    assert await workerd.get(prefix + key) == value.encode()
    assert await workerd.list(prefix) == [prefix + key]
    await workerd.delete(prefix + key)
    await workerd.delete(prefix + key)
    assert await workerd.get(prefix + key) is None


async def test_a_list_comes_page_by_page(workerd: Any, prefix: str) -> None:
    names = [f"{prefix}{number:02}" for number in range(25)]
    for name in names:
        await workerd.put(name, "x")
    assert await workerd.list(prefix) == names
    assert await workerd.list(f"{prefix}none") == []


async def test_what_kv_itself_refuses_is_a_storage_error(workerd: Any) -> None:
    with pytest.raises(StorageError) as raised:
        await workerd.put("k" * 600, "x")
    assert "600" in raised.value.detail or "512" in raised.value.detail
    with pytest.raises(StorageError):
        await workerd.put("k", "x", expiration_ttl=10)


async def test_a_wrong_token_and_a_wrong_namespace_are_named_without_the_token(kv_front: Any) -> None:
    for client, hint in (
        (kv_front.client(token="s3cret-token"), "CLOUDFLARE_API_TOKEN"),
        (kv_front.client("nope"), "kv:ACCOUNT/NAMESPACE"),
    ):
        with pytest.raises(KVError) as raised:
            await client.get("k")
        assert hint in raised.value.hint
        assert not raised.value.retryable
        assert "s3cret" not in f"{raised.value} {raised.value.hint} {client!r} {raised.value.__cause__}"
        await client.aclose()


async def test_a_server_that_repeats_the_token_does_not_get_it_into_an_error(failing: Any, client: Any, kv_front: Any) -> None:
    failing.failures = [(400, {}, f"bad header {kv_front.token}")]
    with pytest.raises(KVError) as raised:
        await client.get("k")
    assert "[token]" in raised.value.detail
    assert kv_front.token not in str(raised.value)


async def test_a_save_waits_as_long_as_it_is_asked_to(failing: Any, client: Any, bench: Any, prefix: str, clock: Any) -> None:
    failing.failures = [(429, {"retry-after": "7"}, "slow down"), (429, {}, "slow down"), (503, {}, "oops"), None]
    store = KVCheckpointStore(client, prefix, history_limit=0, clock=clock)
    await store.save("s", bench.checkpoint(1))
    assert clock.slept == [7, 1, 0.5, 1]
    assert failing.asked == ["PUT"] * 5
    assert (await store.load("s")).step_index == 1


async def test_a_wait_that_is_too_long_is_given_up(failing: Any, client: Any, bench: Any, clock: Any) -> None:
    failing.failures = [(429, {"retry-after": "86400"}, "come back tomorrow")]
    with pytest.raises(StorageError, match="tomorrow"):
        await KVCheckpointStore(client, clock=clock).save("s", bench.checkpoint(1))
    assert clock.slept == []


@pytest.mark.parametrize("failure", [None, (500, {}, "<html>broken</html>"), (502, {}, "bad gateway")])
async def test_what_stays_away_is_given_up(failing: Any, client: Any, clock: Any, failure: Any) -> None:
    failing.failures = [failure] * 9
    with pytest.raises(StorageError) as raised:
        await KVCheckpointStore(client, clock=clock).load("s")
    assert len(failing.asked) == 4
    assert clock.slept == [0.5, 1, 2]
    assert "html" not in raised.value.detail


@pytest.mark.parametrize("failure", [(400, {}, "no"), (401, {}, "who"), (413, {}, "too large"), (404, {}, "no such account")])
async def test_what_would_fail_again_is_not_asked_again(failing: Any, client: Any, clock: Any, failure: Any) -> None:
    failing.failures = [failure]
    with pytest.raises(StorageError, match=f"Cloudflare answered {failure[0]}: {failure[2]}"):
        await KVCheckpointStore(client, clock=clock).load("s")
    assert clock.slept == []


async def test_nobody_listens(clock: Any) -> None:
    client = CloudflareKV("acct", "ns1", "t", "http://127.0.0.1:9/client/v4")
    with pytest.raises(StorageError, match=r"no answer from 127\.0\.0\.1") as raised:
        await KVCheckpointStore(client, clock=clock).load("s")
    assert "CLOUDFLARE_API_BASE_URL" in raised.value.hint
    await client.aclose()


def test_the_token_and_the_address_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLOUDFLARE_API_TOKEN", raising=False)
    with pytest.raises(ConfigurationError, match="is missing") as raised:
        CloudflareKV("acct", "ns1")
    assert "CLOUDFLARE_API_TOKEN" in raised.value.hint
    monkeypatch.setenv("CLOUDFLARE_API_TOKEN", "t\n")
    CloudflareKV("acct", "ns1")
    monkeypatch.setenv("CLOUDFLARE_API_BASE_URL", "ftp://x")
    with pytest.raises(ConfigurationError) as raised:
        CloudflareKV("acct", "ns1")
    assert raised.value.field == "base_url"


@pytest.mark.parametrize(
    ("account", "namespace", "token"), [("", "n", "t"), ("a/b", "n", "t"), ("a", "n?x", "t"), ("a", "ü", "t"), ("a", "n", "t\x00t")]
)
def test_what_can_be_no_id_or_token_is_refused(account: str, namespace: str, token: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        CloudflareKV(account, namespace, token)
    assert "t\x00t" not in str(raised.value)


def test_httpx_is_loaded_by_the_first_request_alone() -> None:
    code = "import sys, lousho_cli as l; l.KVStore(l.CloudflareKV('a', 'n', 't')); print('httpx' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
