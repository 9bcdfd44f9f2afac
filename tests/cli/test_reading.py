"""list, history, show and diff: what they say of sessions, and of those that are not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def test_reading_without_a_store_is_empty_and_creates_none(lousho: Any, folder: Path) -> None:
    assert lousho("list", "--json").data == []
    assert lousho("history", "nope", "--json").data == []
    assert lousho("fsck", "--json").data == []
    assert (lousho("list").out, lousho("list").err) == ("", "0 of 0 sessions\nbegin with: lousho run\n")
    assert list(folder.iterdir()) == []


def test_case_060_unknown_session(lousho: Any, store: Any, trip: Any) -> None:
    store("trip", trip())
    history = lousho("history", "nope", "--json")
    assert (history.code, history.data) == (0, [])
    show = lousho("show", "nope")
    assert show.code == 3
    assert show.out == ""
    assert show.err == "error: there is no session nope [LOUSHO_SESSION_NOT_FOUND] There is: trip.\n"


def test_list_is_newest_first_and_says_how_many(lousho: Any, store: Any, trip: Any, waiting: Any) -> None:
    store("old", trip(), at="2026-01-01T00:00:00.000Z")
    store("booking", waiting(), at="2026-01-03T00:00:00.000Z")
    store("new", trip(), at="2026-01-02T00:00:00.000Z")
    ran = lousho("list", "--json")
    assert [session["id"] for session in ran.data] == ["booking", "new", "old"]
    first = ran.data[0]
    assert first["status"] == "awaiting-approval"
    assert first["waits_for"]["id"] == "7f3a9c1e2b4d"
    assert {"id", "agent", "status", "attempts", "step", "updated_at", "messages"} <= first.keys()
    assert ran.data[1]["outcome"] == "completed"
    assert "2 of 3 sessions" in lousho("list", "--limit", "2").err
    assert lousho("list", "-q").out == "booking\nnew\nold\n"


def test_list_filters(lousho: Any, store: Any, trip: Any, waiting: Any) -> None:
    store("trip", trip(), at="2026-01-01T00:00:00.000Z")
    store("booking", waiting(), at="2026-01-03T00:00:00.000Z")
    ids = lambda *args: lousho("list", "-q", *args).out.split()  # noqa: E731
    assert ids("--status", "finished") == ["trip"]
    assert ids("--agent", "booking") == ["booking"]
    assert ids("--since", "2026-01-02T00:00:00Z") == ["booking"]
    assert ids("--since", "1h") == []
    assert lousho("list", "--status", "done").code == 2
    assert lousho("list", "--since", "soon").code == 2


def test_a_pipe_gets_full_ids_and_errors_without_colour(lousho: Any, store: Any, trip: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    long = "a" * 120
    store(long, trip())
    out = lousho("list").out
    assert long in out
    assert "\x1b" not in out
    assert "\x1b[1m" in lousho("show", long, "--color", "always").out


def test_list_names_a_damaged_session_and_lists_the_rest(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("good", trip())
    bad = folder / ".lousho" / "sessions" / "bad"
    bad.mkdir()
    (bad / "log.jsonl").write_bytes(b"no record at all\n")
    ran = lousho("list", "--json")
    assert ran.code == 0
    assert [session["id"] for session in ran.data] == ["good"]
    assert "bad" in json.loads(ran.out)["warnings"][0]
    assert "session bad is damaged" in ran.err


def test_history_is_newest_first_with_addresses_that_show_takes(lousho: Any, store: Any, trip: Any) -> None:
    store("trip", trip())
    entries = lousho("history", "trip", "--json").data
    assert [(entry["address"], entry["step"], entry["status"]) for entry in entries] == [
        ("trip@1/2.1", 2, "finished"),
        ("trip@1/1.2", 1, "in-progress"),
        ("trip@1/1.1", 1, "in-progress"),
    ]
    assert [entry["added"] for entry in entries] == [["assistant"], ["result of weather"], ["assistant calls weather"]]
    assert entries[0]["bytes"] > entries[1]["bytes"] > entries[2]["bytes"] > 0
    assert [len(lousho("show", entry["address"], "--json").data["messages"]) for entry in entries] == [4, 3, 2]
    assert lousho("history", "trip", "--limit", "1", "--json").data == entries[:1]
    assert lousho("history", "trip", "-q").out.split() == [entry["address"] for entry in entries]


@pytest.mark.parametrize(
    ("point", "messages"), [("@1", 3), ("@1.1", 2), ("@1/1", 3), ("@1/1.1", 2), ("@2", 4), ("#2", 2), ("#4", 3), ("", 4)]
)
def test_every_form_of_an_address(lousho: Any, store: Any, trip: Any, point: str, messages: int) -> None:
    store("trip", trip())
    assert len(lousho("show", f"trip{point}", "--json").data["messages"]) == messages


@pytest.mark.parametrize("point", ["@9", "@1.9", "@7/1", "#99"])
def test_an_unknown_point_lists_the_kept_steps(lousho: Any, store: Any, trip: Any, point: str) -> None:
    store("trip", trip())
    ran = lousho("show", f"trip{point}")
    assert ran.code == 3
    assert "[LOUSHO_CHECKPOINT_NOT_FOUND] Kept steps: 1, 2." in ran.err
    assert json.loads(lousho("show", "trip@9", "--json").out)["error"]["session"] == "trip"
    assert json.loads(lousho("approve", "trip", "--json").out)["error"]["session"] == "trip"


def test_the_newest_run_that_has_the_step_is_meant(lousho: Any, store: Any, trip: Any) -> None:
    again = [[record for record in batch if type(record).__name__ != "Created"] for batch in trip(answer="Again.", call="call_2")]
    again[0] = [_other_input(record) for record in again[0]]
    store("trip", trip())
    store("trip", again)
    assert lousho("show", "trip@2", "--json").data["messages"][-1]["content"] == "Again."
    assert lousho("show", "trip@1/2", "--json").data["messages"][-1]["content"] == "Sunny: take the coast."


def _other_input(record: Any) -> Any:
    import msgspec

    if hasattr(record, "id"):
        return msgspec.structs.replace(record, id="in-2")
    return msgspec.structs.replace(record, input_id="in-2")


@pytest.mark.parametrize("name", ["../x", "", "x" * 300, "a\nb", "-x", ".x", "trip@", "trip@x", "trip#", "trip@1.", "@3"])
def test_a_bad_id_or_address_is_a_usage_error(lousho: Any, name: str) -> None:
    ran = lousho("show", "--", name)
    assert ran.code == 2
    assert ran.err.count("\n") == 1


def test_an_exact_id_beats_a_prefix_and_an_ambiguous_one_lists_the_candidates(lousho: Any, store: Any, trip: Any) -> None:
    for session in ("trip", "trip-2", "other"):
        store(session, trip())
    assert lousho("show", "trip", "-q").out == "trip\n"
    assert lousho("show", "ot", "-q").out == "other\n"
    ran = lousho("show", "tri")
    assert ran.code == 3
    assert ran.err == "error: tri is the beginning of 2 sessions [LOUSHO_AMBIGUOUS] They are: trip, trip-2.\n"


def test_show_in_a_pipe_keeps_what_was_said_to_itself_unless_asked(lousho: Any, store: Any, trip: Any) -> None:
    store("trip", trip(answer="The secret plan"))
    quiet = lousho("show", "trip")
    assert "weather" in quiet.out
    assert "secret plan" not in quiet.out
    assert "Lisbon" not in quiet.out
    told = lousho("show", "trip", "--content").out
    assert "The secret plan" in told
    assert "Lisbon" in told


def test_show_as_json_is_the_contract(lousho: Any, store: Any, trip: Any) -> None:
    store("trip", trip())
    data = lousho("show", "trip", "--json").data
    assert data["status"] == "finished"
    assert data["outcome"] == "completed"
    assert [message["role"] for message in data["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert data["messages"][1]["tool_calls"] == [{"id": "call_weather", "name": "weather", "arguments": '{"city": "Lisbon"}'}]
    assert data["messages"][2]["content"] == '{"forecast":"sun"}'
    assert data["messages"][2]["tool_call_id"] == "call_weather"
    assert data["usage"]["input_tokens"] == 100
    assert data["fingerprint"]["hash"] == "0123456789abcdef"
    assert data["business_state"] is None


def test_an_empty_answer_still_has_its_content(lousho: Any, store: Any, waiting: Any) -> None:
    store("booking", waiting())
    data = lousho("show", "booking", "--json").data
    assert data["messages"][1]["content"] == ""
    assert data["waits_for"]["tool"] == "book_table"
    assert data["pending_calls"] == ["call_book"]


def test_diff_says_where_two_sessions_part(lousho: Any, store: Any, trip: Any) -> None:
    store("a", trip())
    store("b", trip(forecast='{"forecast":"rain"}', answer="Rain: museum."))
    ran = lousho("diff", "a", "b")
    assert ran.code == 0
    assert "part at step 1" in ran.out
    assert '"sun" -> "rain"' in ran.out
    data = lousho("diff", "a", "b", "--json").data
    assert data["diverged_at"] == 1
    assert data["a"][0]["tools"][0]["result"] == '{"forecast":"sun"}'
    assert data["drift"] == []
    assert "diverged_at" not in lousho("diff", "a", "a", "--json").data


def test_diff_exit_code_and_mode(lousho: Any, store: Any, trip: Any) -> None:
    store("a", trip())
    store("b", trip(city="Porto"))
    store("c", trip(answer="Other words."))
    assert lousho("diff", "a", "a", "--exit-code").code == 0
    assert lousho("diff", "a", "b", "--exit-code").code == 10
    assert lousho("diff", "a", "c", "--exit-code").code == 10
    assert lousho("diff", "a", "c", "--exit-code", "--mode", "unordered").code == 0
    assert lousho("diff", "a", "b", "--mode", "fuzzy").code == 2


def test_diff_takes_addresses(lousho: Any, store: Any, trip: Any) -> None:
    store("a", trip())
    assert lousho("diff", "a@1", "a@2", "--json").data["diverged_at"] == 2
    assert lousho("diff", "a#1", "a#2", "--json").data["diverged_at"] == 1
    assert "diverged_at" not in lousho("diff", "a#2", "a#3", "--json").data
    assert lousho("diff", "a", "nope").code == 3


def test_case_070_huge_values_are_capped_in_text_and_whole_in_json(lousho: Any, store: Any, trip: Any) -> None:
    lines = [f"line {number}" for number in range(200_000)]
    store("a", trip(forecast=json.dumps("\n".join(lines))))
    lines[100_000] = "changed"
    other = json.dumps("\n".join(lines))
    store("b", trip(forecast=other))
    text = lousho("diff", "a", "b").out
    assert len(text) < 2_000
    assert "values are cut" in text
    assert lousho("diff", "a", "b", "--json").data["b"][0]["tools"][0]["result"] == other


def test_a_session_before_its_first_mark_is_there_at_step_0(lousho: Any, store: Any, trip: Any) -> None:
    store("trip", trip()[:1])
    listed = lousho("list", "--json").data[0]
    assert (listed["step"], listed["status"]) == (0, "in-progress")
    assert lousho("history", "trip", "--json").data == []
    assert len(lousho("show", "trip", "--json").data["messages"]) == 1


def test_what_stands_of_a_damaged_session_is_shown_then_7(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("trip", trip())
    log = folder / ".lousho" / "sessions" / "trip" / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if b'"seq":2' in line)
    log.write_bytes(b"".join([*lines[:at], b"x" * len(lines[at]), *lines[at + 1 :]]).replace(b"xx{", b"x\n{"))
    ran = lousho("show", "trip", "--json")
    assert ran.code == 7
    assert ran.data["messages"][0]["content"] == "Plan my trip"
    assert ran.data["damage"]
    assert "is damaged" in ran.err
    fsck = lousho("fsck", "--json")
    assert fsck.code == 10
    assert [(finding["session"], finding["seq"]) for finding in fsck.data if finding["kind"] == "hole"] == [("trip", 2)]


def test_fsck_repairs_what_has_a_hole_and_keeps_the_old_log(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("trip", trip())
    log = folder / ".lousho" / "sessions" / "trip" / "log.jsonl"
    damaged = log.read_bytes().replace(b"call_weather", b"call-weather", 1)
    log.write_bytes(damaged)
    assert lousho("fsck").code == 10
    assert lousho("fsck", "--repair").code == 0
    assert lousho("fsck").code == 0
    assert damaged in [path.read_bytes() for path in log.parent.glob("log.damaged*")]
    assert lousho("show", "trip", "-q").code == 0


def test_a_log_without_any_valid_record_is_damaged_and_can_be_deleted(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("good", trip())
    bad = folder / ".lousho" / "sessions" / "bad"
    bad.mkdir()
    (bad / "log.jsonl").write_bytes(b"no record at all\n")
    assert lousho("show", "bad").code == 7
    assert lousho("fsck", "bad").code == 10
    assert lousho("fsck", "good").code == 0
    assert lousho("delete", "bad", "--yes").code == 0
    assert lousho("fsck").code == 0


def test_a_session_of_a_newer_version_is_shown_with_a_warning(lousho: Any, store: Any, trip: Any) -> None:
    from lousho_cli.domain.records import Foreign

    store("trip", [*trip(), [Foreign("lousho.future", b'{"type":"lousho.future","x":1}')]])
    ran = lousho("show", "trip", "--json")
    assert ran.code == 0
    assert "newer version" in ran.err
    assert ran.data["status"] == "finished"


def test_a_pause_kept_for_elsewhere_is_pending_and_no_session(lousho: Any, store: Any, trip: Any, waiting: Any) -> None:
    store("trip", trip())
    store("approval-7f3a9c1e2b4d", waiting())
    assert [session["id"] for session in lousho("list", "--json").data] == ["trip"]
    assert [item["id"] for item in lousho("pending", "--json").data] == ["7f3a9c1e2b4d"]
    assert lousho("show", "appr").code == 3
    nothing = lousho("resume")
    assert (nothing.code, "approval-" in nothing.out + nothing.err) == (0, False)


def test_list_marks_a_session_of_a_newer_version(lousho: Any, store: Any, trip: Any) -> None:
    from lousho_cli.domain.records import Foreign

    store("trip", trip())
    store("late", [*trip(), [Foreign("lousho.future", b'{"type":"lousho.future","x":1}')]])
    ran = lousho("list", "--json")
    assert ran.code == 0
    assert [session["id"] for session in ran.data] != []
    (warning,) = json.loads(ran.out)["warnings"]
    assert "late" in warning
    assert "newer version" in warning


def test_list_counts_what_is_there_beside_what_was_asked_for(lousho: Any, store: Any, trip: Any) -> None:
    store("trip", trip())
    store("other", trip())
    assert "0 of 2 sessions" in lousho("list", "--agent", "nope").err
    assert lousho("list", "--agent", "nope", "--json").data == []


def test_diff_names_each_place_of_a_result_and_shows_longer_texts_line_by_line(lousho: Any, store: Any, trip: Any) -> None:
    store("a", trip(forecast='{"city":"Lisbon","forecast":"sunny","high":24}', answer="One\nSunny\nEnd"))
    store("b", trip(forecast='{"forecast":"rain","wind":3}', answer="One\nRain\nMuseum\nEnd"))
    shown = lousho("diff", "a", "b").out
    assert 'result, city: removed "Lisbon"' in shown
    assert 'result, forecast: "sunny" -> "rain"' in shown
    assert "result, high: removed 24" in shown
    assert "result, wind: added 3" in shown
    assert "text, from line 2:\n    - Sunny\n    + Rain\n    + Museum\n" in shown
    assert "\\n" not in shown
    assert "End" not in shown
    paths = [change.get("path") for change in lousho("diff", "a", "b", "--json").data["changes"]]
    assert paths == ["city", "forecast", "high", "wind", None]


def test_diff_counts_what_it_does_not_show_of_a_value(lousho: Any, store: Any, trip: Any) -> None:
    store("a", trip(forecast=json.dumps(list(range(100)))))
    store("b", trip(forecast=json.dumps(list(range(1, 101)))))
    assert "and 80 more places in the result of weather" in lousho("diff", "a", "b").out


def test_history_of_a_checkpoint_is_refused_and_says_what_is_meant(lousho: Any, trip: Any) -> None:
    ran = lousho("history", "trip@1")
    assert ran.code == 2
    assert "lousho show trip@1" in ran.err


def test_case_066_ids_that_a_provider_invents_make_no_difference(lousho: Any, folder: Path) -> None:
    agent = (
        "name: {0}\nprompt: You look.\nprovider:\n  type: scripted\n  turns:\n"
        "    - tool_calls: [{{ name: look, args: {{}}, id: {0}_1 }}]\n    - text: Seen.\n"
        "tools:\n  - {{ name: look, description: look, command: [echo, '1'], input: {{ type: object }} }}\n"
    )
    for name in ("one", "other"):
        (folder / f"{name}.yaml").write_text(agent.format(name))
        assert lousho("run", f"{name}.yaml", "look", "-s", name).code == 0
    said = lousho("diff", "one", "other", "--exit-code", "--json")
    assert said.code == 0, said.out
    assert "diverged_at" not in said.data
    assert [step["tools"][0]["id"] for step in (said.data["a"][0], said.data["b"][0])] == ["one_1", "other_1"]


def test_a_decided_pause_is_told_as_decided_until_the_next_answer(lousho: Any) -> None:
    lousho("run", "booking", "-s", "b")
    assert "finish:      awaiting-approval\n" in lousho("show", "b").out
    lousho("approve", "b")
    shown = lousho("show", "b@1").out
    assert "status:      in-progress\nfinish:      awaiting-approval, decided\n" in shown
    assert lousho("show", "b@1", "--json").data["finish_reason"] == "awaiting-approval"  # the word on every wire
    assert "finish:      stop\n" in lousho("show", "b").out


def test_diff_of_results_that_are_no_objects_names_no_place(lousho: Any, store: Any, trip: Any) -> None:
    store("a", trip(forecast='"sun"'))
    store("b", trip(forecast='"rain"'))
    assert 'step 1, weather, result: "sun" -> "rain"\n' in lousho("diff", "a", "b").out
