"""``lousho eval add``: what a session did becomes a case that passes at once, asks no model and runs no tool."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from lousho_cli.app.evaluating.files import load_evals
from lousho_cli.app.evaluating.plans import EvalOptions, Planned
from lousho_cli.app.evaluating.runner import EvalRunner
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import ImagePart, Message, ToolCall, user
from lousho_cli.domain.usage import CallUsage

AGENT = {
    "name": "trip",
    "prompt": "You plan trips.",
    "provider": {"type": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"},
    "tools": [{"name": "weather", "description": "Forecast", "command": ["false"], "input": {"properties": {"city": {"type": "string"}}}}],
}  # fmt: skip


@pytest.fixture
def agent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An agent whose model nobody answers for, and whose tool fails."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    path = folder / "agent.yaml"
    path.write_text(yaml.safe_dump(AGENT))
    return path


@pytest.fixture
def replay(folder: Path) -> Callable[[str], dict[str, str]]:
    """Replays every case of an eval file: what became of each, or why it failed."""

    def run(name: str) -> dict[str, str]:
        path, found = folder / name, {}
        runner = EvalRunner(EvalOptions("replay"))
        try:
            for one in load_evals(path):
                for case in one.cases:
                    result = runner.run(Planned(one, case, path, name))
                    why = result.error or next((miss.detail for miss in result.misses), "")
                    found[case.name] = why or f"{result.result} {result.source}"
        finally:
            runner.close()
        return found

    return run


def test_a_session_becomes_a_case_without_a_model_and_without_its_tools(
    lousho: Any, store: Any, trip: Any, agent: Path, replay: Any
) -> None:
    store("monday", trip())
    ran = lousho("eval", "add", "monday", "--agent", "agent.yaml", "--json")
    assert ran.data == {
        "file": "trip.eval.yaml", "eval": "trip", "case": "monday", "cassette": "__cassettes__/trip/monday.json",
        "steps": 2, "calls": ["weather"], "made": True,
    }  # fmt: skip
    written = yaml.safe_load(Path("trip.eval.yaml").read_text())
    assert written == {
        "agent": "agent.yaml",
        "cases": [
            {
                "name": "monday",
                "input": "Plan my trip",
                "tool_results": [{"name": "weather", "args": {"city": "Lisbon"}, "result": {"forecast": "sun"}}],
                "expect": {"completed": True, "tool_order": ["weather"], "max_steps": 2},
            }
        ],
    }
    usage = [
        entry["response"]["usage"]["totalTokens"] for entry in json.loads(Path("__cassettes__/trip/monday.json").read_text())["entries"]
    ]
    assert usage == [52, 68]
    assert replay("trip.eval.yaml") == {"monday": "passed replayed"}


def test_a_case_fails_once_its_agent_asks_something_else(lousho: Any, store: Any, trip: Any, agent: Path, replay: Any) -> None:
    store("monday", trip())
    assert lousho("eval", "add", "monday", "--agent", "agent.yaml").code == 0
    agent.write_text(yaml.safe_dump(AGENT | {"prompt": "You plan long trips."}))
    assert "messages[0].content" in replay("trip.eval.yaml")["monday"]


def test_a_step_becomes_a_case_that_stops_there(lousho: Any, store: Any, trip: Any, agent: Path, replay: Any) -> None:
    store("monday", trip())
    assert lousho("eval", "add", "monday@1", "--agent", "agent.yaml", "--case", "first").code == 0
    case = yaml.safe_load(Path("trip.eval.yaml").read_text())["cases"][0]
    assert (case["stop_after"], case["expect"]["completed"], case["expect"]["max_steps"]) == (1, False, 1)
    assert replay("trip.eval.yaml") == {"first": "passed replayed"}


def test_a_fork_with_another_result_is_a_case_beside_its_source(lousho: Any, folder: Path, replay: Any) -> None:
    assert lousho("run", "trip", "-q").code == 0
    assert lousho("fork", "trip", "--from-step", "1", "--tool-result", 'call_weather={"forecast":"rain"}', "--run", "-q").code == 0
    for session in ("trip", "trip.fork-1"):
        assert lousho("eval", "add", session).code == 0
    assert yaml.safe_load(Path("trip.eval.yaml").read_text())["agent"] == "trip"
    assert replay("trip.eval.yaml") == {"trip": "passed replayed", "trip.fork-1": "passed replayed"}
    assert lousho("eval", "add", "trip").code == 0
    assert "trip-2" in Path("trip.eval.yaml").read_text()
    before = sorted(Path().rglob("*"))
    for name in ("", " ", "a\nb"):
        assert lousho("eval", "add", "trip", "--case", name).code == 2
    assert sorted(Path().rglob("*")) == before
    again = lousho("eval", "add", "trip", "--case", "Trip")
    assert (again.code, "there is a case Trip already" in again.err) == (2, True)


def test_what_a_person_approved_changed_or_refused_is_played_and_nobody_is_asked(lousho: Any, folder: Path, replay: Any) -> None:
    assert lousho("run", "booking", "-q").code == 4
    waits = lousho("eval", "add", "booking")
    assert (waits.code, "book_table has no result yet" in waits.err) == (2, True)
    args = lousho("pending", "--json").data[0]["args"]
    (folder / "edit.json").write_text(json.dumps(args | {"guests": 7}))
    assert lousho("approve", "booking", "--edit", "edit.json", "-q").code == 0
    assert lousho("eval", "add", "booking").code == 0
    lousho("run", "booking", "-s", "no", "-q")
    lousho("reject", "no", "--reason", "Too dear", "-q")
    assert lousho("eval", "add", "no").code == 0
    assert "Too dear" in Path("booking.eval.yaml").read_text()
    assert replay("booking.eval.yaml") == {"booking": "passed replayed", "no": "passed replayed"}


def records(*messages: Message) -> list[list[r.Record]]:
    """The log of a session that tells these messages, each input a run of its own."""
    batches: list[list[r.Record]] = []
    step = 0
    for number, message in enumerate(messages):
        if message.role == "user":
            id_, step = f"in-{number}", 0
            begun = r.RunStarted(id_, offered=("weather",), agent_id="trip", model="m")
            batches.append([r.InputReceived(id_, (message,)), r.InputApplied(id_), begun])
        elif message.role == "assistant":
            step += 1
            mark = r.Mark(step) if message.tool_calls else r.Mark(step, "finished", "stop")
            batches.append([r.Turn(message, "tool_calls" if message.tool_calls else "stop", "m", CallUsage(4, 2)), mark])
        else:
            batches.append([r.ToolFinished(message.tool_call_id or "", message.text, is_error=message.is_error), r.Mark(step)])
    batches[0].insert(0, r.Created("trip"))
    return batches


def asks(*cities: str) -> Message:
    return Message(
        "assistant", "", tool_calls=tuple(ToolCall(f"c{n}", "weather", json.dumps({"city": city})) for n, city in enumerate(cities))
    )


def gives(text: str, call: str = "c0", **more: Any) -> Message:
    return Message("tool", text, tool_call_id=call, tool_name="weather", **more)


def said(text: str) -> Message:
    return Message("assistant", text)


def test_several_inputs_equal_calls_and_errors_are_told_again(lousho: Any, store: Any, agent: Path, replay: Any) -> None:
    failed = json.dumps({"error": "Error", "toolName": "weather", "message": "down", "kind": "execution", "toolCallId": "c1"})
    store("s", records(
        user("Lisbon twice"), asks("Lisbon", "Lisbon"), gives('{"at":1}'), gives(failed, "c1", is_error=True), said("Odd."),
        user("And again"), asks("Lisbon"), gives('"rain"'), said("Rain."),
    ))  # fmt: skip
    assert lousho("eval", "add", "s", "--agent", "agent.yaml").code == 0
    case = yaml.safe_load(Path("trip.eval.yaml").read_text())["cases"][0]
    assert case["input"] == ["Lisbon twice", "And again"]
    assert [one["result"] for one in case["tool_results"]] == [{"at": 1}, json.loads(failed), "rain"]
    assert [one.get("is_error", False) for one in case["tool_results"]] == [False, True, False]
    [cassette] = Path("__cassettes__").rglob("*.json")
    told = [message for message in json.loads(cassette.read_text())["entries"][-1]["request"]["messages"] if message["role"] == "tool"]
    assert [message.get("isError", False) for message in told] == [False, True, False]
    assert replay("trip.eval.yaml") == {"s": "passed replayed"}


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([user("a"), asks("Lisbon")], "its call c0 of weather has no result yet"),
        ([user("a")], "no model has answered in it yet"),
        ([user("a"), said("b"), user("c")], "its last input has no answer yet"),
        ([user("a"), user("b"), said("c")], "two of its inputs stand behind each other"),
        ([user("a"), asks("Lisbon"), gives("1"), user("b"), said("c")], "an input joined its run"),
        ([Message("user", (ImagePart("aGk=", "image/png"),)), said("c")], "an input of it holds more than text"),
    ],
)
def test_what_can_not_be_told_as_a_case_is_refused_in_a_sentence(lousho: Any, store: Any, agent: Path, messages: Any, why: str) -> None:
    store("s", records(*messages))
    ran = lousho("eval", "add", "s", "--agent", "agent.yaml")
    assert ran.code == 2
    assert f"this can not be made a case: {why}" in ran.err
    assert "LOUSHO_EVAL_NO_CASE" in ran.err
    assert not Path("trip.eval.yaml").exists()
    assert not Path("__cassettes__").exists()


def test_an_agent_that_would_do_something_else_today_is_named(lousho: Any, store: Any, trip: Any, agent: Path) -> None:
    agent.write_text(yaml.safe_dump(AGENT | {"tools": []}))
    store("s", trip())
    ran = lousho("eval", "add", "s", "--agent", "agent.yaml")
    assert ran.code == 2
    assert "the agent of today does not do what it did: step 1, weather, result" in ran.err


def test_no_secret_of_a_session_is_in_the_case(lousho: Any, store: Any, agent: Path, replay: Any) -> None:
    key = "sk-ant-REDACTED"
    told = Message("assistant", f"It is {key}", tool_calls=(ToolCall("c0", "weather", json.dumps({"city": key})),))
    store("s", records(user(f"my key is {key}"), told, gives(json.dumps({"key": key})), said(f"Keep {key} safe.")))
    assert lousho("eval", "add", "s", "--agent", "agent.yaml").code == 0
    made = [Path("trip.eval.yaml"), *Path("__cassettes__").rglob("*.json")]
    assert all(key not in path.read_text() for path in made)
    assert replay("trip.eval.yaml") == {"s": "passed replayed"}


def test_hostile_and_odd_text_stands_in_the_file_as_it_was(lousho: Any, store: Any, agent: Path, replay: Any) -> None:
    odd = [
        "1e5",
        "yes",
        "null",
        "2026-01-02",
        "a: b",
        "- x",
        "two\nlines\n",
        " lead",
        "\u202egnp\x1b[31m",
        "é€",
        "",
        "#no",
        "'q'",
        '"',
        "{x}",
        "@a",
        "12:30",
    ]
    store("s", records(user("a: b\n# c"), asks("x"), gives(json.dumps(odd, ensure_ascii=False)), said("done")))
    assert lousho("eval", "add", "s", "--agent", "agent.yaml", "--case", "1e5").code == 0
    text = Path("trip.eval.yaml").read_text()
    assert not {"\u202e", "\x1b"} & set(text)
    assert load_evals(Path("trip.eval.yaml"))[0].cases[0].tool_results[0].result == odd
    assert replay("trip.eval.yaml") == {"1e5": "passed replayed"}


COMMENTED = """\
# mine
agent: agent.yaml   # this one

