"""What running code asks, from the command line: seen in one terminal, answered in another."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pg_server
import psycopg
import pytest

TOOLS = '''
from pathlib import Path
from lousho_cli import ToolContext

async def paint(ctx: ToolContext) -> str:
    """Paints."""
    {ask}
    Path("seen").write_text(str(answer))
    return "painted"
'''

AGENT = """
name: painter
prompt: p
provider:
  type: scripted
  turns: [{ tool_calls: [{ name: paint, id: c1 }] }, "Done."]
tools:
  - python: tools.py:paint
"""


@pytest.fixture
def painter(folder: Path) -> Any:
    def write(ask: str) -> None:
        (folder / "tools.py").write_text(TOOLS.replace("{ask}", f"answer = await ctx.step.ask({ask})"))
        (folder / "agent.yaml").write_text(AGENT)

    return write


def asked(project: Any) -> Any:
    """What ``pending`` shows, once it shows something."""
    (item,) = project.until(lambda: project.lousho("pending", "--json").data)
    return item


def test_an_ask_is_pending_and_an_answer_in_another_terminal_reaches_the_run(project: Any, painter: Any, spawn: Any, folder: Path) -> None:
    painter('"count", "How many?", schema={"type": "integer"}')
    running = spawn("run", "agent.yaml", "Go", "-s", "s", "--json")
    item = asked(project)
    assert (item["kind"], item["session"], item["tool"], item["step"], item["question"]) == ("question", "s", "paint", "count", "How many?")
    wrong = project.lousho("answer", item["id"], "many")
    assert (wrong.code, "does not fit" in wrong.err) == (2, True)
    answered = project.lousho("answer", item["id"], "3")
    assert (answered.code, answered.out) == (0, f"answered {item['id']}\n")
    assert "will run" not in answered.err, "the call runs, and is not begun again"
    out, err = running.communicate(timeout=20)
    assert f"paint asks: How many?; from another terminal: lousho answer {item['id']}" in err
    assert (running.returncode, json.loads(out)["data"]["text"], (folder / "seen").read_text()) == (0, "Done.", "3")
    again = project.lousho("answer", item["id"], "4")
    assert (again.code, "already decided" in again.err) == (3, True)


def test_who_stops_waiting_for_an_owner_that_stands_still_is_told_that_the_answer_counts(
    project: Any, painter: Any, spawn: Any, folder: Path
) -> None:
    painter('"colour", "Which colour?"')
    running = spawn("run", "agent.yaml", "Go", "-s", "s")
    item = asked(project)
    running.send_signal(signal.SIGSTOP)
    answering = spawn("answer", item["id"], "red")
    project.until(lambda: any((folder / ".lousho/sessions/s/inbox").glob("*.json")))
    answering.send_signal(signal.SIGINT)
    _, err = answering.communicate(timeout=20)
    running.send_signal(signal.SIGCONT)
    running.communicate(timeout=20)
    assert (answering.returncode, "the decision is kept" in err) == (130, True), err
    assert (running.returncode, (folder / "seen").read_text()) == (0, "red")


def test_where_nobody_drives_it_the_answer_goes_on_with_the_run(project: Any, painter: Any, spawn: Any, folder: Path) -> None:
    painter('"colour", "Which colour?"')
    running = spawn("run", "agent.yaml", "Go", "-s", "s")
    item = asked(project)
    running.send_signal(signal.SIGKILL)
    running.wait(20)
    assert asked(project)["id"] == item["id"]
    refused = project.lousho("delete", "s", "--yes")
    assert (refused.code, item["id"] in refused.err) == (4, True), "it waits for a person"
    answered = project.lousho("answer", item["id"], "red", "--json")
    assert (answered.code, answered.data["text"], (folder / "seen").read_text()) == (0, "Done.", "red")


def test_an_answer_that_is_only_recorded_is_taken_by_the_next_run(project: Any, painter: Any, spawn: Any, folder: Path) -> None:
    painter('"colour", "Which colour?"')
    running = spawn("run", "agent.yaml", "Go", "-s", "s")
    item = asked(project)
    running.send_signal(signal.SIGKILL)
    running.wait(20)
    assert project.lousho("answer", item["id"], "red", "--no-resume").code == 0
    assert project.lousho("resume", "s").code == 0
    assert (folder / "seen").read_text() == "red"


def test_who_drives_the_session_takes_the_answer_although_its_agent_is_not_found_here(
    project: Any, painter: Any, spawn: Any, folder: Path
) -> None:
    painter('"colour", "Which colour?"')
    running = spawn("run", "agent.yaml", "Go", "-s", "s")
    item = asked(project)
    (listed,) = project.lousho("list", "--json").data
    assert (listed["status"], listed["waits_for"]["id"]) == ("in-progress", item["id"]), "list says what it waits for, too"
    (folder / "agent.yaml").unlink()
    assert project.lousho("answer", item["id"], "red").code == 0
    running.communicate(timeout=20)
    assert (running.returncode, (folder / "seen").read_text()) == (0, "red")


def test_where_nobody_drives_it_and_its_agent_is_gone_the_error_says_how_to_only_record_it(
    project: Any, painter: Any, spawn: Any, folder: Path
) -> None:
    painter('"colour", "Which colour?"')
    running = spawn("run", "agent.yaml", "Go", "-s", "s")
    item = asked(project)
    running.send_signal(signal.SIGKILL)
    running.wait(20)
    (folder / "agent.yaml").unlink()
    refused = project.lousho("answer", item["id"], "red")
    assert (refused.code, "--no-resume only records it" in refused.err) == (2, True)
    assert project.lousho("answer", item["id"], "red", "--no-resume").code == 0


def test_declining_is_told_to_the_model(project: Any, painter: Any, spawn: Any) -> None:
    painter('"colour", "Which colour?"')
    running = spawn("run", "agent.yaml", "Go", "-s", "s")
    assert project.lousho("reject", asked(project)["id"], "--reason", "not now").code == 0
    running.communicate(timeout=20)
    (result,) = [json.loads(m["content"]) for m in project.messages("s") if m["role"] == "tool"]
    assert (result["kind"], "not now" in result["message"]) == ("rejected", True)


def test_a_secret_for_another_process_needs_the_keyring(project: Any, painter: Any, spawn: Any, terminal: Any) -> None:
    painter('"password", "Your password?", secret=True')
    running = spawn("run", "agent.yaml", "Go", "-s", "s")
    item = asked(project)
    assert item["kind"] == "secret"
    typed = terminal("answer", item["id"])
    typed.until("Your password?")
    typed.type("hunter2\n")
    assert typed.ended() == 2
    assert "keyring" in typed.said
    assert "hunter2" not in typed.said + project.log("s").decode()
    assert asked(project)["id"] == item["id"], "it still waits"
    running.send_signal(signal.SIGKILL)
    running.wait(20)


def test_ds_179_a_secret_that_is_typed_reaches_the_call_and_is_shown_and_kept_nowhere(
    project: Any, painter: Any, spawn: Any, terminal: Any, folder: Path
) -> None:
    painter('"password", "Your password?", secret=True')
    running = spawn("run", "agent.yaml", "Go", "-s", "s")
    item = asked(project)
    running.send_signal(signal.SIGKILL)
    running.wait(20)
    typed = terminal("answer", item["id"])
    typed.until("Your password?")
    typed.type("hunter2\n")
    assert typed.ended() == 0
    assert "Done." in typed.said
    assert (folder / "seen").read_text() == "hunter2"
    kept = b"".join(file.read_bytes() for file in (folder / ".lousho").rglob("*") if file.is_file())
    assert "hunter2" not in typed.said + kept.decode()


KEYRING = '''
import json
from pathlib import Path
from keyring.backend import KeyringBackend

PLACE = Path(__file__).with_name("keyring.json")

class Files(KeyringBackend):
    """A keyring that several processes see."""
    priority = 1

    def _all(self):
        return json.loads(PLACE.read_text()) if PLACE.exists() else {}

    def get_password(self, service, username):
        return self._all().get(service + username)

    def set_password(self, service, username, password):
        PLACE.write_text(json.dumps(self._all() | {service + username: password}))

    def delete_password(self, service, username):
        PLACE.write_text(json.dumps({k: v for k, v in self._all().items() if k != service + username}))
'''


@pytest.fixture
def typed_in_another_process(project: Any, painter: Any, spawn: Any, terminal: Any, folder: Path) -> Any:
    """Has a run ask for a secret, and a person type it elsewhere; gives all that both said. The tool got it."""

    def typed_in() -> str:
        painter('"password", "Your password?", secret=True')
        running = spawn("run", "agent.yaml", "Go", "-s", "s")
        typed = terminal("answer", asked(project)["id"])
        typed.until("Your password?")
        typed.type("hunter2\n")
        assert typed.ended() == 0
        out, err = running.communicate(timeout=20)
        assert (out, (folder / "seen").read_text()) == ("Done.\n", "hunter2")
        return str(typed.said + out + err)

    return typed_in


def test_ds_146_with_a_keyring_a_secret_reaches_the_process_that_asked(
    typed_in_another_process: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "keyring_of_files.py").write_text(KEYRING)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring_of_files.Files")
    said = typed_in_another_process()
    kept = b"".join(file.read_bytes() for file in (folder / ".lousho").rglob("*") if file.is_file())
    assert "hunter2" not in said + kept.decode() + (folder / "keyring.json").read_text()


def test_sessions_that_are_shared_hand_a_secret_over_without_a_keyring(
    project: Any, typed_in_another_process: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = pg_server.place_url(tmp_path)
    monkeypatch.setenv("LOUSHO_STORE", url)
    said = typed_in_another_process()
    shown = project.lousho("show", "s", "--json")
    assert "hunter2" not in said + shown.out
    place, _, schema = url.partition("?schema=")
    with psycopg.connect(place) as connection:
        for table in ("records", "posts", "credentials"):
            rows = connection.execute(f"SELECT t::text FROM {schema}.{table} t").fetchall()
            assert "hunter2" not in str(rows), table
            assert bool(rows) is (table == "records")
