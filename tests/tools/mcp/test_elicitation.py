"""What a server asks, as a question; and what a person answers, as its form."""

from __future__ import annotations

from typing import Any

import pytest

from lousho_cli.tools.mcp.elicitation import Form, NotAnAnswer, content_of, is_web_address, question


def form(required: list[str] | None = None, **fields: Any) -> Form:
    return Form("fs", "Which?", {"type": "object", "properties": fields, "required": list(fields) if required is None else required})


@pytest.mark.parametrize(
    ("fields", "answer", "content"),
    [
        ({"n": {"type": "integer"}}, "3", {"n": 3}),
        ({"n": {"type": "number"}}, "2.5", {"n": 2.5}),
        ({"ok": {"type": "boolean"}}, "Yes", {"ok": True}),
        ({"ok": {"type": "boolean"}}, "false", {"ok": False}),
        ({"s": {"type": "string"}}, "3", {"s": "3"}),
        ({"s": {"type": "string"}}, '{"s": "x"}', {"s": "x"}),
        ({"s": {"type": "string"}}, '{"other": 1}', {"s": '{"other": 1}'}),
        ({"l": {"type": "array", "items": {"type": "string"}}}, '["a", "b"]', {"l": ["a", "b"]}),
        ({"a": {"type": "string"}, "b": {"type": "integer"}}, '{"a": "x", "b": 1}', {"a": "x", "b": 1}),
        ({}, "ok", {}),
    ],
)
def test_an_answer_fills_the_form(fields: dict[str, Any], answer: str, content: dict[str, Any]) -> None:
    assert content_of(form(**fields), answer) == content


@pytest.mark.parametrize(
    ("fields", "answer", "why"),
    [
        ({"n": {"type": "integer"}}, "many", "n: 'many' is not of type 'integer'"),
        ({"w": {"enum": ["a", "b"]}}, "c", "w: 'c' is not one of"),
        ({"a": {"type": "string"}, "b": {"type": "string"}}, "x", "it is no JSON object"),
        ({"a": {"type": "string"}, "b": {"type": "string"}}, '{"a": "x"}', "'b' is a required property"),
        ({"a": {"type": "string"}, "b": {"type": "string"}}, '{"a": "x", "b": "y", "c": 1}', "there is no field c"),
        ({"a": {"type": "string"}, "b": {"type": "string"}}, "[" * 100_000, "it is no JSON object"),
    ],
)
def test_an_answer_that_does_not_fit_is_none(fields: dict[str, Any], answer: str, why: str) -> None:
    with pytest.raises(NotAnAnswer, match=why.replace("[", r"\[")):
        content_of(form(**fields), answer)


def test_the_question_shows_the_fields_and_offers_choices() -> None:
    one = question(form(w={"enum": ["train", "bus"], "description": "how to go"}))
    assert one.text == "The MCP server fs asks: Which?\nAnswer with the value of w (any; one of train, bus): how to go."
    assert (one.options, one.allow_free_text) == (("train", "bus"), True), "a JSON object is an answer too"
    assert question(form(ok={"type": "boolean"})).options == ("true", "false")
    assert question(form(w={"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]})).options == ("a", "b")
    assert question(form()).options == ("ok",)
    two = question(form(["a"], a={"type": "string", "title": "First"}, b={"type": "integer"}), "it is no JSON object")
    assert two.text.splitlines() == [
        "That was no answer: it is no JSON object.",
        "The MCP server fs asks: Which?",
        "- a (string): First",
        "- b (integer; may be left out)",
        "Answer with a JSON object of these fields.",
    ]


def test_what_a_server_says_can_not_move_the_cursor() -> None:
    asked = question(Form("fs", "\x1b[2J\x1b]0;owned\x07Which?\r\n", {"properties": {"a\x1b[1m": {"description": "x\x07\ny"}}}))
    assert "\x1b" not in asked.text
    assert "owned" not in asked.text
    assert asked.text.splitlines()[-1] == "Answer with the value of a (any; may be left out): x y."


def test_a_person_is_sent_to_web_addresses_alone() -> None:
    assert is_web_address("https://example.com/a")
    assert not any(map(is_web_address, ("javascript:alert(1)", "file:///etc/passwd", "https://a b", "https://a\nb", "")))
