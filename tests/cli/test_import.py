"""``lousho import``: what the original product stored, as sessions that go on here."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SET = Path(__file__).parents[1] / "replay" / "originals-1"

AGENT = """
name: booking
prompt: You book tables.
provider:
  type: scripted
  turns: [{ text: Looked. }, { text: Booked. }, { text: Looked again. }, { text: North it is. }]
tools:
  - { python: "tools.py:book_table", needs_approval: true }
  - python: tools.py:weather
"""

TOOLS = """
def _note(line):
    with open("counts.txt", "a") as file:
        file.write(line + chr(10))

def book_table(people: int, time: str) -> dict:
    _note(f"book {people} {time}")
    return {"booked": people}

def weather(city: str) -> dict:
    _note(f"weather {city}")
    return {"forecast": "sun"}
"""


@pytest.fixture
def original(folder: Path) -> Path:
    """A folder as the original keeps it."""
    return Path(shutil.copytree(SET / "folder", folder / "theirs"))


@pytest.fixture
def database(folder: Path) -> Path:
    """An SQLite file as the original keeps it."""
    path = folder / "jobs.db"
    connection = sqlite3.connect(path)
    connection.executescript((SET / "jobs.sql").read_text())
    connection.close()
    return path


@pytest.fixture
def counts(folder: Path) -> Callable[[], list[str]]:
    """An agent with the tools of the imported sessions; gives what they were run with."""
    (folder / "agent.yaml").write_text(AGENT)
    (folder / "tools.py").write_text(TOOLS)
    file = folder / "counts.txt"
    return lambda: file.read_text().splitlines() if file.exists() else []


def tree(path: Path) -> dict[str, tuple[str, int]]:
    """Every file below a path, with its content and its time."""
    files = sorted(path.rglob("*")) if path.is_dir() else sorted(path.parent.glob(f"{path.name}*"))
    return {str(file): (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns) for file in files if file.is_file()}


def by_session(ran: Any) -> dict[str, Any]:
    return {one["session"]: one for one in ran.data["sessions"]}


def test_a_folder_becomes_sessions_with_their_history(lousho: Any, original: Path) -> None:
    before = tree(original)
    ran = lousho("import", str(original), "--json")
    assert ran.code == 0
    done = by_session(ran)
    assert {name: (one["result"], one["checkpoints"], one.get("waits_for")) for name, one in done.items()} == {
        "Team-notes": ("imported", 1, None),
        "appr-lone": ("imported", 1, "appr-lone"),
        "booking": ("imported", 3, "appr-booking"),
        "evening": ("imported", 1, "appr-scout"),
        "kept": ("imported", 1, None),
        "old-pause": ("imported", 1, "appr-old"),
        "photo": ("imported", 1, None),
        "trip": ("imported", 5, None),
    }
    assert tree(original) == before, "their files are not touched"
    history = lousho("history", "trip", "--json").data
    assert [(one["address"], one["saved_at"]) for one in history] == [
        ("trip@2/1.2", "2025-03-01T10:00:04.004Z"),
        ("trip@2/1.1", "2025-03-01T10:00:03.003Z"),
        ("trip@1/2.1", "2025-03-01T10:00:02.002Z"),
        ("trip@1/1.2", "2025-03-01T10:00:01.001Z"),
        ("trip@1/1.1", "2025-03-01T10:00:00.000Z"),
    ]
    shown = lousho("show", "trip@1/2", "--json").data
    assert [message["role"] for message in shown["messages"]] == ["system", "user", "assistant", "tool", "assistant"]
    assert (shown["status"], shown["business_state"], shown["usage"]["cost_usd"]) == ("finished", {"order": 7}, 0.0009)
    assert lousho("fsck").code == 0


def test_what_only_a_history_was_kept_of_begins_anew_and_can_be_forked(lousho: Any, original: Path) -> None:
    lousho("import", str(original))
    assert "kept" not in {one["id"] for one in lousho("list", "--json").data}
    assert lousho("history", "kept", "--json").data[0]["step"] == 1
    assert lousho("fork", "kept", "--from-step", "1", "-q").out == "kept.fork-1\n"


def test_an_imported_session_forks_and_compares_like_any_other(lousho: Any, original: Path) -> None:
    lousho("import", str(original))
    forked = lousho("fork", "trip@1/1", "--tool-result", 'call_weather={"forecast":"rain"}', "--json")
    assert forked.code == 0
    assert lousho("diff", "trip@1/2", "trip.fork-1", "--json").data["diverged_at"] == 1


def test_an_imported_pause_is_decided_and_goes_on(lousho: Any, original: Path, counts: Any) -> None:
    lousho("import", str(original))
    waits = {item["id"]: item for item in lousho("pending", "--json").data}
    assert waits.keys() == {"appr-booking", "appr-lone", "appr-old", "appr-scout"}
    assert waits["appr-booking"]["args"] == {"people": 2, "time": "20:00"}
    ran = lousho("approve", "appr-booking", "--agent", "agent.yaml", "--json")
    assert (ran.code, ran.data["status"], ran.data["text"]) == (0, "finished", "Booked.")
    assert counts() == ["book 2 20:00", "weather Lisbon"], "the call before it has its result, the one behind it runs"
    messages = lousho("show", "booking", "--json").data["messages"]
    assert [message.get("tool_call_id") for message in messages] == [None, None, None, "call_first", "call_table", "call_rain", None, None]
    assert messages[6]["content"] == "Outside, please", "input that was queued comes behind the results"
    assert lousho("approve", "appr-booking").code == 3


def test_a_pause_of_a_run_without_a_session_is_decided_too(lousho: Any, original: Path, counts: Any) -> None:
    lousho("import", str(original))
    assert lousho("reject", "appr-lone", "--agent", "agent.yaml", "--reason", "too late", "--json").data["text"] == "Booked."
    assert counts() == []


def test_de_050_calls_behind_a_pause_of_before_they_were_kept_do_not_run(lousho: Any, original: Path, counts: Any) -> None:
    lousho("import", str(original))
    ran = lousho("approve", "appr-old", "--agent", "agent.yaml", "--json")
    assert (ran.code, ran.data["status"]) == (0, "finished")
    assert counts() == ["book 4 19:00"]
    results = [message for message in lousho("show", "old-pause", "--json").data["messages"] if message["role"] == "tool"]
    assert [result["tool_call_id"] for result in results] == ["call_old", "call_late"]
    assert json.loads(results[0]["content"]) == {"booked": 4}
    assert results[1]["is_error"]
    assert json.loads(results[1]["content"])["kind"] == "not-run"


def test_de_024_de_127_a_record_without_status_and_fingerprint_resumes_without_a_word_about_drift(
    lousho: Any, original: Path, counts: Any
) -> None:
    lousho("import", str(original))
    assert lousho("show", "Team-notes", "--json").data["status"] == "in-progress"
    ran = lousho("resume", "Team-notes", "--agent", "agent.yaml", "--on-drift", "error", "--json")
    assert (ran.code, ran.data["status"], json.loads(ran.out)["warnings"]) == (0, "finished", [])
    assert counts() == ["weather Oslo"]
    usage = ran.data["usage"]
    assert (usage["input_tokens"] >= 10, usage["total_tokens"] >= 15, usage["by_model"]["unknown"]["input_tokens"]) == (True, True, 10)
    assert usage.get("cost_usd") is None, "one price is unknown, so the sum is"


def test_a_run_that_was_cut_off_resumes_with_the_calls_that_have_no_result(lousho: Any, original: Path, counts: Any) -> None:
    lousho("import", str(original))
    ran = lousho("resume", "trip", "--agent", "agent.yaml", "--json")
    assert (ran.code, ran.data["text"], ran.data["steps"]) == (0, "North it is.", 2)
    assert counts() == ["weather Faro"]
    assert any("the agent changed" in said for said in json.loads(ran.out)["warnings"]), "it has a fingerprint"


def test_a_second_import_adds_only_what_is_new(lousho: Any, original: Path, folder: Path) -> None:
    ring = json.loads((original / "checkpoint-history" / "trip.json").read_text())
    (original / "checkpoint-history" / "trip.json").write_text(json.dumps(ring[:3]))
    (original / "checkpoints" / "trip.json").write_text(json.dumps(ring[2]["checkpoint"]))
    assert by_session(lousho("import", str(original), "--json"))["trip"]["checkpoints"] == 3
    logs = folder / ".lousho" / "sessions"
    before = {path: path.read_bytes() for path in logs.rglob("log.jsonl")}
    again = by_session(lousho("import", str(original), "--json"))
    assert {one["result"] for one in again.values()} == {"unchanged"}
    assert {path: path.read_bytes() for path in logs.rglob("log.jsonl")} == before
    (original / "checkpoint-history" / "trip.json").write_text(json.dumps(ring))
    (original / "checkpoints" / "trip.json").write_text(json.dumps(ring[4]["checkpoint"]))
    third = by_session(lousho("import", str(original), "--json"))
    assert (third["trip"]["result"], third["trip"]["checkpoints"]) == ("extended", 2)
    assert len(lousho("history", "trip", "--json").data) == 5


def test_what_went_on_here_and_another_session_are_left_alone(lousho: Any, original: Path, store: Any, trip: Any, counts: Any) -> None:
    ring = json.loads((original / "checkpoint-history" / "trip.json").read_text())
    (original / "checkpoint-history" / "trip.json").write_text(json.dumps(ring[:4]))
    (original / "checkpoints" / "trip.json").write_text(json.dumps(ring[3]["checkpoint"]))
    store("photo", trip())
    ran = lousho("import", str(original), "--json")
    assert (ran.code, by_session(ran)["photo"]["result"]) == (0, "skipped")
    assert "session photo is left as it is: another session has this id here" in json.loads(ran.out)["warnings"]
    lousho("resume", "trip", "--agent", "agent.yaml")
    log = lousho("show", "trip", "--json").data
    (original / "checkpoint-history" / "trip.json").write_text(json.dumps(ring))
    (original / "checkpoints" / "trip.json").write_text(json.dumps(ring[4]["checkpoint"]))
    again = by_session(lousho("import", str(original), "--json"))
    assert (again["trip"]["result"], again["trip"]["why"]) == ("skipped", "it went on here since it was imported")
    assert lousho("show", "trip", "--json").data == log


def test_a_dry_run_says_the_same_and_writes_nothing(lousho: Any, original: Path, folder: Path) -> None:
    said = lousho("import", str(original), "--dry-run", "--json").data
    assert not (folder / ".lousho").exists()
    done = lousho("import", str(original), "--json").data
    assert said == done | {"dry_run": True}


def test_a_damaged_file_is_named_and_everything_else_is_there(lousho: Any, original: Path) -> None:
    (original / "checkpoints" / "trip.json").write_text('{"sessionId": "trip", "mess')
    (original / "checkpoint-history" / "booking.json").write_text("[")
    (original / "approvals" / "appr-old.json").write_bytes(b"\xff\xfe\x00")
    (original / "checkpoints" / "photo.json").write_text('{"sessionId": "photo", "messages": 3}')
    ran = lousho("import", str(original), "--json")
    assert ran.code == 0
    assert sorted(Path(one["source"]).name for one in ran.data["failed"]) == ["appr-old.json", "booking.json", "photo.json", "trip.json"]
    assert len(json.loads(ran.out)["warnings"]) == 5, "each is named, and the approval nothing waits for"
    done = by_session(ran)
    assert done.keys() == {"Team-notes", "appr-lone", "booking", "evening", "kept", "trip"}
    assert done["trip"]["checkpoints"] == 5, "the newest entry of its history is the same save"
    assert done["booking"]["waits_for"] == "appr-booking"


@pytest.mark.parametrize("taken", ["appr-taken", "appr-stale"])
def test_what_was_decided_and_what_nothing_waits_for_is_not_opened_again(lousho: Any, original: Path, taken: str) -> None:
    lousho("import", str(original))
    assert lousho("approve", taken).code == 3


def test_exit_codes(lousho: Any, folder: Path, original: Path) -> None:
    assert lousho("import", "nowhere").code == 3
    (folder / "notes.txt").write_text("hello")
    ran = lousho("import", "notes.txt", str(original))
    assert (ran.code, "LOUSHO_IMPORT_UNKNOWN" in ran.err) == (2, True)
    assert lousho("import").code == 2
    (folder / "empty").mkdir()
    assert lousho("import", "empty").code == 2
    (folder / "torn.json").write_text('{"a')
    torn = lousho("import", "torn.json")
    assert (torn.code, "torn.json: it is no JSON" in torn.err) == (1, True)
    (folder / "bad" / "checkpoints").mkdir(parents=True)
    (folder / "bad" / "checkpoints" / "x.json").write_text("[]")
    assert lousho("import", "bad").code == 1
    assert not (folder / ".lousho" / "sessions").exists(), "nothing was written"


def test_one_record_and_one_ring(lousho: Any, original: Path) -> None:
    assert lousho("import", str(original / "checkpoints" / "photo.json"), "-q").out == "photo\n"
    assert lousho("import", str(original / "checkpoint-history" / "trip.json"), "-q").out == "trip\n"
    assert lousho("import", str(original / "approvals" / "appr-old.json"), "-q").out == "old-pause\n"
    picture = lousho("show", "photo", "--json").data["messages"][0]["content"]
    assert picture[1] == {"type": "image", "image": "iVBORw0KGgo=", "mime_type": "image/png"}


def test_agent_forge_and_ids_that_can_not_be_ours(lousho: Any, folder: Path) -> None:
    home = folder / "forge"
    shutil.copytree(SET / "agent-forge" / "agents", home / ".lousho" / "agents")
    place = home / ".lousho" / "agents" / "planner"
    for name in ("checkpoints", "checkpoint-history"):
        text = (place / name / "planner.json").read_text().replace('"sessionId": "planner"', '"sessionId": "planner:2"')
        (place / name / "planner:2.json").write_text(text)
    ran = lousho("import", str(home), "--json")
    done = by_session(ran)
    assert {name: (one["checkpoints"], one.get("was")) for name, one in done.items()} == {
        "planner": (3, None),
        "planner-2": (3, "planner:2"),
    }
    assert json.loads(ran.out)["warnings"] == ["session planner:2 is planner-2 here: its id can not be one"]
    assert {one["result"] for one in by_session(lousho("import", str(place), "--json")).values()} == {"unchanged"}


def test_its_own_folder_may_be_the_one_sessions_go_to(lousho: Any, folder: Path, original: Path) -> None:
    original.rename(folder / ".lousho")
    assert lousho("import", ".lousho").code == 0
    assert len(lousho("list", "--json").data) == 7
    assert lousho("import", ".", "--json").data["sessions"][0]["result"] == "unchanged"


def test_de_169_a_database_becomes_sessions_and_is_not_changed(lousho: Any, database: Path, counts: Any) -> None:
    before = tree(database)
    done = by_session(lousho("import", str(database), "--json"))
    assert {name: (one["checkpoints"], one.get("waits_for")) for name, one in done.items()} == {
        "job-1": (3, None),
        "job-2": (3, "appr-job"),
    }
    assert tree(database) == before
    assert [one["saved_at"] for one in lousho("history", "job-1", "--json").data][-1] == "2025-03-01T10:00:00.000Z"
    assert lousho("approve", "appr-job", "--agent", "agent.yaml", "--json").data["text"] == "Booked."
    assert counts() == ["book 2 20:00", "weather Lisbon"]


def test_a_database_of_before_history_was_kept(lousho: Any, database: Path) -> None:
    connection = sqlite3.connect(database)
    connection.executescript("DROP TABLE checkpoint_history; PRAGMA user_version = 1;")
    connection.close()
    done = by_session(lousho("import", str(database), "--json"))
    assert {name: one["checkpoints"] for name, one in done.items()} == {"job-1": 1, "job-2": 1}


def test_a_database_somebody_writes_to_is_read_with_what_is_still_in_its_log(lousho: Any, database: Path) -> None:
    writer = sqlite3.connect(database, isolation_level=None)
    try:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.execute("UPDATE approvals SET resolved_at = NULL WHERE id = 'appr-done'")
        columns = "replace(payload, 'job-1', 'job-3'), created_at, updated_at"
        writer.execute(f"INSERT INTO checkpoints SELECT 'job-3', {columns} FROM checkpoints WHERE session_id = 'job-1'")
        before = tree(database)
        assert any(name.endswith("-wal") for name in before)
        assert "job-3" in by_session(lousho("import", str(database), "--json"))
        assert {name: said for name, said in tree(database).items() if not name.endswith("-shm")} == {
            name: said for name, said in before.items() if not name.endswith("-shm")
        }
    finally:
        writer.close()


def test_a_damaged_database_says_so(lousho: Any, database: Path) -> None:
    whole = database.read_bytes()
    database.write_bytes(whole[:4096] + b"\0" * (len(whole) - 4096))
    ran = lousho("import", str(database))
    assert ran.code == 1
    assert "jobs.db" in ran.err


def test_the_store_keeps_as_many_checkpoints_as_it_is_told(lousho: Any, original: Path) -> None:
    ring = json.loads((original / "checkpoint-history" / "trip.json").read_text())
    many = [json.loads(json.dumps(ring[number % 5])) for number in range(60)]
    for number, entry in enumerate(many):
        entry["checkpoint"]["businessState"] = {"n": number}
    (original / "checkpoint-history" / "trip.json").write_text(json.dumps(many))
    (original / "checkpoints" / "trip.json").write_text(json.dumps(many[-1]["checkpoint"]))
    assert by_session(lousho("import", str(original), "--json"))["trip"]["checkpoints"] == 50
    assert by_session(lousho("import", str(original), "--json"))["trip"]["result"] == "unchanged"
    assert lousho("show", "trip", "--json").data["business_state"] == {"n": 59}


def test_what_it_prints_fits_its_schema(lousho: Any, original: Path) -> None:
    from jsonschema import validate

    schema = json.loads(lousho("schema", "import").out)
    validate(lousho("import", str(original), "--json").data, schema)


def test_a_table_names_what_was_done_and_what_waits(lousho: Any, original: Path) -> None:
    ran = lousho("import", str(original))
    assert ran.out.splitlines()[0].split() == ["SESSION", "RESULT", "MESSAGES", "CHECKPOINTS", "WAITS", "FOR", "FROM"]
    assert "imported 8 of 8 sessions" in ran.err
    assert "lousho pending" in ran.err


def test_a_sub_agent_that_waits_goes_on_in_its_own_transcript(lousho: Any, original: Path, folder: Path, counts: Any) -> None:
    scripted = "provider: { type: scripted, turns: [{ text: never }, { text: Found. }] }"
    (folder / "scout.yaml").write_text(
        f'name: scout\nprompt: Look.\n{scripted}\ntools: [{{ python: "tools.py:book_table", needs_approval: true }}]\n'
    )
    (folder / "evening.yaml").write_text(f"name: evening\nprompt: Plan.\n{scripted}\nsubagents: {{ scout: scout.yaml }}\n")
    lousho("import", str(original))
    assert lousho("pending", "--json").data[-1]["path"] == ["scout"]
    ran = lousho("approve", "appr-scout", "--agent", "evening.yaml", "--json")
    assert (ran.code, ran.data["status"]) == (0, "finished")
    assert counts() == ["book 2 20:00"]
    result = lousho("show", "evening", "--json").data["messages"][3]
    assert (result["tool_call_id"], result["content"]) == ("call_scout", '"Found."')


def test_transcripts_without_a_checkpoint_are_counted_and_left(lousho: Any, original: Path, database: Path) -> None:
    (original / "sessions").mkdir()
    (original / "sessions" / "chat.json").write_text('[{"role": "user", "content": "hi"}]')
    connection = sqlite3.connect(database)
    connection.execute("INSERT INTO sessions VALUES ('chat', '[]', 1, 1)")
    connection.commit()
    connection.close()
    left = lousho("import", str(original), str(database), "--json").data["left"]
    assert "theirs/sessions: transcripts that are no checkpoints are not taken over: 1" in left
    assert "jobs.db: table sessions: transcripts that are no checkpoints are not taken over: 1" in left
