"""A wrong script is refused when it is read, by the path of what is wrong."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from lousho_cli.errors import ConfigurationError
from lousho_cli.providers.scripted import ScriptedProvider


@pytest.mark.parametrize(
    ("turns", "path"),
    [
        ([], ""),
        ("text", ""),
        ({"text": "x"}, ""),
        (None, ""),
        ([42], ".0"),
        (["ok", []], ".1"),
        (["ok", ["ok", 42]], ".1.1"),
        ([{"txt": "x"}], ".0.txt"),
        ([{"text": 5}], ".0.text"),
        (["a", "b", {"tool_calls": [{}]}], ".2.tool_calls.0.name"),
        ([{"tool_calls": [{"name": ""}]}], ".0.tool_calls.0.name"),
        ([{"tool_calls": [{"name": "a", "arguments": {}}]}], ".0.tool_calls.0.arguments"),
        ([{"tool_calls": [{"name": "a", "id": "x"}, {"name": "a", "id": "x"}]}], ".0.tool_calls.1.id"),
        ([{"tool_calls": [{"name": "a", "id": 7}]}], ".0.tool_calls.0.id"),
        ([{"tool_calls": [{"name": "a", "args": {"day": datetime.date(2024, 1, 1)}}]}], ".0.tool_calls.0.args"),
        ([{"tool_calls": [{"name": "a", "args": {"n": float("nan")}}]}], ".0.tool_calls.0.args"),
        ([{"tool_calls": {"name": "a"}}], ".0.tool_calls"),
        ([{"usage": {"input_tokens": -1}}], ".0.usage.input_tokens"),
        ([{"usage": {"input_tokens": 1.5}}], ".0.usage.input_tokens"),
        ([{"usage": {"tokens": 1}}], ".0.usage.tokens"),
        ([{"delay": -1}], ".0.delay"),
        ([{"delay": "1s"}], ".0.delay"),
        ([{"delay": float("nan")}], ".0.delay"),
        ([{"finish_reason": "done"}], ".0.finish_reason"),
        ([{"error": "lost"}], ".0.error"),
        ([{"error": {"status": 200}}], ".0.error.status"),
        ([{"error": {"message": "x"}}], ".0.error.status"),
        ([{"error": {"status": 500, "disconnect": True}}], ".0.error.status"),
        ([{"error": {"status": 500, "times": 0}}], ".0.error.times"),
        ([{"when": {}}], ".0.when"),
        ([{"when": {"contains": "x"}}], ".0.when.contains"),
        ([{"when": {"user": 1}}], ".0.when.user"),
        ([{"when": {"result": []}}], ".0.when.result"),
        ([[{"when": {"result": {"c1": {1, 2}}}}]], ".0.0.when.result.c1"),
    ],
)
def test_a_wrong_script_is_refused_by_path(turns: Any, path: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ScriptedProvider(turns)
    assert caught.value.field == "provider.turns" + path
    assert caught.value.detail.startswith(caught.value.field)


def test_a_near_name_is_offered() -> None:
    with pytest.raises(ConfigurationError) as caught:
        ScriptedProvider([{"tool_call": []}])
    assert "tool_calls" in caught.value.hint


def test_repeat_last_is_a_switch() -> None:
    with pytest.raises(ConfigurationError) as caught:
        ScriptedProvider(["x"], repeat_last="yes")  # type: ignore[arg-type]
    assert caught.value.field == "provider.repeat_last"


def test_everything_wrong_is_named_at_once() -> None:
    turns = [
        {"txt": "x"},
        {"dely": 1, "text": 5},
        [{"wen": {}}, 42],
        {"tool_calls": [{"nme": "a"}, {"name": "b", "args": {"n": float("nan")}}]},
    ]
    with pytest.raises(ConfigurationError) as caught:
        ScriptedProvider(turns)
    for path in ("0.txt", "1.dely", "1.text", "2.0.wen", "2.1", "3.tool_calls.0.nme", "3.tool_calls.1.args"):
        assert f"provider.turns.{path} " in caught.value.detail
    assert "Did you mean delay?" in caught.value.detail
    assert caught.value.field == "provider.turns.0.txt"
