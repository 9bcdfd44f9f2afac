"""Every command with a store in one SQLite file: ``--store sqlite:FILE``."""

from __future__ import annotations

import gc
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Lousho = Callable[..., Any]


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("LOUSHO_STORE", "sqlite:jobs.db")
    return "sqlite:jobs.db"


def test_reading_commands_make_nothing(lousho: Lousho, url: str, folder: Path) -> None:
    for words, code in ((["list"], 0), (["pending"], 0), (["fsck"], 0), (["show", "trip"], 3), (["resume", "trip"], 3)):
        assert lousho(*words).code == code, words
    assert lousho("list", "--json").data == []
    assert list(folder.iterdir()) == []


def test_a_run_its_fork_and_their_difference(lousho: Lousho, url: str, folder: Path) -> None:
    ran = lousho("run", "trip", "--json")
    assert (ran.code, ran.data["session"], ran.data["status"]) == (0, "trip", "finished")
    gc.collect()  # in a process of its own the end of it does that
    assert [file.name for file in folder.iterdir()] == ["jobs.db"]
    assert [(one["id"], one["step"]) for one in lousho("list", "--json").data] == [("trip", 2)]
    assert [one["address"] for one in lousho("history", "trip", "--json").data][0] == "trip@1/2.1"
    assert lousho("show", "trip", "--json").data["messages"][3]["tool_call_id"] == "call_weather"
    forked = lousho("fork", "trip", "--from-step", "1", "--tool-result", 'call_weather={"forecast":"rain"}', "--run", "--json")
    assert (forked.code, forked.data["session"]) == (0, "trip.fork-1")
    assert lousho("diff", "trip", "trip.fork-1", "--json").data["diverged_at"] == 1
    followed = [json.loads(line) for line in lousho("follow", "trip", "--json").out.splitlines()]
    assert len(followed) > 4
    assert lousho("run", "-s", "trip", "--no-input", "And tomorrow?", "--json").data["session"] == "trip"
    assert lousho("fsck", "--json").data == []
    store = [check for check in lousho("doctor", "--json").data if check["name"] == "store"]
    assert store[0]["state"] == "ok"
    assert lousho("trim", "trip", "--yes").code == 0
    assert lousho("delete", "trip.fork-1", "--yes").code == 0
    assert [one["id"] for one in lousho("list", "--json").data] == ["trip"]
    assert lousho("prune", "--older-than", "1d", "--yes").code == 0
    assert lousho("abort", "trip").code == 0


def test_a_pause_is_decided_by_another_command(lousho: Lousho, url: str) -> None:
    paused = lousho("run", "booking", "--json")
    assert (paused.code, paused.data["status"]) == (4, "awaiting-approval")
    ((item),) = lousho("pending", "--json").data
    assert item["id"] == paused.data["approval_id"]
    assert lousho("run", "-s", "booking", "hello").code == 4
    done = lousho("approve", item["id"][:6], "--json")
    assert (done.code, done.data["status"]) == (0, "finished")
    assert lousho("pending", "--json").data == []
    assert lousho("approve", item["id"]).code == 3


def test_what_is_no_database_is_refused(lousho: Lousho, folder: Path) -> None:
    (folder / "notes.txt").write_text("some text, longer than nothing\n" * 100)
    for words in (["list"], ["run", "trip"]):
        refused = lousho(*words, "--store", "sqlite:notes.txt")
        assert refused.code == 7
        assert "LOUSHO_NOT_A_STORE" in refused.err
    assert lousho("list", "--store", "sqlite:").code == 2
    assert lousho("list", "--store", f"sqlite:{folder}").code == 7
    assert lousho("list", "--store", "sqlite:/nowhere/at/all.db").code == 0


def test_case_165_a_damaged_database_is_one_message(lousho: Lousho, url: str, folder: Path) -> None:
    for name in ("one", "two"):
        assert lousho("run", "trip", "-s", name).code == 0
    gc.collect()
    place = folder / "jobs.db"
    data = bytearray(place.read_bytes())
    middle = len(data) // 2 // 8192 * 8192
    data[middle : middle + 4096] = b"\x5a" * 4096
    place.write_bytes(data)
    for words in (["list"], ["show", "one"], ["history", "one"]):
        said = lousho(*words)
        assert (said.code, said.out) == (7, ""), words
        (line,) = said.err.splitlines()
        assert line.startswith(f"error: the database {place} is damaged")
        assert ".recover" in line
    (check,) = [check for check in lousho("doctor", "--json").data if check["name"] == "store"]
    assert check["state"] == "fail"
    assert "is damaged" in check["detail"]
    (finding,) = lousho("fsck", "--json").data
    assert finding["serious"]
    assert place.read_bytes() == data


def test_a_damaged_session_is_repaired(lousho: Lousho, url: str, folder: Path) -> None:
    assert lousho("run", "trip").code == 0
    connection = sqlite3.connect(folder / "jobs.db")
    connection.execute("DELETE FROM batches WHERE key & 16777215 = 3")
    connection.commit()
    connection.close()
    assert lousho("show", "trip").code == 7
    assert lousho("resume", "trip").code == 7
    assert lousho("fsck").code == 10
    mended = lousho("fsck", "--repair")
    assert mended.code == 0
    assert "jobs.db-damaged-trip-1.jsonl" in mended.err
    assert lousho("fsck").code == 0
    assert lousho("show", "trip").code == 0
