"""How long an import of a large Claude Code file takes, and how much memory: beside reading each line with ``json.loads``.

    python tests/benchmarks/importing.py [MEGABYTES] [LINES OF A RESULT]

The import may take 3 times as long as that, and its memory may grow by a fraction of the file.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from lousho_cli.app.importing import import_paths
from lousho_cli.stores.file.store import FileStore

PROMPT_EVERY = 40


def write_session(path: Path, megabytes: float, result: float) -> int:
    """A session of so many megabytes; gives how many lines it has."""
    lines, size, before = 0, 0, None
    with path.open("w") as file:
        while size < megabytes * 1_000_000:
            for line in _step(lines, before, int(result)):
                text = json.dumps(line) + "\n"
                file.write(text)
                size += len(text)
                before = line["uuid"]
                lines += 1
    return lines


def _step(number: int, before: str | None, size: int) -> list[dict[str, Any]]:
    def line(part: int, kind: str, message: dict[str, Any], parent: str | None) -> dict[str, Any]:
        seconds = number + part
        at = f"2026-01-{1 + seconds // 86400:02}T{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.000Z"
        head = {"parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/project", "sessionId": "large"}
        return {**head, "version": "2.0.0", "type": kind, "uuid": f"u-{number}-{part}", "timestamp": at, "message": message}

    usage = {"input_tokens": 5, "output_tokens": 200, "cache_read_input_tokens": 20_000, "cache_creation_input_tokens": 300}
    answer = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "a-model", "usage": usage, "stop_reason": "tool_use"}
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Read", "input": {"file_path": f"/project/file_{number}.py"}}
    body = "\n".join(f"{n:5}\tdef function_{n}(value): return value + {n}" for n in range(size))
    result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": body}
    steps = [] if number % PROMPT_EVERY else [line(0, "user", {"role": "user", "content": f"Look at part {number}."}, before)]
    before = steps[-1]["uuid"] if steps else before
    steps.append(line(1, "assistant", {**answer, "content": [{"type": "text", "text": "Let me read it. " * 8}]}, before))
    steps.append(line(2, "assistant", {**answer, "content": [call]}, steps[-1]["uuid"]))
    given = line(3, "user", {"role": "user", "content": [result]}, steps[-1]["uuid"])
    steps.append({**given, "toolUseResult": {"file": {"content": body}}})
    return steps


def main(megabytes: float = 100.0, result: float = 80.0) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.jsonl"
        lines = write_session(path, megabytes, result)
        began = time.process_time()
        with path.open("rb") as file:
            for line in file:
                json.loads(line)
        plain = time.process_time() - began
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.process_time()
        done = asyncio.run(import_paths(FileStore(Path(folder) / "store"), [path], dry_run=False))
        taken = time.process_time() - began
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(f"{lines} lines, {path.stat().st_size / 1e6:.0f} MB, {done.sessions[0].messages} messages")
        print(f"json.loads a line: {plain:.2f} s; import: {taken:.2f} s, {taken / plain:.1f} times; memory grew by {grown / 1024:.0f} MB")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:3]))
