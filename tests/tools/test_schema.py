from __future__ import annotations

import pytest

from lousho_cli.errors import ConfigurationError
from lousho_cli.ports.tool import Issue
from lousho_cli.tools.schema import SchemaTool

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}, "tags": {"default": []}}}},
        "unit": {"enum": ["c", "f"], "default": "c"},
    },
    "required": ["city"],
    "additionalProperties": False,
}


def tool(execute=lambda args: args, schema=SCHEMA, **more):
    return SchemaTool("weather", "Forecast", schema, execute, **more)


def test_defaults_are_filled_in_at_every_depth_and_the_given_arguments_stay():
    given = {"city": "x", "days": [{"n": 1}]}
    args, issues = tool().validate(given)
    assert issues == ()
    assert args == {"city": "x", "days": [{"n": 1, "tags": []}], "unit": "c"}
    assert given == {"city": "x", "days": [{"n": 1}]}
    args["days"][0]["tags"].append("changed")
    assert tool().validate(given)[0]["days"][0]["tags"] == []


def test_every_issue_has_a_dotted_path():
    _, issues = tool().validate({"days": [{"n": "one"}], "unit": "k", "extra": 1})
    assert [issue.path for issue in issues] == ["city", "days.0.n", "extra", "unit"]
    assert issues[0] == Issue("city", "is required")
    assert tool().validate([1])[1][0].path == "(root)"


def test_case_120_large_integers_keep_every_digit_also_when_sent_as_text():
    args, issues = tool(schema={"properties": {"id": {"type": "integer"}}}).validate({"id": "2712345678901234567", "x": 9007199254740993})
    assert (args, issues) == ({"id": 2712345678901234567, "x": 9007199254740993}, ())


def test_a_schema_that_is_none_is_refused_with_its_path():
    with pytest.raises(ConfigurationError) as refused:
        tool(schema={"properties": {"city": {"type": "strin"}}})
    assert refused.value.field == "properties.city.type"
    with pytest.raises(ConfigurationError, match="object"):
        tool(schema={"type": "array"})


def test_a_reference_to_nowhere_is_an_issue_not_a_crash():
    _, issues = tool(schema={"properties": {"a": {"$ref": "#/$defs/none"}}}).validate({"a": 1})
    assert [issue.path for issue in issues] == ["(root)"]


async def test_execute_takes_the_arguments_and_perhaps_the_context(call):
    async def both(args, ctx):
        return [args["city"], ctx.tool_call_id]

    assert await tool(lambda args: args["city"]).call({"city": "x"}, call.context) == "x"
    assert await tool(lambda args, ctx: ctx.tool_call_id).call({}, call.context) == "call_1"
    assert await tool(both).call({"city": "x"}, call.context) == ["x", "call_1"]


def test_arguments_nested_too_deeply_are_an_issue_not_a_crash():
    deep: list[object] = []
    for _ in range(900):
        deep = [deep]
    nested = {"properties": {"a": {"$ref": "#/$defs/T"}}, "$defs": {"T": {"type": "array", "items": {"$ref": "#/$defs/T"}}}}
    assert [issue.path for issue in tool(schema=nested).validate({"a": deep})[1]] == ["(root)"]
