"""trim: asks first, says how much it is, keeps everything but what came before."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.stores.file.store import FileStore


def _bytes(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _log(folder: Path, session: str = "trip") -> list[Any]:
    text = (folder / ".lousho/sessions" / session / "log.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines() if line]


def test_a_trim_keeps_the_session_and_its_checkpoints(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("trip", trip(answer="Sunny. " * 50))
    shown, ring = lousho("show", "trip", "--json").data, lousho("history", "trip", "--json").data
    step = lousho("show", "trip@1.1", "--json").data
    ran = lousho("trim", "trip", "--yes", "--json")
    assert ran.code == 0
    (line,) = _log(folder)
    assert [record["type"] for record in line["records"]] == ["lousho.claimed", "lousho.base"]
    length = (folder / ".lousho/sessions/trip/log.jsonl").stat().st_size
    assert ran.data == {
        "session": "trip",
        "trimmed": True,
        "bytes_before": ran.data["bytes_before"],
        "bytes_after": ran.data["bytes_after"],
        "batches": 5,
        "checkpoints": 3,
    }
    assert abs(ran.data["bytes_after"] - length) < 20
    assert lousho("show", "trip", "--json").data == shown
    assert lousho("show", "trip@1.1", "--json").data == step
    assert lousho("history", "trip", "--json").data == ring
    assert lousho("fsck").code == 0
    assert lousho("list", "--json").data[0]["messages"] == 4


def test_a_short_log_is_trimmed_though_it_gets_longer_and_that_is_said(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("trip", trip())
    ran = lousho("trim", "trip", "--yes")
    assert (ran.code, len(_log(folder))) == (0, 1)
    assert "its log is short: what it adds up to is longer" in ran.err


def test_a_trimmed_session_goes_on(lousho: Any, folder: Path) -> None:
    lousho("run", "booking", "-s", "book")
    approval = lousho("pending", "--json").data[0]["id"]
    before = lousho("show", "book", "--json").data
    assert lousho("trim", "book", "--yes", "--force").code == 0
    assert lousho("show", "book", "--json").data == before
    ran = lousho("approve", approval, "--json")
    assert (ran.code, ran.data["status"]) == (0, "finished")
    assert len([message for message in lousho("show", "book", "--json").data["messages"] if message["role"] == "tool"]) == 1


def test_a_record_before_it_is_named_as_trimmed(lousho: Any, store: Any, trip: Any) -> None:
    store("trip", trip())
    lousho("trim", "trip", "--yes")
    for command in (["show", "trip#2"], ["fork", "trip#2"], ["diff", "trip#2", "trip"]):
        ran = lousho(*command)
        assert ran.code == 3
        assert "no record #2 any more: its log was trimmed" in ran.err
        assert "Kept steps: 1, 2." in ran.err
    assert lousho("show", "trip#9").code == 3
    assert lousho("show", "trip#5").code == 0
    assert lousho("fork", "trip", "--from-step", "1", "-q").out == "trip.fork-1\n"


def test_a_follower_gets_the_base(lousho: Any, store: Any, trip: Any) -> None:
    store("trip", trip())
    lousho("trim", "trip", "--yes")
    lines = [json.loads(line) for line in lousho("follow", "trip", "--json").out.splitlines()]
    assert [(line["cursor"]["seq"], line["type"]) for line in lines] == [(5, "lousho.claimed"), (5, "lousho.base")]
    assert lousho("follow", "trip", "--since", "5", "--json").out == ""
    assert "base" in lousho("follow", "trip").out


def test_a_dry_run_and_no_answer_change_nothing(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("trip", trip())
    before = _bytes(folder)
    ran = lousho("trim", "trip", "--dry-run")
    assert ran.code == 0
    assert ran.out.startswith("would trim trip: 5 records to 1, ")
    assert "3 checkpoints kept" in ran.out
    assert lousho("trim", "trip", "--dry-run", "--json").data["trimmed"] is False
    refused = lousho("trim", "trip")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert _bytes(folder) == before


def test_a_log_of_one_record_is_left(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("trip", trip())
    lousho("trim", "trip", "--yes")
    before = _bytes(folder)
    ran = lousho("trim", "trip")
    assert ran.code == 0
    assert "nothing to trim" in ran.out
    assert lousho("trim", "trip", "--yes", "--json").data["trimmed"] is False
    assert _bytes(folder) == before


def test_what_waits_for_a_person_is_refused_unless_forced(lousho: Any, store: Any, waiting: Any, folder: Path) -> None:
    store("booking", waiting())
    before = _bytes(folder)
    for extra in ([], ["--dry-run"]):
        ran = lousho("trim", "booking", "--yes", *extra)
        assert ran.code == 4
        assert "lousho approve 7f3a9c1e2b4d" in ran.err
        assert "--force" in ran.err
    assert _bytes(folder) == before
    assert lousho("trim", "booking", "--yes", "--force", "-q").out == "booking\n"
    assert [item["id"] for item in lousho("pending", "--json").data] == ["7f3a9c1e2b4d"]


def test_a_driven_session_is_busy(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("trip", trip())
    owned = FileStore(folder / ".lousho")
    claim = asyncio.run(owned.claim("trip", "other-host"))
    for extra in ("--yes", "--dry-run"):
        ran = lousho("trim", "trip", extra)
        assert ran.code == 5
        assert "other-host" in ran.err
    asyncio.run(owned.release(claim))
    assert len(_log(folder)) == 5


def test_what_is_not_there_damaged_or_newer_is_refused(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    from lousho_cli.domain.records import Foreign

    assert lousho("trim", "nothing", "--yes").code == 3
    assert not (folder / ".lousho").exists()
    store("newer", [*trip(), [Foreign("lousho.future", b'{"type":"lousho.future"}')]])
    store("trip", trip())
    log = folder / ".lousho/sessions/trip/log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:2], *lines[3:]]))
    before = _bytes(folder)
    for session in ("newer", "trip"):
        for extra in ("--yes", "--dry-run"):
            assert lousho("trim", session, extra).code == 7
    assert _bytes(folder) == before


@pytest.mark.parametrize("flip", [30, 400])
def test_a_damaged_base_is_damage_not_an_empty_session(lousho: Any, store: Any, trip: Any, folder: Path, flip: int) -> None:
    store("trip", trip())
    lousho("trim", "trip", "--yes")
    log = folder / ".lousho/sessions/trip/log.jsonl"
    data = bytearray(log.read_bytes())
    data[flip] ^= 1
    log.write_bytes(bytes(data))
    assert lousho("fsck").code == 10
    (folder / ".lousho/sessions/trip/head.json").unlink()  # a list believes it while the log has its length
    assert "trip is damaged" in lousho("list").err
    for command in (["show", "trip"], ["run", "trip", "-s", "trip"], ["trim", "trip", "--yes"]):
        assert lousho(*command).code == 7
    assert log.read_bytes() == bytes(data)


def test_a_log_that_begins_past_one_without_a_base_is_damage(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("trip", trip())
    log = folder / ".lousho/sessions/trip/log.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[2:]))
    ran = lousho("fsck", "--json")
    assert ran.code == 10
    assert [(found["kind"], found["seq"]) for found in ran.data if found["kind"] == "hole"] == [("hole", 1)]
    assert lousho("run", "trip", "-s", "trip").code == 7


def test_a_trimmed_log_with_damage_behind_its_base_is_repaired(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("trip", trip())
    lousho("trim", "trip", "--yes")
    store("trip", trip(call="call_2"))
    log = folder / ".lousho/sessions/trip/log.jsonl"
    lines = [line for line in log.read_bytes().splitlines(keepends=True) if line.strip()]
    log.write_bytes(b"".join([*lines[:2], *lines[3:]]))
    found = lousho("fsck", "--json")
    assert (found.code, [(one["kind"], one["seq"]) for one in found.data if one["kind"] == "hole"]) == (10, [("hole", 7)])
    assert lousho("fsck", "--repair").code == 0
    assert [line["seq"] for line in _log(folder)] == [5, 6, 7, 8, 9, 10]
    assert lousho("fsck").code == 0
    assert "call_weather" in lousho("show", "trip", "--json").out
