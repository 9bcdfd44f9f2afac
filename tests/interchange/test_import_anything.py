"""Whatever a file holds: no traceback, a valid talk, the same again the second time; and no more memory than a part of it."""

from __future__ import annotations

import json
import random
import runpy
import tracemalloc
from pathlib import Path
from typing import Any

from lousho_cli.app.importing import import_paths
from lousho_cli.core.transcript import check
from lousho_cli.domain.codec import readable
from lousho_cli.errors import SDKError
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.memory import MemoryStore

HERE = Path(__file__).parent
ODD = [None, True, 0, -1, 1.5, 2**80, "", "x", [], {}, [None], [1], ["x"], [{}], {"type": 1}, "\ud800", float("nan")]


def changed(value: Any, chance: random.Random) -> Any:
    """A value with a few of its parts gone, or of another kind."""
    if chance.random() < 0.02:
        return chance.choice(ODD)
    if isinstance(value, dict):
        return {key: changed(item, chance) for key, item in value.items() if chance.random() > 0.01}
    if isinstance(value, list):
        return [changed(item, chance) for item in value if chance.random() > 0.01]
    return value


def talks(chain: Any, call: Any) -> list[tuple[str, list[Any]]]:
    """A talk of each form: the name of its file, and its lines or its one document."""
    lines = chain().user("a", "look").says("b", "I look.", call("x"), call("y", n=1)).gives("c", "y", [{"type": "text", "text": "two"}])
    lines.gives("d", "x", "one").says("e", "Done.").user("f", [{"type": "text", "text": "and?"}], parentUuid="b").says("g", call("z"))
    lines.user("h", "go", isSidechain=True, parentUuid=None).says("i", "gone", isSidechain=True, parentUuid="h")
    documents = runpy.run_path(str(HERE / "test_import_documents.py"))
    codex = runpy.run_path(str(HERE / "test_import_codex.py"))["TALK"]
    chat, sample = documents["CHAT"], documents["SAMPLE"]
    shapes = [chat, documents["RESPONSES"], {"eval": {"task": "x"}, "samples": [sample, sample]}, {"trajectory": [], "history": chat}]
    return [("l.jsonl", lines.lines), ("l.jsonl", codex), ("l.jsonl", chat), *(("d.json", [shape]) for shape in shapes)]


async def test_anything_at_all_in_any_place(desk: Any, chain: Any, call: Any) -> None:
    known = talks(chain, call)
    for seed in range(120):
        chance = random.Random(seed)
        name, lines = chance.choice(known)
        some = [json.dumps(changed(line, chance)) for line in lines]
        if chance.random() < 0.3:
            chance.shuffle(some)
        data = bytearray("\n".join(some).encode())
        for _ in range(chance.choice([0, 0, 0, 3])):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path, store = desk.write(name, bytes(data)), MemoryStore()
        try:
            await import_paths(store, [path], dry_run=False)
            again = await import_paths(store, [path], dry_run=False)
        except SDKError:
            continue
        assert {one.result for one in again.sessions} <= {"unchanged", "skipped"}, seed
        for head in (await store.heads()).heads:
            assert all(readable(batch) for batch in (await store.read(head.id)).batches), seed
            assert check((await read_session(store, head.id)).messages, open_tail=True) is None, seed


async def test_a_large_file_is_never_held_whole(tmp_path: Path) -> None:
    write_session = runpy.run_path(str(HERE.parent / "benchmarks" / "importing.py"))["write_session"]
    path = tmp_path / "large.jsonl"
    write_session(path, 4, 400)
    store = FileStore(tmp_path / "store")
    await import_paths(store, [path], dry_run=True)  # so that what is loaded once is loaded
    tracemalloc.start()
    done = await import_paths(store, [path], dry_run=False)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert done.sessions[0].messages > 100
    assert peak < path.stat().st_size / 2
