"""delete: asks first, never what waits, never what is driven; all or all but the ring."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

from lousho_cli.stores.file.store import FileStore


def _bytes(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_case_210_without_a_terminal_and_without_yes_nothing_changes(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("trip", trip())
    before = _bytes(folder)
    ran = lousho("delete", "trip")
    assert ran.code == 2
    assert "--yes" in ran.err
    assert _bytes(folder) == before


def test_a_dry_run_only_says_it(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("trip", trip())
    before = _bytes(folder)
    ran = lousho("delete", "trip", "--dry-run", "--json")
    assert (ran.code, ran.data["deleted"]) == (0, False)
    assert _bytes(folder) == before


def test_yes_deletes(lousho: Any, store: Any, trip: Any) -> None:
    store("trip", trip())
    assert lousho("delete", "trip", "--yes", "--json").data == {
        "session": "trip",
        "keep_history": False,
        "deleted": True,
        "messages": 4,
    }
    assert lousho("list", "--json").data == []
    assert lousho("delete", "trip", "--yes").code == 3


def test_a_ctrl_c_at_the_question_ends_it(store: Any, trip: Any, terminal: Any, folder: Path) -> None:
    store("trip", trip())
    asking = terminal("delete", "trip")
    asking.until("[y/N]")
    asking.process.send_signal(signal.SIGINT)
    assert asking.ended() == 130
    assert asking.said.endswith("\r\n"), "what is said next begins a line"
    assert "trip" in asyncio.run(_ids(folder))


async def _ids(folder: Path) -> list[str]:
    return [head.id for head in (await FileStore(folder / ".lousho").heads()).heads]


def test_what_waits_for_a_person_is_refused_unless_forced(lousho: Any, store: Any, waiting: Any) -> None:
    store("booking", waiting())
    ran = lousho("delete", "booking", "--yes")
    assert ran.code == 4
    assert "lousho approve 7f3a9c1e2b4d" in ran.err
    assert "--force" in ran.err
    assert lousho("delete", "booking", "--yes", "--force").code == 0
    assert lousho("list", "--json").data == []


def test_a_driven_session_is_refused_with_who_drives_it(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("trip", trip())
    owned = FileStore(folder / ".lousho")
    claim = asyncio.run(owned.claim("trip", "other-host"))
    ran = lousho("delete", "trip", "--yes")
    asyncio.run(owned.release(claim))
    assert ran.code == 5
    assert "other-host" in ran.err
    assert lousho("list", "-q").out == "trip\n"


def test_keep_history_keeps_the_ring(lousho: Any, store: Any, trip: Any) -> None:
    store("trip", trip())
    before = lousho("history", "trip", "--json").data
    assert lousho("delete", "trip", "--yes", "--keep-history").code == 0
    assert lousho("history", "trip", "--json").data == before
    assert lousho("show", "trip", "--json").data["messages"] == []


def test_what_is_cleared_is_no_session_that_did_not_end(lousho: Any, store: Any, trip: Any) -> None:
    store("trip", trip())
    store("other", trip())
    assert lousho("delete", "trip", "--yes", "--keep-history").code == 0
    listed = lousho("list")
    assert "trip " not in listed.out.replace(" trip ", " ")
    assert "1 of 1 sessions" in listed.err
    assert "--all" in listed.err
    assert [session["id"] for session in lousho("list", "--json").data] == ["other"]
    every = {session["id"]: session for session in lousho("list", "--all", "--json").data}
    assert every["trip"]["cleared"] is True
    assert "cleared" not in every["other"]
    assert "cleared" in lousho("list", "--all").out
    assert "nothing is pending" in lousho("resume").out + lousho("resume").err
    assert lousho("resume", "--all", "--json").data == []


def test_a_session_of_a_newer_version_is_not_deleted(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    from lousho_cli.domain.records import Foreign

    store("trip", [*trip(), [Foreign("lousho.future", b'{"type":"lousho.future","x":1}')]])
    before = _bytes(folder)
    for extra in ((), ("--force",), ("--keep-history",)):
        ran = lousho("delete", "trip", "--yes", *extra)
        assert ran.code == 7
        assert "newer version" in ran.err
        assert _bytes(folder) == before
