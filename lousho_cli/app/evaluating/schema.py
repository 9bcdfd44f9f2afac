"""An eval file as pydantic models: what may stand where. Strict, as agent files are."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from lousho_cli.app.agent_schema import Provider
from lousho_cli.core.matching import Mode


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Said(_Part):
    """A part in which what is written is meant: a name with nothing behind it would look at nothing, and pass."""

    @field_validator("*", mode="before")
    @classmethod
    def _not_empty(cls, value: Any) -> Any:
        if value is None:
            raise ValueError("says nothing; write what is meant, or leave it out")
        return value


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _calls(value: Any) -> Any:
    return [{"name": one} if isinstance(one, str) else one for one in _listed(value)]


def _replies(value: Any) -> Any:
    return [{"contains": one} if isinstance(one, str) else one for one in _listed(value)]


def _pattern(text: str) -> str:
    import re

    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"is no regular expression: {error}") from None
    return text


Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[list[Text], BeforeValidator(_listed), Field(min_length=1)]


class Made(_Part):
    """A call as it should have been made."""

    name: Text
    args: Annotated[dict[str, Any], Field(description="all of its arguments")] = {}


class Called(_Said):
    """A call that has to be there."""

    name: Text
    args: Annotated[dict[str, Any], Field(description="these at least")] | None = None
    times: Annotated[int, Field(ge=0, description="exactly so often; at least once where left out")] | None = None


class Trajectory(_Part):
    """All calls of the case."""

    calls: list[Made]
    mode: Mode = "strict"


class Reply(_Said):
    """The last answer."""

    equals: str | None = None
    contains: Text | None = None
    not_contains: Text | None = None
    matches: Annotated[Text, AfterValidator(_pattern)] | None = None

    @model_validator(mode="after")
    def _something(self) -> Reply:
        if not self.model_fields_set:
            raise ValueError("says nothing; write equals, contains, not_contains or matches")
        return self


class Expect(_Said):
    """What must hold when the case has ended."""

    completed: Annotated[bool, Field(description="it came to an answer; true where not said")] | None = None
    reply: Annotated[list[Reply], BeforeValidator(_replies), Field(min_length=1)] | None = None
    called_tool: Annotated[list[Called], BeforeValidator(_calls), Field(min_length=1)] | None = None
    not_called_tool: Texts | None = None
    tool_order: Annotated[Texts, Field(description="in this order; others may come in between")] | None = None
    trajectory: Trajectory | None = None
    max_steps: Annotated[int, Field(ge=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_cost_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    judge: Annotated[Texts, Field(description="rubrics that a model grades by")] | None = None


class ToolResult(_Part):
    """What a call gives; its tool does not run."""

    name: Text
    args: Annotated[dict[str, Any], Field(description="for calls with these at least; for any where left out")] | None = None
    result: Any
    is_error: Annotated[bool, Field(description="the call failed, and this is its error")] = False


class Case(_Part):
    """One case."""

    name: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$")]
    input: Annotated[Texts, Field(description="what is said to the agent; several one after the other")]
    tags: Texts | None = None
    approve: Annotated[bool, Field(description="approve each call that needs a person, as it comes")] = False
    expect: Expect = Expect()
    soft: Annotated[Expect, Field(description="the same; a miss is told and fails nothing")] = Expect()
    tool_results: Annotated[list[ToolResult], Field(description="what calls give; a tool named here does not run")] | None = None
    stop_after: Annotated[int, Field(ge=1, description="the steps that are all of the case")] | None = None
    ignore: Annotated[Texts, Field(description="arguments that never drift: at, filter.since, weather:at")] | None = None


class EvalModel(_Part):
    """An eval file."""

    version: Literal[1] = 1
    name: Annotated[Text, Field(description="as the file where left out")] | None = None
    agent: Annotated[Text, Field(description="an agent file, a folder, module.py:name or a demo, from the folder of this file")]
    judge: Annotated[Provider, Field(description="the model that grades, as the provider of an agent file")] | None = None
    tags: Texts | None = None
    expect: Annotated[Expect, Field(description="for every case, where it says nothing else")] = Expect()
    soft: Expect = Expect()
    ignore: Texts | None = None
    cases: Annotated[list[Case], Field(min_length=1)]


_AS_TEXT = ("called_tool", "reply")
_MEANT = tuple(part.__name__ for part in _Said.__subclasses__())


def eval_file_json_schema() -> dict[str, Any]:
    """The JSON Schema of an eval file, with all that may be written shorter: one for a list of one, a name for a call."""
    schema = EvalModel.model_json_schema()
    for title, model in (("", schema), *schema["$defs"].items()):
        for name, given in model.get("properties", {}).items():
            model["properties"][name] = _shorter(name, _meant(given) if title in _MEANT else given)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "lousho eval file"}


def _meant(given: dict[str, Any]) -> dict[str, Any]:
    """A field of a part in which nothing may be left empty."""
    kinds = [kind for kind in given.get("anyOf", ()) if kind != {"type": "null"}]
    rest = {key: value for key, value in given.items() if key != "anyOf" and not (key == "default" and value is None)}
    return rest | ({"anyOf": kinds} if len(kinds) > 1 else kinds[0] if kinds else {})


def _shorter(name: str, given: dict[str, Any]) -> dict[str, Any]:
    kinds = given.get("anyOf", [{key: value for key, value in given.items() if key != "description"}])
    listed = next((kind for kind in kinds if kind.get("type") == "array"), None)
    if listed is None or name in ("cases", "calls", "tool_results"):
        return given
    one = {"anyOf": [listed["items"], {"type": "string", "minLength": 1}]} if name in _AS_TEXT else listed["items"]
    rest = {key: value for key, value in given.items() if key not in listed and key != "anyOf"}
    return {**rest, "anyOf": [one, {**listed, "items": one}, *(kind for kind in kinds if kind is not listed)]}
