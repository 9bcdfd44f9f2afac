"""Lists: quick, complete, and never broken by one bad session."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.domain import records as r
from lousho_cli.domain.codec import encode_line
from lousho_cli.domain.messages import user
from lousho_cli.stores.file.fsck import check
from lousho_cli.stores.file.store import FileStore

MakeBatch = Callable[..., r.Batch]


async def write(store: FileStore, name: str, batches: list[r.Batch], *, save: bool = True) -> None:
    claim = await store.claim(name, "here")
    await store.append(claim, batches, durable=False)
    if save:
        await store.save_head(claim, head_of(fold(batches)))
    await store.release(claim)


async def test_case_146_bad_sessions_are_named_and_the_rest_is_listed(store: FileStore, place: Path, batch: MakeBatch) -> None:
    good = [batch(1, 1, r.Claimed("h"), r.Created("a")), batch(2)]
    for name in ("one", "two", "three", "bom", "hole", "folder", "junk", "bom-one"):
        await write(store, name, good)
    sessions = place / "sessions"
    for name in ("bom", "hole", "folder", "junk", "bom-one"):
        (sessions / name / "head.json").unlink()
    log = encode_line(good[0]) + encode_line(good[1])
    (sessions / "bom/log.jsonl").write_bytes(b"\xef\xbb\xbf" + log)
    (sessions / "bom-one/log.jsonl").write_bytes(b"\xef\xbb\xbf" + encode_line(good[0]))
    (sessions / "hole/log.jsonl").write_bytes(encode_line(good[0]) + b'{"not": json}\n' + encode_line(batch(4)))
    (sessions / "junk/log.jsonl").write_bytes(b"{]\n")
    (sessions / "folder/log.jsonl").unlink()
    (sessions / "folder/log.jsonl").mkdir()
    (sessions / "file").write_text("x")
    (sessions / "Strange").mkdir()
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    found = await FileStore(place).heads()
    assert sorted(head.id for head in found.heads) == ["one", "three", "two"]
    damaged = dict(found.damaged)
    assert set(damaged) == {"bom", "bom-one", "hole", "junk", "folder", "file"}
    assert all(str(sessions / name) in detail for name, detail in damaged.items())
    assert "2 to 3" in damaged["hole"]
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before
    kinds = {(finding.session, finding.kind) for finding in await check(FileStore(place))}
    assert {("bom", "hole"), ("hole", "hole"), ("junk", "unreadable"), ("folder", "unreadable"), ("Strange", "stray")} <= kinds
    assert not any(session in ("one", "two", "three") for session, _ in kinds)


async def test_case_145_an_empty_log_is_no_session_and_no_error(store: FileStore, place: Path, batch: MakeBatch) -> None:
    await write(store, "trip", [batch(1)])
    (place / "sessions/trip/log.jsonl").write_bytes(b"")
    (place / "sessions/trip/head.json").write_bytes(b"")
    (place / "sessions/trip/snapshot.json").write_bytes(b"")
    fresh = FileStore(place)
    assert await fresh.heads() == type(await fresh.heads())()
    assert await fresh.load_snapshot("trip") is None
    claim = await fresh.claim("trip", "here")
    await fresh.append(claim, [batch(1, claim.epoch)])
    assert (await fresh.read("trip")).head == 1


async def test_case_159_sessions_may_come_and_go_while_they_are_listed(store: FileStore, place: Path, batch: MakeBatch) -> None:
    import asyncio

    await write(store, "stays", [batch(1)])
    done = threading.Event()

    def come_and_go() -> None:
        other = FileStore(place)
        number = 0
        while not done.is_set():
            number += 1
            name = f"s{number % 5}"
            asyncio.run(write(other, name, [batch(1)], save=number % 2 == 0))
            asyncio.run(other.delete(name))

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        for _ in range(200):
            found = await store.heads()
            assert "stays" in {head.id for head in found.heads}
            assert found.damaged == ()
    finally:
        done.set()
        thread.join()


async def test_a_head_that_is_wrong_is_read_from_the_log(store: FileStore, place: Path, batch: MakeBatch) -> None:
    log = [batch(1, 1, r.Claimed("h"), r.Created("a")), batch(2, 1, r.InputReceived("i", (user("x"),)), r.InputApplied("i"))]
    await write(store, "trip", log)
    good = (await store.heads()).heads
    head = place / "sessions/trip/head.json"
    stored = head.read_bytes()
    for bad in (b"", b"\0" * len(stored), stored[:-9], stored.replace(b'"size":', b'"size":1'), b"{}", b"[1]\n"):
        head.write_bytes(bad)
        assert (await FileStore(place).heads()).heads == good, bad
        assert [finding.kind for finding in await check(FileStore(place))] == ["cache"]


def test_listing_imports_neither_asyncio_nor_pydantic_nor_httpx(place: Path, batch: MakeBatch, child_environment: dict[str, str]) -> None:
    import asyncio

    asyncio.run(write(FileStore(place), "trip", [batch(1)]))
    script = """
import sys
from lousho_cli.stores.file.store import FileStore
store = FileStore(sys.argv[1])
def drive(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise SystemExit("it waits")
assert [head.id for head in drive(store.heads()).heads] == ["trip"]
assert drive(store.head("trip")).seq == 1
assert drive(store.read("trip")).head == 1
assert drive(store.owner("trip")) is None
assert drive(store.inbox("trip")) == ()
print([name for name in ("asyncio", "pydantic", "httpx", "concurrent.futures", "typer") if name in sys.modules])
"""
    child = subprocess.run([sys.executable, "-c", script, str(place)], env=child_environment, capture_output=True, text=True, check=True)
    assert child.stdout.strip() == "[]"


async def test_sessions_at_rest_are_listed_without_reading_their_logs(store: FileStore, place: Path, batch: MakeBatch) -> None:
    """``tests/benchmarks/bench_store.py`` measures 10,000; here it is enough that no log is opened."""
    await write(store, "s", [batch(1, 1, r.Claimed("h"), r.Created("a")), batch(2)])
    names = {name: (place / "sessions/s" / name).read_bytes() for name in ("log.jsonl", "head.json")}
    for number in range(1, 500):
        folder = place / f"sessions/s{number}"
        folder.mkdir()
        for name, data in names.items():
            (folder / name).write_bytes(data if name == "head.json" else bytes(len(data)))  # nothing but a head to go by
    found = await store.heads()
    assert len(found.heads) == 500
    assert {head.agent for head in found.heads} == {"a"}
    times = []
    for _ in range(3):
        begun = time.process_time()
        await store.heads()
        times.append(time.process_time() - begun)
    assert min(times) < 0.1, times  # 4 ms of a processor that is idle
