from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lousho_cli.core.compare import Drift, compare_trajectories, matches
from lousho_cli.core.trajectory import Step, StepCall, trajectory_of
from lousho_cli.core.values import differences, parse
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.domain.usage import RunUsage
from lousho_cli.errors import ConfigurationError


def call(name: str, args: Any, id: str = "c", result: Any = 1, text: str = "") -> list[Message]:
    """A turn with one call, and its result."""
    arguments = args if isinstance(args, str) else json.dumps(args)
    return [
        Message(role="assistant", content=text, tool_calls=(ToolCall(id, name, arguments),)),
        Message(role="tool", content=result if isinstance(result, str) else json.dumps(result), tool_call_id=id),
    ]


def said(text: str) -> Message:
    return Message(role="assistant", content=text)


SUNNY = [user("plan"), *call("weather", {"city": "Lisbon"}, "c1", {"forecast": "sun"}, "Let me look."), said("Take the coast.")]
RAINY = [user("plan"), *call("weather", {"city": "Lisbon"}, "c1", {"forecast": "rain"}, "Let me look."), said("Take the museum.")]


def point(messages: list[Message], **more: Any) -> Checkpoint:
    return Checkpoint(session_id="s", messages=tuple(messages), **more)


def test_de_109_a_different_first_result_diverges_at_step_1() -> None:
    found = compare_trajectories(SUNNY, RAINY)
    assert found.diverged_at == 1
    assert found.drift == ()
    assert not found.matches
    result = found.changes[0]
    assert (result.field, result.tool, result.path, result.a, result.b) == ("result", "weather", "forecast", "sun", "rain")


def test_de_110_case_066_call_ids_alone_do_not_diverge() -> None:
    other = [user("plan"), *call("weather", {"city": "Lisbon"}, "toolu_9", {"forecast": "sun"}, "Let me look."), said("Take the coast.")]
    found = compare_trajectories(SUNNY, other)
    assert (found.diverged_at, found.drift, found.changes, found.matches) == (None, (), (), True)


def test_de_111_equal_runs_have_no_diverged_at_and_a_shorter_one_diverges_where_it_ends() -> None:
    assert "diverged_at" not in msgspec.to_builtins(compare_trajectories(SUNNY, SUNNY))
    assert compare_trajectories(SUNNY, SUNNY[:-1]).diverged_at == 2
    assert compare_trajectories([], SUNNY).diverged_at == 1
    assert compare_trajectories([], []).diverged_at is None


def test_de_112_tools_drift_suppresses_args_drift() -> None:
    a = [*call("search", {"q": 1}), *call("read", {"f": 1})]
    b = [*call("read", {"f": 2}), *call("search", {"q": 2})]
    assert compare_trajectories(a, b).drift == (Drift("tools", "search > read", "read > search"),)
    assert compare_trajectories([said("x")], call("read", {})).drift[0] == Drift("tools", "none", "read")


def test_de_112_args_drift_has_one_row_a_call_that_differs() -> None:
    a = [*call("search", {"q": "x", "n": 1}), *call("read", {"f": 1}), *call("search", {"q": "z"})]
    b = [*call("search", {"q": "y", "n": 1}), *call("read", {"f": 1}), *call("search", {"q": "w"})]
    assert compare_trajectories(a, b).drift == (
        Drift("args", 'search {"n":1,"q":"x"}', 'search {"n":1,"q":"y"}'),
        Drift("args", 'search {"q":"z"}', 'search {"q":"w"}'),
    )


def test_de_113_the_order_of_argument_keys_does_not_drift() -> None:
    found = compare_trajectories(call("t", '{"a": 1, "b": 2}'), call("t", '{"b":2,"a":1}'))
    assert (found.diverged_at, found.drift) == (None, ())
    assert found.a[0].tools[0].args == found.b[0].tools[0].args == '{"a":1,"b":2}'


def test_de_114_steps_and_finish_reason_are_strings_and_unknown_is_a_dash() -> None:
    found = compare_trajectories(point(SUNNY, finish_reason="max-steps"), SUNNY[:-1])
    assert found.drift == (Drift("steps", "2", "1"), Drift("finishReason", "max-steps", "-"))


