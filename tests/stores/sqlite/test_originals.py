"""A file of the original product, opened as it is: its sessions go on, and nothing of it is lost."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from lousho_cli import AgentExecutor, ScriptedProvider, resume_after_approval
from lousho_cli.errors import NotFoundError, SessionAwaitingApprovalError, StorageError
from lousho_cli.stores.sqlite import schema
from lousho_cli.stores.sqlite.store import SqliteStore
from lousho_cli.tools.function import function_tool

STATEMENTS = Path(__file__).parents[2] / "replay" / "originals-1" / "jobs.sql"
AGENT = {"name": "booking", "instructions": "You book tables."}


@pytest.fixture
def original(place: Path) -> Path:
    connection = sqlite3.connect(place)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(STATEMENTS.read_text())
    connection.commit()
    connection.close()
    return place


def change(place: Path, *statements: str) -> None:
    connection = sqlite3.connect(place)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.fixture
def ran() -> list[str]:
    return []


@pytest.fixture
def tools(ran: list[str]) -> list[Any]:
    def book_table(people: int, time: str) -> dict[str, Any]:
        """Books."""
        ran.append(f"book {people} {time}")
        return {"booked": people}

    def weather(city: str) -> str:
        """Looks."""
        ran.append(f"weather {city}")
        return "sun"

    return [function_tool(book_table, needs_approval=True), function_tool(weather)]


async def test_its_checkpoints_load_and_its_history_is_there(original: Path) -> None:
    store = SqliteStore(original)
    heads = {head.id: head for head in (await store.heads()).heads}
    assert {name: (head.agent, head.status, head.step) for name, head in heads.items()} == {
        "job-1": ("trip", "finished", 2),
        "job-2": ("booking", "awaiting-approval", 1),
    }
    loaded = await store.checkpoints.load("job-1")
    assert loaded is not None
    assert (loaded.step_index, loaded.messages[-1].text, loaded.messages[3].tool_call_id) == (2, "Sunny: take the coast.", "call_weather")
    ring = [(one.step, one.status, one.saved_at) for one in await store.checkpoints.history("job-1")]
    assert ring == [
        (2, "finished", "2025-03-01T10:00:02.000Z"),
        (1, "in-progress", "2025-03-01T10:00:01.000Z"),
        (1, "in-progress", "2025-03-01T10:00:00.000Z"),
    ]
    shown = store.database.query("SELECT step, status, saved_at FROM checkpoint_history WHERE session_id = 'job-1' ORDER BY seq DESC")
    assert shown == ring
    store.close()


async def test_its_open_approval_is_decided_and_the_run_goes_on(original: Path, tools: list[Any], ran: list[str]) -> None:
    store = SqliteStore(original)
    (waiting,) = await store.approvals.list()
    assert (waiting.id, waiting.tool_name, waiting.session_id) == ("appr-job", "book_table", "job-2")
    with pytest.raises(SessionAwaitingApprovalError):
        await AgentExecutor.execute(
            agent=AGENT, input="hello", provider=ScriptedProvider([{"text": "no"}]), session_id="job-2", checkpoint_store=store.checkpoints
        )
    decision = {"id": "appr-job", "approved": True}
    model = ScriptedProvider([{"text": ""}, {"text": "Booked."}])
    result = await resume_after_approval(decision, store.approvals, tools, model, None, store.checkpoints)
    assert result.text == "Booked."
    assert "book 2 20:00" in ran
    assert await store.approvals.list() == []
    assert await store.approvals.load("appr-done") is None
    store.close()
    again = SqliteStore(original)
    saved = await again.checkpoints.load("job-2")
    assert saved is not None
    assert saved.status == "finished"
    again.close()


async def test_its_tables_stay_under_other_names(original: Path) -> None:
    before = sqlite3.connect(original)
    kept = {table: before.execute(f"SELECT * FROM {table}").fetchall() for table in ("checkpoints", "approvals", "checkpoint_history")}
    before.close()
    store = SqliteStore(original)
    await store.heads()
    for table, rows in kept.items():
        assert store.database.query(f"SELECT * FROM original_{table}") == rows
    assert store.database.query("SELECT count(*) FROM memory_items") == [(0,)]
    store.close()
    again = SqliteStore(original)  # and it is taken over once
    assert len((await again.heads()).heads) == 2
    assert again.database.query("PRAGMA user_version") == [(schema.VERSION,)]
    again.close()


async def test_case_170_de_170_a_file_from_before_the_history_opens_and_gains_it(original: Path, tools: list[Any]) -> None:
    change(original, "DROP TABLE checkpoint_history", "PRAGMA user_version = 2")
    store = SqliteStore(original)
    assert await store.checkpoints.history("job-1") == []
    assert store.database.query("SELECT * FROM checkpoint_history") == []
    loaded = await store.checkpoints.load("job-1")
    assert loaded is not None
    assert loaded.step_index == 2
    with pytest.raises(NotFoundError, match="before its store kept one"):
        await AgentExecutor.fork("job-1", 2, store.checkpoints)
    model = ScriptedProvider([{"text": ""}, {"text": ""}, {"text": "Again."}])
    result = await AgentExecutor.execute(
        agent={"name": "trip", "instructions": "You plan trips."},
        input="And tomorrow?",
        provider=model,
        tool_registry=tools,
        session_id="job-1",
        checkpoint_store=store.checkpoints,
    )
    assert result.text == "Again."
    assert [message.role for message in result.messages][-2:] == ["user", "assistant"]
    history = await store.checkpoints.history("job-1")
    assert [(one.step, one.status) for one in history] == [(1, "finished")]
    store.close()


async def test_what_can_not_be_read_is_named_and_stays(original: Path, caplog: pytest.LogCaptureFixture) -> None:
    change(
        original,
        "INSERT INTO checkpoints VALUES ('broken', '{not json', 1, 1)",
        "INSERT INTO checkpoints SELECT 'no id of ours', payload, created_at, updated_at FROM checkpoints WHERE session_id = 'job-1'",
    )
    store = SqliteStore(original)
    with caplog.at_level(logging.WARNING, "lousho"):
        heads = await store.heads()
    assert {head.id for head in heads.heads} == {"job-1", "job-2"}
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert any("broken" in text for text in said)
    assert any("no id of ours" in text for text in said)
    assert all(str(original) in text for text in said)
    assert store.database.query("SELECT count(*) FROM original_checkpoints") == [(4,)]
    store.close()


async def test_a_take_over_that_fails_leaves_the_file_as_it_was(original: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lousho_cli.stores.sqlite import originals

    def fails(*arguments: Any) -> None:
        raise sqlite3.OperationalError("the disk is gone")

    monkeypatch.setattr(originals, "_write", fails)
    store = SqliteStore(original)
    with pytest.raises(StorageError):
        await store.heads()
    store.close()
    monkeypatch.undo()
    connection = sqlite3.connect(original)
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert "checkpoints" in tables
    assert "logs" not in tables
    connection.close()
    again = SqliteStore(original)
    assert len((await again.heads()).heads) == 2
    again.close()
