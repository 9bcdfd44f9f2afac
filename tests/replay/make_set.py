"""Makes a set of stored sessions by running lousho for real, and a line of every record there is.

``python tests/replay/make_set.py format-1.1``, then ``python tests/replay/test_replay.py format-1.1``. Refuses a set that is there.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from msgspec import inspect

from lousho_cli.core.states import state_from
from lousho_cli.domain import records as r
from lousho_cli.domain.codec import encode_line
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.file.store import FileStore

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

LOUSHO = "import socket, sys; socket.gethostname = lambda: 'here'; from lousho_cli.__main__ import main; sys.exit(main(sys.argv[1:]))"
"""The command, without the name of the machine it runs on."""

TOOLS = """
import os

def weather(city: str) -> dict:
    return {"city": city, "forecast": "sun"}

def dies(n: int = 0) -> dict:
    os._exit(9)

def odd(n: int = 0) -> dict:
    return {"bytes": b"abc", "nan": float("nan"), "big": 2 ** 80, "text": "h\\u00e9llo \\U0001f30d"}

def fails(n: int = 0) -> dict:
    raise ValueError("not today")

def book_table(people: int, time: str = "20:00") -> dict:
    return {"booked": people, "time": time}
"""


def _agent(folder: Path, name: str, turns: Sequence[Any], tools: Sequence[str] = (), **more: Any) -> None:
    """An agent file whose model answers from a list."""
    entries = [{"python": f"tools.py:{tool}", "needs_approval": tool == "book_table"} for tool in tools]
    provider = {"type": "scripted", "turns": list(turns)}
    agent = {"name": name, "prompt": f"You are {name}.", "provider": provider, "tools": entries, "durability": {"retry": False}}
    (folder / f"{name}.json").write_text(json.dumps(agent | more))


def _calls(*named: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    calls = [{"name": name, "args": args, "id": f"call_{number}_{name}"} for number, (name, args) in enumerate(named, 1)]
    return {"text": "Let me see.", "tool_calls": calls, "usage": {"input_tokens": 40, "output_tokens": 12}}


def _project(folder: Path) -> None:
    (folder / "tools.py").write_text(TOOLS)
    _agent(folder, "mixed", [_calls(("odd", {}), ("fails", {}), ("nobody", {})), "Mixed."], ["odd", "fails"])
    cut = _calls(("weather", {"city": "Porto"}), ("dies", {}), ("weather", {"city": "Faro"}))
    _agent(folder, "cut", [cut, "Done."], ["weather", "dies"], policy={"tool_concurrency": 1})
    book = _calls(("weather", {"city": "Porto"}), ("book_table", {"people": 2}), ("weather", {"city": "Faro"}))
    _agent(folder, "book", [book, "Booked."], ["weather", "book_table"], policy={"approval_ttl": "3d"})
    _agent(folder, "scout", [_calls(("weather", {"city": "Porto"}), ("book_table", {"people": 4})), "Found."], ["weather", "book_table"])
    lead = [_calls(("scout", {"input": "Find a table"}), ("weather", {"city": "Faro"})), "All set."]
    _agent(folder, "lead", lead, ["weather"], subagents={"scout": "scout.json"})
    _agent(folder, "broken", [{"error": {"status": 500, "message": "out of order"}}], durability={"retry": {"max_retries": 1}})
    _agent(folder, "short", [_calls(("weather", {"city": "Porto"})), "Never."], ["weather"], policy={"limits": {"max_steps": 1}})


class _Shell:
    """Runs the command in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        keep = {name: value for name, value in os.environ.items() if not name.startswith("LOUSHO_")}
        self._environ = keep | {"HOME": str(folder), "LOGNAME": "reviewer", "PYTHONPATH": str(ROOT)}

    def __call__(self, *args: str, code: int = 0) -> str:
        command = [sys.executable, "-c", LOUSHO, *args]
        ran = subprocess.run(command, cwd=self._folder, env=self._environ, capture_output=True, text=True, check=False)
        assert ran.returncode == code, (args, ran.returncode, ran.stdout, ran.stderr)
        return ran.stdout

    def approval(self, session: str) -> str:
        return next(item["id"] for item in json.loads(self("pending", "--json"))["data"] if item["session"] == session)


