"""Many processes that send to one thread at once: whoever owns it, each input runs once, and each sender's in its order."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from warm_process import Popen

import lousho_cli
from lousho_cli.domain import records as r
from tests.host.host_process import open_store

SENDER = Path(__file__).with_name("posting_process.py")
ENV = os.environ | {"PYTHONPATH": f"{Path(lousho_cli.__file__).parents[1]}{os.pathsep}{Path(__file__).parents[2]}"}


@pytest.mark.slow  # it starts four processes
@pytest.mark.parametrize("kind", ["file", "sqlite"])
async def test_forty_inputs_from_four_processes_each_run_once_and_in_their_senders_order(kind: str, tmp_path: Path) -> None:
    words = [sys.executable, str(SENDER), kind, str(tmp_path)]
    senders = [Popen([*words, name, "10"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENV) for name in "wxyz"]
    try:
        assert [json.loads(one.stdout.readline()) for one in senders if one.stdout] == ["here"] * 4
        for one in senders:
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.flush()
        told = [json.loads(one.communicate(timeout=60)[0]) for one in senders]
    finally:
        for one in senders:
            one.kill()
            one.communicate()
    for name, outcomes in zip("wxyz", told, strict=True):
        assert outcomes == [[f"{name}-{n:02}", "completed", f"Noted {name}-{n:02}."] for n in range(10)]
    store = open_store(kind, tmp_path)
    settled = [one.id for one in await records(store, r.InputSettled)]
    ran = (tmp_path / "ran.txt").read_text().split()
    assert len(settled) == len(set(settled)) == 40
    assert [one for one, _ in groupby(ran)] == settled, "each ended before the next began"
    assert len(ran) - 40 <= len(await records(store, r.RunResumed)) <= 3, "a call ran again only where a host left in the middle of it"
    for name in "wxyz":
        assert [one for one in settled if one.startswith(name)] == sorted(one for one in settled if one.startswith(name))
    if kind == "sqlite":
        store.close()


async def records(store: Any, kind: type[Any]) -> list[Any]:
    return [record for batch in (await store.read("t")).batches for record in batch.records if isinstance(record, kind)]