def test_what_one_side_does_not_say_drifts_and_still_matches() -> None:
    found = compare_trajectories(point(SUNNY), SUNNY, usage=True)
    assert found.drift == (Drift("finishReason", "stop", "-"),)
    assert found.matches
    assert not compare_trajectories(point(SUNNY), point(SUNNY, finish_reason="max-steps")).matches


def test_de_115_checkpoints_dictionaries_and_messages_compare_alike() -> None:
    saved = point(SUNNY)
    written = msgspec.to_builtins(saved)
    spelled = {"sessionId": "s", "finishReason": "stop", "messages": [_seed(message) for message in SUNNY]}
    for other in (saved, written, spelled):
        assert compare_trajectories(saved, other).matches
    assert compare_trajectories(SUNNY, written["messages"]).matches
    assert compare_trajectories([], {}).a == ()


def _seed(message: Message) -> dict[str, Any]:
    calls = [{"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in message.tool_calls]
    return {"role": message.role, "content": message.content, "toolCalls": calls, "toolCallId": message.tool_call_id}


@pytest.mark.parametrize(
    "bad", ["text", b"bytes", 3, {"role": "user", "content": "hi"}, {"messages": "x"}, {"messages": None}, [3], {"usage": 3}]
)
def test_what_can_not_be_compared_is_a_configuration_error(bad: Any) -> None:
    with pytest.raises(ConfigurationError):
        compare_trajectories(bad, SUNNY)


def test_de_116_tokens_drift_only_when_asked_for() -> None:
    a, b = point(SUNNY, usage=RunUsage(total_tokens=10, model_calls=2)), point(SUNNY, usage=RunUsage(total_tokens=12, model_calls=2))
    assert compare_trajectories(a, b).drift == ()
    assert compare_trajectories(a, b, usage=True).drift == (Drift("tokens", "10", "12"),)
    assert compare_trajectories(a, point(SUNNY), usage=True).drift == (Drift("tokens", "10", "-"),)


def test_de_178_each_side_has_one_step_an_answer_with_its_calls_and_their_results() -> None:
    found = compare_trajectories(SUNNY, [*SUNNY, *call("book", "{not json")[:1]])
    assert found.a == (
        Step("Let me look.", (StepCall("c1", "weather", '{"city":"Lisbon"}', '{"forecast": "sun"}'),)),
        Step("Take the coast.", ()),
    )
    assert found.b[2] == Step("", (StepCall("c", "book", "{not json"),))


def test_de_179_the_written_form_has_the_shape_that_others_rely_on() -> None:
    data = json.loads(msgspec.json.encode(compare_trajectories(SUNNY, [user("plan"), *call("book", {})[:1]])))
    assert data["diverged_at"] == 1
    assert data["b"] == [{"text": "", "tools": [{"id": "c", "name": "book", "args": "{}"}]}]
    assert data["a"][0]["tools"][0]["result"] == '{"forecast": "sun"}'
    assert data["drift"] == [
        {"field": "tools", "committed": "weather", "current": "book"},
        {"field": "steps", "committed": "2", "current": "1"},
    ]


def test_results_under_an_id_that_is_used_again_stay_with_their_turn() -> None:
    steps = trajectory_of([*call("t", {}, "c", "1"), *call("t", {}, "c", "2")]).steps
    assert [step.tools[0].result for step in steps] == ["1", "2"]


def test_case_061_two_equal_calls_are_two() -> None:
    twice, once = [*call("search", {"q": 1}), *call("search", {"q": 1}), said("ok")], [*call("search", {"q": 1}), said("ok")]
    found = compare_trajectories(twice, once)
    assert [(change.kind, change.field, change.tool) for change in found.changes] == [("removed", "call", "search")]
    assert compare_trajectories(twice, twice).diverged_at is None
    assert not matches(twice, once, "unordered")
    assert not matches(once, twice, "subset")


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [("1", "1.0", True), ("1", "true", False), ("0", "false", False), ("1", '"1"', False), ("null", '""', False)],
)
def test_case_062_numbers_are_equal_by_value_and_nothing_else_is_a_number(a: str, b: str, equal: bool) -> None:
    found = compare_trajectories(call("t", f'{{"n": {a}}}'), call("t", f'{{"n": {b}}}'))
    assert (found.diverged_at is None) == equal
    assert (found.drift == ()) == equal
    assert matches(call("t", f'{{"n": {a}}}'), call("t", f'{{"n": {b}}}'), "unordered") == equal


def test_case_062_a_difference_of_type_shows_both_types() -> None:
    (change,) = compare_trajectories(call("t", {"n": 1}), call("t", {"n": "1"})).changes
    assert (change.a, change.b) == (1, "1")
    assert change.describe() == 'step 1, t, args, n: 1 (number) -> "1" (text)'


def test_case_064_an_inserted_step_is_the_only_one_that_differs() -> None:
    a = [*call("search", {"q": 1}), *call("read", {"f": 1}), *call("read", {"f": 2}), said("done")]
    b = [*a[:2], *call("look", {"x": 1}), *a[2:]]
    found = compare_trajectories(a, b)
    assert found.diverged_at == 2
    assert [(change.kind, change.field, change.tool, change.a_step, change.b_step) for change in found.changes] == [
        ("added", "call", "look", None, 2),
    ]
    assert [row.field for row in found.drift] == ["tools", "steps"]


def test_case_064_an_extra_call_in_a_step_is_the_only_one_that_differs() -> None:
    turn = Message(role="assistant", tool_calls=(ToolCall("1", "read", "{}"), ToolCall("2", "list", "{}")))
    more = Message(role="assistant", tool_calls=(ToolCall("1", "read", "{}"), ToolCall("3", "stat", "{}"), ToolCall("2", "list", "{}")))
    found = compare_trajectories([turn, said("x")], [more, said("x")])
    assert [(change.kind, change.tool) for change in found.changes] == [("added", "stat")]


def test_case_064_a_change_behind_an_inserted_step_is_still_paired() -> None:
    a = [*call("read", {"f": 1}), *call("write", {"f": 1, "t": "x"}), said("done")]
    b = [*call("look", {}), *call("read", {"f": 1}), *call("write", {"f": 1, "t": "y"}), said("done")]
    kinds = [(c.kind, c.field, c.path, c.a_step, c.b_step) for c in compare_trajectories(a, b).changes]
    assert kinds == [("added", "call", None, None, 1), ("changed", "args", "t", 2, 3)]


def test_case_065_the_first_argument_that_differs_is_named_with_both_values() -> None:
    a = [*call("look", {}), *call("search", {"query": "sea", "page": {"sizes": [1, 2]}})]
    b = [*call("look", {}), *call("search", {"query": "hills", "page": {"sizes": [1, 2]}})]
    (change,) = compare_trajectories(a, b).changes
    assert (change.a_step, change.tool, change.field, change.path, change.a, change.b) == (2, "search", "args", "query", "sea", "hills")
    assert change.describe() == 'step 2, search, args, query: "sea" -> "hills"'
    (deep,) = compare_trajectories(a, [*a[:2], *call("search", {"query": "sea", "page": {"sizes": [1]}})]).changes
    assert deep.path == "page.sizes[1]"
    assert "b" not in msgspec.to_builtins(deep)
    assert deep.describe() == "step 2, search, args, page.sizes[1]: 2 -> nothing"


def test_case_065_a_huge_value_is_whole_in_the_data_and_cut_in_the_line() -> None:
    (change,) = compare_trajectories(call("t", {}, result="x" * 2_000_000), call("t", {}, result="y")).changes
    assert change.a == "x" * 2_000_000
    assert len(change.describe()) < 500


def test_a_call_that_got_no_result_differs_from_one_that_did() -> None:
    found = compare_trajectories(call("t", {}), call("t", {})[:1])
    assert found.diverged_at == 1
    (change,) = found.changes
    assert (change.field, change.path, change.a) == ("result", "(root)", 1)


def test_arguments_that_are_no_json_are_compared_as_text() -> None:
    assert compare_trajectories(call("t", "{a"), call("t", "{a")).matches
    assert compare_trajectories(call("t", '{"a": NaN}'), call("t", '{"a": NaN}')).matches
    (change,) = compare_trajectories(call("t", "abc"), call("t", '"abc"')).changes
    assert (change.path, change.a, change.b) == ("(root)", "abc", '"abc"')
    assert change.where == "step 1, t, args"
    deep = "[" * 5000 + "]" * 5000
    assert not compare_trajectories(call("t", deep), call("t", "[]")).matches
    nested = "[" * 90 + "1" + "]" * 90
    assert compare_trajectories(call("t", nested), call("t", nested.replace("1", "2"))).changes[0].a == 1


def test_an_equal_trajectory_matches_in_every_mode() -> None:
    for mode in ("strict", "unordered", "subset", "superset"):
        assert matches(SUNNY, SUNNY, mode)


@pytest.mark.parametrize(
    ("order", "mode", "expected"),
    [
        ("ba", "strict", False),
        ("ba", "unordered", True),
        ("ba", "subset", True),
        ("ba", "superset", True),
        ("a", "unordered", False),
        ("a", "subset", True),
        ("a", "superset", False),
        ("abc", "unordered", False),
        ("abc", "subset", False),
        ("abc", "superset", True),
        ("aab", "subset", False),
        ("aab", "superset", True),
    ],
)
def test_modes_look_at_the_calls_as_docstring_says(order: str, mode: Any, expected: bool) -> None:
    a = [*call("t", {"n": "a"}), *call("t", {"n": "b"})]
    b = [message for name in order for message in call("t", {"n": name}, f"id_{name}", "another result")]
    assert matches(a, b, mode) == expected
    assert compare_trajectories(a, b, mode=mode).matches == expected


def test_a_mode_ignores_texts_and_results_and_no_mode_does_not() -> None:
    for mode in ("strict", "unordered", "subset", "superset"):
        assert matches(SUNNY, RAINY, mode)
    assert not matches(SUNNY, RAINY)
    with pytest.raises(ConfigurationError):
        matches(SUNNY, RAINY, "fuzzy")  # type: ignore[arg-type]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)


@given(JSON, JSON)
def test_values_differ_somewhere_exactly_when_their_keys_do(a: Any, b: Any) -> None:
    left, right = parse(json.dumps(a)), parse(json.dumps(b))
    assert (left.key == right.key) == (not list(differences(left.value, right.value)))
    assert not list(differences(left.value, left.value))


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["x", "y"]),
        st.sampled_from([{}, {"a": 1}, {"a": 2}]),
        st.sampled_from(["1", "2"]),
        st.sampled_from(["", "t"]),
    ),
    max_size=7,
)


def run(steps: list[tuple[str, Any, str, str]], prefix: str) -> list[Message]:
    return [m for i, (name, args, result, text) in enumerate(steps) for m in call(name, args, f"{prefix}{i}", result, text)]


@given(STEPS, STEPS)
def test_changes_are_there_exactly_when_runs_diverge(a: list[Any], b: list[Any]) -> None:
    found = compare_trajectories(run(a, "a"), run(b, "b"))
    assert bool(found.changes) == (found.diverged_at is not None)
    back = compare_trajectories(run(b, "b"), run(a, "a"))
    assert back.diverged_at == found.diverged_at
    calls = sum(1 if c.kind == "added" else -1 for c in found.changes if c.field == "call")
    assert calls == len(b) - len(a)
    json.dumps(msgspec.to_builtins(found))
    assert all(change.describe() for change in found.changes)


@given(STEPS, STEPS, STEPS)
def test_inserted_steps_are_the_only_changes(head: list[Any], more: list[Any], tail: list[Any]) -> None:
    found = compare_trajectories(run([*head, *tail], "a"), run([*head, *[("new", s[1], s[2], s[3]) for s in more], *tail], "b"))
    assert [(c.kind, c.field, c.tool) for c in found.changes] == [("added", "call", "new")] * len(more)