def _sessions(lousho: _Shell) -> None:
    """A session of each kind."""
    lousho("run", "trip", "Plan my trip")
    lousho("run", "trip", "And the day after?", "-s", "trip", "--input-id", "second")
    lousho("fork", "trip@1/1", "--tool-result", 'call_weather={"forecast":"rain"}', "--business-state", '{"order":7}', "--run")
    lousho("fork", "trip@1/1", "--append-input", "By bicycle.", "--as", "asked")
    lousho("run", "booking", code=4)
    lousho("run", "mixed.json", "Go", "-s", "mixed")
    for name in ("cut", "aborted"):
        lousho("run", "cut.json", "Go", "-s", name, code=9)
    lousho("abort", "aborted")
    for name in ("waits", "approved", "edited", "rejected"):
        lousho("run", "book.json", "Book", "-s", name, code=4)
    lousho("approve", lousho.approval("approved"), "--note", "but outside")
    (lousho._folder / "edit.json").write_text('{"people": 3, "time": "21:00"}')
    lousho("approve", lousho.approval("edited"), "--edit", "edit.json")
    lousho("reject", lousho.approval("rejected"), "--reason", "too dear", "--no-resume")
    lousho("run", "lead.json", "Plan the evening", "-s", "lead-waits", code=4)
    lousho("run", "lead.json", "Plan the evening", "-s", "lead-done", code=4)
    lousho("approve", lousho.approval("lead-done"))
    lousho("run", "broken.json", "Go", "-s", "failed", code=1)
    lousho("run", "short.json", "Go", "-s", "limit", code=9)
    lousho("run", "trip", "-s", "cleared")
    lousho("delete", "cleared", "--keep-history", "--yes")
    lousho("run", "trip", "-s", "trimmed")
    lousho("trim", "trimmed", "--yes")
    lousho("run", "trip", "Once more", "-s", "trimmed")


async def _snapshot(store: FileStore, session_id: str) -> None:
    """Caches the fold of a session, as its owner does once its log is long."""
    claim = await store.claim(session_id, "here")
    await store.save_snapshot(claim, state_from(await read_session(store, session_id)))
    await store.release(claim)


_DEEP = 5


def _sample(of: inspect.Type, depth: int = 0) -> Any:
    """A value of a type with every field set; states inside states end somewhere."""
    match of:
        case inspect.StructType():
            return of.cls(**{field.name: _sample(field.type, depth + 1) for field in of.fields if depth < _DEEP or field.required})
        case inspect.UnionType():
            return _sample(next(one for one in of.types if not isinstance(one, inspect.NoneType)), depth)
        case inspect.LiteralType():
            return of.values[-1]
        case inspect.VarTupleType():
            return (_sample(of.item_type, depth + 1),) if depth < _DEEP * 2 else ()
        case inspect.TupleType():
            return tuple(_sample(one, depth + 1) for one in of.item_types)
        case inspect.DictType():
            return {"key": _sample(of.value_type, depth + 1)} if depth < _DEEP * 2 else {}
        case inspect.StrType():
            return "text"
        case inspect.BoolType():
            return True
        case inspect.IntType():
            return 3
        case inspect.FloatType():
            return 0.5
        case inspect.AnyType():
            return {"any": [1, "two", None]}
    raise TypeError(f"no sample of {of}")


def _lines() -> bytes:
    """A line of every record there is, each with every field set."""
    kinds = get_args(r.Record)
    made = [_sample(inspect.type_info(kind)) for kind in kinds]
    return b"".join(encode_line(r.Batch(n, 1, "2026-01-01T00:00:00.000Z", (record,), sync=0)) for n, record in enumerate(made, 1))


def main(name: str) -> None:
    """Makes the set ``name``."""
    place = HERE / name
    if place.exists():
        sys.exit(f"{place} is there: a set is never changed")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        _project(folder)
        _sessions(_Shell(folder))
        asyncio.run(_snapshot(FileStore(folder / ".lousho"), "trip"))
        for session in sorted((folder / ".lousho" / "sessions").iterdir()):
            target = place / "store" / "sessions" / session.name
            target.mkdir(parents=True)
            for file in ("log.jsonl", "head.json", "snapshot.json"):
                if (session / file).exists():
                    shutil.copyfile(session / file, target / file)
            assert made not in (target / "log.jsonl").read_text(), f"{session.name} names where it was made"
    (place / "records.jsonl").write_bytes(_lines())


if __name__ == "__main__":
    main(sys.argv[1])
