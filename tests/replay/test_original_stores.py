"""The plain stores over what the original product left behind, with no import: each line of the compatibility promise."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path
from typing import Any

import pytest

from lousho_cli import AgentExecutor, ScriptedProvider, resume_after_approval
from lousho_cli.errors import SessionAwaitingApprovalError
from lousho_cli.executor.sub_agents import SubAgent
from lousho_cli.stores.checkpoint_files import FileApprovalStore, FileCheckpointStore
from lousho_cli.tools.function import function_tool

SET = Path(__file__).parent / "originals-1" / "folder"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SET, tmp_path / "theirs"))


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


def model(*texts: str) -> ScriptedProvider:
    return ScriptedProvider([{"text": text} for text in texts])


AGENT = {"name": "booking", "instructions": "You book tables."}


async def test_every_record_loads_and_every_ring_is_there(folder: Path) -> None:
    store = FileCheckpointStore(folder)
    loaded = {name: await store.load(name) for name in ("trip", "booking", "Team-notes", "evening", "photo")}
    assert all(loaded.values())
    assert [(one.step, one.status, one.saved_at) for one in await store.history("trip", limit=2)] == [
        (1, "in-progress", "2025-03-01T10:00:04.004Z"),
        (1, "in-progress", "2025-03-01T10:00:03.003Z"),
    ]
    assert len(await store.history("kept")) == 1


async def test_de_024_de_127_no_status_resumes_and_no_fingerprint_is_no_check(
    folder: Path, tools: Any, ran: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    store = FileCheckpointStore(folder)
    with caplog.at_level(logging.WARNING, "lousho"):
        result = await AgentExecutor.execute(
            agent=AGENT,
            provider=model("", "Done."),
            tool_registry=tools,
            input="Look up Oslo",
            session_id="Team-notes",
            checkpoint_store=store,
            on_agent_drift="error",
        )
    assert (result.text, result.steps, ran, caplog.text) == ("Done.", 2, ["weather Oslo"], "")
    assert [message.role for message in result.messages] == ["user", "assistant", "tool", "assistant"], "the re-sent message is known"
    assert (result.usage.by_model["unknown"].input_tokens, result.usage.cost_usd) == (10, None)


async def test_de_170_a_session_from_before_its_history_has_none_until_its_next_save(folder: Path, tools: Any) -> None:
    store = FileCheckpointStore(folder)
    before = await store.load("Team-notes")
    assert before is not None
    assert await store.history("Team-notes") == []
    await store.save("Team-notes", before)
    assert [entry.checkpoint for entry in await store.history("Team-notes")] == [before]
    assert (folder / "checkpoints" / "^team-notes.json").exists()


async def test_de_050_calls_behind_an_old_pause_get_a_result_that_says_they_did_not_run(folder: Path, tools: Any, ran: list[str]) -> None:
    strict = {"on_agent_drift": "error"}  # and without a fingerprint there is nothing to compare
    result = await resume_after_approval(
        {"id": "appr-old", "approved": True}, FileApprovalStore(folder), tools, model("", "Booked."), strict, FileCheckpointStore(folder)
    )
    assert (result.text, ran) == ("Booked.", ["book 4 19:00"])
    late = next(message for message in result.messages if message.tool_call_id == "call_late")
    assert (late.is_error, json.loads(late.text)["kind"]) == (True, "not-run")
    saved = await FileCheckpointStore(folder).load("old-pause")
    assert saved is not None
    assert (saved.status, saved.messages) == ("finished", result.messages)


async def test_a_paused_session_stays_blocked_until_it_is_decided_and_then_goes_on(folder: Path, tools: Any, ran: list[str]) -> None:
    checkpoints, approvals = FileCheckpointStore(folder), FileApprovalStore(folder)
    with pytest.raises(SessionAwaitingApprovalError) as raised:
        await AgentExecutor.execute(
            agent=AGENT, provider=model(""), tool_registry=tools, input="Well?", session_id="booking", checkpoint_store=checkpoints
        )
    assert raised.value.approval_id == "appr-booking"
    decision = {"id": "appr-booking", "approved": False, "note": "full"}
    result = await resume_after_approval(decision, approvals, tools, model("", "Sorry."), {"on_agent_drift": "ignore"}, checkpoints)
    assert (result.text, ran) == ("Sorry.", ["weather Lisbon"])
    assert [message.tool_call_id for message in result.messages if message.role == "tool"] == ["call_first", "call_table", "call_rain"]
    assert result.usage.input_tokens >= 50, "it goes on from what the snapshot held"
    assert await approvals.load("appr-booking") is None


async def test_a_taken_approval_stays_taken(folder: Path) -> None:
    store = FileApprovalStore(folder)
    assert await store.load("appr-taken") is None
    assert await store.resolve("appr-taken") is None


class Theirs:
    """Somebody's own store, which gives back the JSON that the original wrote."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value: Any = value

    async def load(self, session_id: str) -> Any:
        return self.value

    async def save(self, session_id: str, checkpoint: Any) -> None:
        self.value = checkpoint

    async def delete(self, session_id: str) -> None:
        self.value = None


async def test_a_store_of_ones_own_may_give_what_the_original_wrote(tools: Any, ran: list[str]) -> None:
    store = Theirs(json.loads((SET / "checkpoints" / "trip.json").read_text()))
    result = await AgentExecutor.execute(
        agent=AGENT,
        provider=model("", "", "", "North."),
        tool_registry=tools,
        input=[],
        session_id="trip",
        checkpoint_store=store,
        on_agent_drift="ignore",
    )
    assert (result.text, ran, result.business_state) == ("North.", ["weather Faro"], {"order": 7})


async def test_a_sub_agent_that_waits_goes_on_from_its_nested_snapshot(folder: Path, tools: Any, ran: list[str]) -> None:
    scout = SubAgent({"name": "scout", "instructions": "You look for tables."}, provider=model("", "Found."), tools=tools)
    options = {"subagents": {"scout": scout}}
    checkpoints = FileCheckpointStore(folder)
    decision = {"id": "appr-scout", "approved": True}
    result = await resume_after_approval(decision, FileApprovalStore(folder), [], model("", "All set."), options, checkpoints)
    assert (result.text, ran) == ("All set.", ["book 2 20:00"])
    assert [message.text for message in result.messages if message.role == "tool"] == ['"Found."'], "the placeholder is gone"
