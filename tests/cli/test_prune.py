"""prune: what nobody touched for long, never what waits for a person; asks first and says what it left."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.domain.times import stamp
from lousho_cli.stores.file.store import FileStore

NOW = stamp(datetime.now(UTC))
MONTHS_AGO = stamp(datetime.now(UTC) - timedelta(days=90))


def _bytes(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _ids(lousho: Any) -> list[str]:
    return sorted(session["id"] for session in lousho("list", "--all", "--json").data)


@pytest.fixture
def stored(store: Any, trip: Any, waiting: Any) -> None:
    store("old", trip(), at=MONTHS_AGO)
    store("waits", waiting(), at=MONTHS_AGO)
    store("new", trip(), at=NOW)


def test_de_089_old_sessions_go_what_waits_stays_and_both_are_told(lousho: Any, stored: None) -> None:
    ran = lousho("prune", "--older-than", "30d", "--yes", "--json")
    assert ran.code == 0
    assert ran.data == {
        "pruned": True,
        "sessions": ["old"],
        "checkpoints": 3,
        "approvals": 0,
        "kept": [{"session": "waits", "why": "waits for a person: decide it, or use --force"}],
    }
    assert "kept waits: waits for a person" in ran.err
    assert _ids(lousho) == ["new", "waits"]
    assert [item["session"] for item in lousho("pending", "--json").data] == ["waits"]


def test_force_takes_what_waits_too(lousho: Any, stored: None) -> None:
    assert lousho("prune", "--older-than", "30d", "--yes", "--force", "-q").out.split() == ["old", "waits"]
    assert _ids(lousho) == ["new"]
    assert lousho("pending", "--json").data == []


def test_de_088_older_checkpoints_of_a_session_in_use_go(lousho: Any, store: Any, trip: Any) -> None:
    store("trip", trip(), at=MONTHS_AGO)
    store("trip", trip(call="call_2", answer="Later."), at=NOW)
    assert len(lousho("history", "trip", "--json").data) == 6
    ran = lousho("prune", "--older-than", "30d", "--yes")
    assert ran.out == "removed 3 checkpoints\n"
    ring = lousho("history", "trip", "--json").data
    assert [entry["address"] for entry in ring] == ["trip@2/2.1", "trip@2/1.2", "trip@2/1.1"]
    assert lousho("show", "trip", "--json").data["messages"][-1]["content"] == "Later."
    assert lousho("fsck").code == 0
    assert lousho("prune", "--older-than", "30d", "--yes").out == "nothing is that old\n"


def test_a_dry_run_and_no_answer_change_nothing(lousho: Any, stored: None, folder: Path) -> None:
    before = _bytes(folder)
    ran = lousho("prune", "--older-than", "30d", "--dry-run")
    assert ran.out.splitlines() == ["would remove old", "would remove 1 session, 3 checkpoints"]
    assert lousho("prune", "--older-than", "30d", "--dry-run", "--json").data["pruned"] is False
    refused = lousho("prune", "--older-than", "30d")
    assert refused.code == 2
    assert "1 session, 3 checkpoints" in refused.err
    assert "--yes" in refused.err
    assert _bytes(folder) == before


def test_what_is_driven_stays_and_is_named(lousho: Any, stored: None, folder: Path) -> None:
    owned = FileStore(folder / ".lousho")
    claim = asyncio.run(owned.claim("old", "other-host"))
    ran = lousho("prune", "--older-than", "30d", "--yes", "--json")
    asyncio.run(owned.release(claim))
    assert ran.code == 0
    assert ran.data["sessions"] == []
    (kept,) = [kept for kept in ran.data["kept"] if kept["session"] == "old"]
    assert "other-host" in kept["why"]
    assert "old" in _ids(lousho)


def test_a_decided_approval_counts(lousho: Any, folder: Path) -> None:
    lousho("run", "booking", "-s", "book")
    lousho("approve", lousho("pending", "--json").data[0]["id"])
    data = lousho("prune", "--older-than", "1ms", "--yes", "--json").data
    assert (data["sessions"], data["approvals"]) == (["book"], 1)


def test_without_a_store_there_is_nothing_and_none_is_made(lousho: Any, folder: Path) -> None:
    ran = lousho("prune", "--older-than", "30d", "--yes", "--json")
    assert (ran.code, ran.data["sessions"]) == (0, [])
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("age", ["soon", "-3d", "0", "30x", "30", ""])
def test_what_is_no_length_of_time_is_refused(lousho: Any, stored: None, age: str) -> None:
    ran = lousho("prune", f"--older-than={age}", "--yes")
    assert ran.code == 2
    assert "--older-than" in ran.err
    assert len(_ids(lousho)) == 3


def test_the_age_has_to_be_said(lousho: Any, stored: None) -> None:
    assert lousho("prune", "--yes").code == 2
    assert len(_ids(lousho)) == 3
