"""What an earlier version stored loads for ever: each set beside this file, against what was said of it when it was made.

``python tests/replay/test_replay.py SET`` writes down what this version says of a set that has no ``expected.json`` yet.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lousho_cli.app.histories import history
from lousho_cli.app.importing import import_paths
from lousho_cli.app.sessions import listed, read_heads
from lousho_cli.app.showing import show
from lousho_cli.core.fold import fold
from lousho_cli.core.states import session_from, state_from
from lousho_cli.domain import records as r
from lousho_cli.domain.codec import decode_line, encode_line, encode_value
from lousho_cli.ports.log_store import LogStore
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.memory import MemoryStore

HERE = Path(__file__).parent
FORMATS = sorted(path.name for path in HERE.glob("format-*"))
ORIGINALS = sorted(path.name for path in HERE.glob("originals-*"))

_OF_FILES = {"updated_at", "created_at", "saved_at"}
"""Of a record that has no time of its own: when its file was copied here."""

_MEASURED = {"bytes"}
"""What may be counted otherwise one day."""


async def _told(store: LogStore, without: set[str]) -> dict[str, Any]:
    """What is said of each session of a store."""
    heads = {head.id: head for head in (await read_heads(store)).heads}
    told = {}
    for name in sorted(heads):
        entries, _ = await history(store, name)
        value = {"list": listed(heads[name]), "show": (await show(store, name))[0], "history": entries}
        told[name] = _stripped(json.loads(encode_value(value)), without | _MEASURED)
    return told


def _stripped(value: Any, without: set[str]) -> Any:
    if isinstance(value, dict):
        return {key: _stripped(item, without) for key, item in value.items() if key not in without}
    return [_stripped(item, without) for item in value] if isinstance(value, list) else value


def _holds(actual: Any, expected: Any, where: str = "") -> list[str]:
    """Where ``actual`` says something else than ``expected``. More fields are welcome."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return [said for key, item in expected.items() for said in _holds(actual.get(key), item, f"{where}.{key}")]
    if isinstance(expected, list) and isinstance(actual, list) and len(actual) == len(expected):
        return [said for n, item in enumerate(expected) for said in _holds(actual[n], item, f"{where}[{n}]")]
    return [] if actual == expected else [f"{where}: {actual!r} is not {expected!r}"]


def _copied(name: str, folder: Path) -> FileStore:
    shutil.copytree(HERE / name / "store", folder / "store")
    return FileStore(folder / "store")


async def _imported(name: str, folder: Path) -> MemoryStore:
    """Everything of a set of the original, its database made from its statements."""
    database = folder / "jobs.db"
    connection = sqlite3.connect(database)
    connection.executescript((HERE / name / "jobs.sql").read_text())
    connection.close()
    store = MemoryStore()
    await import_paths(store, [HERE / name / "folder", HERE / name / "agent-forge", database], dry_run=False)
    return store


@pytest.mark.parametrize("name", [*FORMATS, *ORIGINALS])
def test_no_file_of_a_set_was_changed(name: str) -> None:
    assert (HERE / name / "SHA256SUMS").read_text() == _sums(HERE / name)


@pytest.mark.parametrize("name", FORMATS)
async def test_a_stored_session_is_what_it_was(name: str, tmp_path: Path) -> None:
    told = await _told(_copied(name, tmp_path), set())
    assert _holds(told, json.loads((HERE / name / "expected.json").read_text())) == []


@pytest.mark.parametrize("name", ORIGINALS)
async def test_an_original_session_is_what_it_was(name: str, tmp_path: Path) -> None:
    told = await _told(await _imported(name, tmp_path), _OF_FILES)
    assert _holds(told, json.loads((HERE / name / "expected.json").read_text())) == []


@pytest.mark.parametrize("name", FORMATS)
async def test_a_stored_session_folds_to_the_same_with_its_caches_and_without(name: str, tmp_path: Path) -> None:
    store = _copied(name, tmp_path)
    cached = {head.id: head for head in (await store.heads()).heads}
    with_snapshot = {log_id: await read_session(store, log_id) for log_id in cached}
    for cache in [*(tmp_path / "store").rglob("snapshot.json"), *(tmp_path / "store").rglob("head.json")]:
        cache.unlink()
    bare = FileStore(tmp_path / "store")
    assert {head.id: head for head in (await bare.heads()).heads} == cached
    for log_id, session in with_snapshot.items():
        read = await bare.read(log_id)
        assert fold(read.batches) == session
        assert session_from(msgspec.json.decode(encode_value(state_from(session)), type=type(state_from(session)))) == session


@pytest.mark.parametrize("name", FORMATS)
async def test_a_stored_session_can_be_written_to(name: str, tmp_path: Path) -> None:
    store = _copied(name, tmp_path)
    for head in (await store.heads()).heads:
        await store.release(await store.claim(head.id, "replay"))


@pytest.mark.parametrize("name", FORMATS)
def test_every_record_is_read_whole(name: str) -> None:
    """No field of a record is ever dropped or renamed."""
    for line in (HERE / name / "records.jsonl").read_bytes().splitlines():
        batch = decode_line(line)
        assert batch is not None
        assert not any(isinstance(record, r.Foreign) for record in batch.records), line
        assert _holds(json.loads(encode_line(batch))["records"], json.loads(line)["records"]) == []


def test_every_record_this_version_knows_is_in_a_set() -> None:
    lines = [json.loads(line) for name in FORMATS for line in (HERE / name / "records.jsonl").read_bytes().splitlines()]
    there = {record["type"] for line in lines for record in line["records"]}
    assert r.KNOWN - there == set(), "make a further set: see README.md"


def _sums(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "SHA256SUMS")
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n" for path in files)


def _write_down(name: str) -> None:
    place = HERE / name / "expected.json"
    if place.exists():
        sys.exit(f"{place} is there: a set is never changed")

    async def told() -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            if name in ORIGINALS:
                return await _told(await _imported(name, Path(folder)), _OF_FILES)
            return await _told(_copied(name, Path(folder)), set())

    place.write_text(json.dumps(asyncio.run(told()), indent=1, ensure_ascii=False) + "\n")
    (HERE / name / "SHA256SUMS").write_text(_sums(HERE / name))


if __name__ == "__main__":
    _write_down(sys.argv[1])
