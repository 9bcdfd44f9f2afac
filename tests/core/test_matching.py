"""The four modes: what each means, and the verdicts of a package that nobody here wrote on a hundred generated pairs."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from lousho_cli.core.compare import compare_trajectories, matches
from lousho_cli.core.matching import MODES, calls_match
from lousho_cli.core.trajectory import StepCall
from lousho_cli.errors import ConfigurationError

Run = list[dict[str, Any]]

ARGS: list[dict[str, Any]] = [
    {},
    {"q": "sea"},
    {"q": "hills"},
    {"q": "sea", "n": 2},
    {"n": 2.0, "q": "sea"},
    {"at": {"x": [1, 2]}},
    {"n": "2"},
]


def turn(rng: random.Random) -> list[dict[str, Any]]:
    """An answer with up to three calls and their results, sometimes the last one unanswered."""
    calls = [(rng.choice(["search", "read"]), rng.choice(ARGS)) for _ in range(rng.choice([0, 1, 1, 2, 3]))]
    ids = [f"c{rng.randrange(10**9)}" for _ in calls]
    asks: dict[str, Any] = {"role": "assistant", "content": rng.choice(["", "Let me look."])}
    if calls:
        asks["tool_calls"] = [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
            for id_, (name, args) in zip(ids, calls, strict=True)
        ]
    return [asks, *({"role": "tool", "content": rng.choice(["1", "2"]), "tool_call_id": id_} for id_ in ids)]


def run(rng: random.Random) -> Run:
    return [{"role": "user", "content": "plan"}, *(message for _ in range(rng.randrange(4)) for message in turn(rng))]


def changed(rng: random.Random, messages: Run) -> Run:
    """The run again, with other ids, texts and results, and often with one thing done otherwise."""
    again: Run = json.loads(json.dumps(messages).replace('": "c', '": "d'))
    for message in again:
        message["content"] = rng.choice([message["content"], "other"])
    turns = [message for message in again if message.get("tool_calls")]
    if not turns:
        return again
    one = rng.choice(turns)
    kind = rng.randrange(7)
    if kind == 0:
        rng.shuffle(one["tool_calls"])
    elif kind == 1:
        one["tool_calls"][0]["function"]["arguments"] = json.dumps(rng.choice(ARGS))
    elif kind == 2:
        again += turn(rng)
    elif kind == 3:
        del again[again.index(one) :]
    elif kind == 4:
        rng.shuffle(turns)
        again = [turns.pop() if message.get("tool_calls") else message for message in again]
    elif kind == 5:
        again.insert(rng.randrange(1, len(again)), {"role": "user", "content": "and then?"})
    return again


def pairs() -> Iterator[tuple[Run, Run]]:
    rng = random.Random(20_240_601)
    for _ in range(100):
        one = run(rng)
        yield one, changed(rng, one) if rng.random() < 0.8 else run(rng)


@pytest.mark.filterwarnings("ignore")  # what its own imports warn of
def test_the_modes_judge_a_hundred_generated_pairs_as_agentevals_does() -> None:
    from agentevals.trajectory.match import create_trajectory_match_evaluator

    seen: Counter[tuple[str, bool]] = Counter()
    for mode in MODES:
        judge = create_trajectory_match_evaluator(trajectory_match_mode=mode)
        for number, (committed, current) in enumerate(pairs()):
            verdict = judge(outputs=json.loads(json.dumps(current)), reference_outputs=json.loads(json.dumps(committed)))["score"]
            assert matches(committed, current, mode) == verdict, (mode, number, committed, current)
            seen[mode, verdict] += 1
    assert all(seen[mode, verdict] >= 15 for mode in MODES for verdict in (True, False)), seen


@pytest.mark.parametrize(
    ("wanted", "made", "held"),
    [
        ("ab", "ab", "strict unordered subset superset"),
        ("ab", "ba", "unordered subset superset"),
        ("ab", "a", "subset"),
        ("ab", "abc", "superset"),
        ("ab", "aab", "superset"),
        ("", "", "strict unordered subset superset"),
        ("a", "c", ""),
    ],
)
def test_calls_alone_are_matched_as_the_modes_say(wanted: str, made: str, held: str) -> None:
    left, right = ([StepCall(str(n), name, "{}") for n, name in enumerate(names)] for names in (wanted, made))
    assert [mode for mode in MODES if calls_match(left, right, mode)] == held.split()


def test_true_is_no_number_in_any_mode() -> None:
    one, other = ([StepCall("1", "t", json.dumps({"n": value}))] for value in (1, True))
    assert not any(calls_match(one, other, mode) for mode in MODES)


def test_there_is_no_other_mode() -> None:
    with pytest.raises(ConfigurationError, match="fuzzy"):
        calls_match([], [], "fuzzy")  # type: ignore[arg-type]


def told(at: int, **more: Any) -> Run:
    arguments = {"city": "Lisbon", "at": at, **more}
    return [{"role": "assistant", "content": "", "toolCalls": [{"id": "1", "name": "weather", "arguments": arguments}]}]


def test_case_086_an_argument_that_is_ignored_neither_differs_nor_drifts() -> None:
    found = compare_trajectories(told(1), told(2), ignore=["at"])
    assert (found.diverged_at, found.drift, found.matches) == (None, (), True)
    without = compare_trajectories(told(1), told(2))
    assert [row.field for row in without.drift] == ["args"]
    assert [change.path for change in without.changes] == ["at"]


@pytest.mark.parametrize(
    ("ignore", "passes"),
    [
        ("items.at", True),
        ("weather:items.at", True),
        ("items", True),
        ("search:items.at", False),
        ("items.at.x", False),
        ("at", False),
        ("", False),
    ],
)
def test_an_ignored_argument_is_named_by_its_path_and_may_be_that_of_one_tool(ignore: str, passes: bool) -> None:
    one, other = (told(1, items=[{"at": at, "n": 1}]) for at in (3, 4))
    assert compare_trajectories(one, other, ignore=[ignore]).matches == passes
    assert not compare_trajectories(one, told(1, items=[{"at": 3, "n": 2}]), ignore=["items.at"]).matches