cases:
  # the first
  - name: one
    input: Hello
    expect: {completed: true}

# behind all
tags: [smoke]
"""


def test_a_file_that_is_there_keeps_its_comments_and_what_stands_behind(lousho: Any, store: Any, trip: Any, agent: Path) -> None:
    store("s", trip())
    Path("mine.eval.yaml").write_text(COMMENTED)
    assert lousho("eval", "add", "s", "--agent", "agent.yaml", "--to", "mine.eval.yaml").code == 0
    text = Path("mine.eval.yaml").read_text()
    kept = text.split("  - name: s\n")
    assert kept[0] == COMMENTED.split("\n# behind all")[0]
    assert kept[1].endswith("\n\n# behind all\ntags: [smoke]\n")
    assert [case.name for case in load_evals(Path("mine.eval.yaml"))[0].cases] == ["one", "s"]


def test_files_that_take_no_case_are_refused_and_stay_as_they_are(lousho: Any, store: Any, trip: Any, agent: Path) -> None:
    store("s", trip())
    Path("flow.eval.yaml").write_text("agent: agent.yaml\ncases: [{name: one, input: Hello}]\n")
    Path("other.eval.yaml").write_text("agent: trip\ncases: [{name: one, input: Hello}]\n")
    Path("broken.eval.yaml").write_text("agent: agent.yaml\n")
    Path("mine_eval.py").write_text("")
    before = {path.name: path.read_text() for path in Path().glob("*eval*")}
    for name, why in (
        ("flow.eval.yaml", "no case can be added to flow.eval.yaml as it is written"),
        ("other.eval.yaml", "is about another agent than trip"),
        ("broken.eval.yaml", "cases"),
        ("mine_eval.py", "cases are added to files of data"),
        ("mine.yaml", "no eval would be looked for there"),
    ):
        ran = lousho("eval", "add", "s", "--agent", "agent.yaml", "--to", name)
        assert (ran.code, why in ran.err) == (2, True), (name, ran.err)
    assert {path.name: path.read_text() for path in Path().glob("*eval*")} == before
    assert not Path("__cassettes__").exists()


def test_a_json_file_takes_a_case(lousho: Any, store: Any, trip: Any, agent: Path, replay: Any) -> None:
    store("s", trip())
    for name in ("one", "two"):
        assert lousho("eval", "add", "s", "--agent", "agent.yaml", "--to", "mine.eval.json", "--case", name).code == 0
    assert replay("mine.eval.json") == {"one": "passed replayed", "two": "passed replayed"}


def test_a_sub_agent_is_one_call_with_its_answer(lousho: Any, folder: Path, replay: Any) -> None:
    scout = {"name": "scout", "prompt": "Look.", "provider": {"type": "scripted", "turns": [{"text": "It is quiet."}]}}
    lead = {
        "name": "lead", "prompt": "Lead.", "subagents": {"scout": "scout.yaml"},
        "provider": {"type": "scripted", "turns": [{"tool_calls": [{"name": "scout", "args": {"input": "Go"}}]}, {"text": "Quiet."}]},
    }  # fmt: skip
    for name, value in (("scout", scout), ("lead", lead)):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(value))
    assert lousho("run", "lead.yaml", "Begin", "-q").code == 0
    (folder / "scout.yaml").write_text(yaml.safe_dump(scout | {"provider": {"type": "scripted", "turns": [{"text": "Never."}]}}))
    assert lousho("eval", "add", "lead").code == 0
    assert "It is quiet." in Path("lead.eval.yaml").read_text()
    assert replay("lead.eval.yaml") == {"lead": "passed replayed"}


def test_unknown_sessions_and_steps_are_named(lousho: Any, store: Any, trip: Any, agent: Path) -> None:
    store("s", trip())
    assert lousho("eval", "add", "nope").code == 3
    assert lousho("eval", "add", "s@7", "--agent", "agent.yaml").code == 3


def test_the_case_passes_at_once_under_the_command_and_is_on_its_page(lousho: Any, process: Any, folder: Path) -> None:
    assert lousho("run", "trip", "-q").code == 0
    assert lousho("eval", "add", "trip@1/2", "--case", "yesterday", "-q").out == "trip.eval.yaml::yesterday\n"
    done = process("eval", "--replay", "--html", "out.html", "--json", environ={"CI": "true"})
    assert done.returncode == 0, done.stderr
    (case,) = json.loads(done.stdout)["data"]["cases"]
    assert (case["eval"], case["case"], case["result"]) == ("trip", "yesterday", "passed")
    text = (folder / "out.html").read_text("utf-8")
    assert "1 passed" in text.partition("</title>")[0]
    assert '"yesterday"' in text
