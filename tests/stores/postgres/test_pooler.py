"""Behind the real PgBouncer, which gives each transaction another connection. Skipped by name where it is not installed."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pg_server import free_port

from lousho_cli.core.trimming import base_batch, trimmed_state
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.errors import OwnershipLostError, SessionBusyError
from lousho_cli.ports.credentials import Credential
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.postgres.store import PostgresStore

MakeBatch = Callable[..., r.Batch]
AT = "2026-01-01T00:00:00.000Z"


@pytest.fixture
def pooler(url: str) -> Iterator[str]:
    """The address of the store by way of a pooler with two connections for all who come."""
    program = os.environ.get("PGBOUNCER") or shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("pgbouncer is not installed")
    port = free_port()
    place = url.partition("127.0.0.1:")[2].partition("/")[0]
    folder = Path(tempfile.mkdtemp(prefix="lousho-pooler-"))
    (folder / "users").write_text('"postgres" ""\n')
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\npostgres = host=127.0.0.1 port={place} pool_size=2\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
        f"unix_socket_dir =\nauth_type = trust\nauth_file = {folder / 'users'}\npool_mode = transaction\nmax_client_conn = 100\n"
        "server_reset_query =\nserver_round_robin = 1\n"
    )
    command = [program, "-q", str(folder / "pgbouncer.ini")]
    alone: dict[str, Any] = {}
    if os.geteuid() == 0:  # which it refuses to run as
        folder.chmod(0o755)
        alone = {"user": 65534, "group": 65534, "extra_groups": []}
    running = subprocess.Popen(command, **alone)
    try:
        there = url.replace(f":{place}/", f":{port}/")
        ends = time.monotonic() + 20
        while not _takes_connections(there):
            assert running.poll() is None and time.monotonic() < ends
            time.sleep(0.02)
        yield there
    finally:
        running.terminate()
        running.wait()
        shutil.rmtree(folder)


def _takes_connections(there: str) -> bool:
    try:
        psycopg.connect(there.partition("?")[0]).close()
    except psycopg.OperationalError:
        return False
    return True


async def test_all_of_it_works_through_a_pooler(pooler: str, url: str, opened: Callable[..., PostgresStore], batch: MakeBatch) -> None:
    store, other = opened(pooler), opened(pooler)
    held = await asyncio.gather(*(store.claim(f"s{n}", "here") for n in range(12)))
    with pytest.raises(SessionBusyError):
        await other.claim("s0", "there")
    first: Any = (r.Claimed("here"), r.Created("trip"))
    await asyncio.gather(*(store.append(one, [batch(1, 1, *first)]) for one in held))
    await asyncio.gather(*(store.append(one, [batch(seq)], durable=seq % 2 > 0) for seq in range(2, 8) for one in held))
    for n in range(12):
        assert [one.seq for one in (await other.read(f"s{n}")).batches] == list(range(1, 8))
    state = trimmed_state(await read_session(other, "s0"))
    await store.save_snapshot(held[0], state)
    assert await other.load_snapshot("s0") == state
    await store.trim(held[0], base_batch(state, 1, None))
    await store.release(held[0], AT)
    again = await other.claim("s0", "there")
    with pytest.raises(OwnershipLostError):
        await store.append(held[0], [batch(8)])
    await other.append(again, [batch(8, 2)])
    await store.credentials.save(Credential("c", "key", None, None, "sesame"))
    taken = await asyncio.gather(*(one.credentials.take("c", None) for one in (store, other)))
    assert [one for one in taken if one is not None] == [Credential("c", "key", None, None, "sesame")]
    await store.release(held[1])
    assert await other.delete("s1")
    assert len((await other.heads()).heads) == 11


@pytest.mark.parametrize("listen", [False, True], ids=["polled", "listened"])
async def test_a_post_arrives(pooler: str, url: str, opened: Callable[..., PostgresStore], listen: bool) -> None:
    from urllib.parse import quote

    store = opened(pooler + (f"&listen={quote(url.partition('?')[0], safe='')}" if listen else ""))
    await store.claim("trip", "here")
    waiting = asyncio.create_task(store.wait_for_post("trip", 20_000))
    if listen:
        async with asyncio.timeout(30):
            while not store._lookout._listener.hears:
                await asyncio.sleep(0.01)
    await opened(url).post("trip", Post("p", "abort", AT))
    async with asyncio.timeout(30):
        await waiting
    assert [post.id for post in await store.inbox("trip")] == ["p"]
    assert store._lookout._listener.hears is listen
