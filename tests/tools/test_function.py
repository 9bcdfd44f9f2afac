from __future__ import annotations

import asyncio
import functools
import sys
import textwrap
import threading
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from lousho_cli.domain.plain import json_text
from lousho_cli.errors import ConfigurationError
from lousho_cli.ports.tool import Issue, ToolContext
from lousho_cli.tools.function import function_tool


class Size(Enum):
    small = "s"
    large = "l"


class Guest(BaseModel):
    name: str
    born: date | None = None


def test_the_schema_comes_from_the_signature():
    def book(city: str, guests: Annotated[int, Field(ge=1, description="how many")] = 2, kind: Literal["in", "out"] = "in") -> str:
        """Books a table.

        And more that no model needs to know.
        """
        return city

    tool = function_tool(book)
    assert (tool.name, tool.description) == ("book", "Books a table.")
    assert tool.schema == {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "guests": {"type": "integer", "minimum": 1, "default": 2, "description": "how many"},
            "kind": {"type": "string", "enum": ["in", "out"], "default": "in"},
        },
        "required": ["city"],
        "additionalProperties": False,
    }


def test_parameters_may_have_names_that_pydantic_uses_itself():
    def odd(schema: int, json: str, title: str = "t", model_config: bool = False, _hidden: int = 1) -> None: ...

    tool = function_tool(odd)
    assert list(tool.schema["properties"]) == ["schema", "json", "title", "model_config", "_hidden"]
    assert tool.validate({"schema": 1, "json": "x"})[0] == {"schema": 1, "json": "x", "title": "t", "model_config": False, "_hidden": 1}


def test_validation_applies_defaults_and_coercions_and_gives_json_data():
    def stay(at: date, size: Size, guests: list[Guest], nights: int = 1) -> None: ...

    args, issues = function_tool(stay).validate({"at": "2026-03-01", "size": "l", "guests": [{"name": "Ada"}], "nights": "3"})
    assert issues == ()
    assert args == {"at": "2026-03-01", "size": "l", "guests": [{"name": "Ada", "born": None}], "nights": 3}


async def test_the_function_gets_python_values(call):
    def stay(at: date, size: Size, guests: list[Guest]) -> list[object]:
        return [at, size, guests[0]]

    tool = function_tool(stay)
    args, _ = tool.validate({"at": "2026-03-01", "size": "l", "guests": [{"name": "Ada", "born": "2000-01-02"}]})
    assert await tool.call(args, call.context) == [date(2026, 3, 1), Size.large, Guest(name="Ada", born=date(2000, 1, 2))]


def test_each_issue_has_a_dotted_path():
    def stay(guests: list[Guest], nights: int) -> None: ...

    tool = function_tool(stay)
    args, issues = tool.validate({"guests": [{"name": 1}], "nigths": 2})
    assert args == {"guests": [{"name": 1}], "nigths": 2}
    assert [issue.path for issue in issues] == ["guests.0.name", "nights", "nigths"]
    assert Issue("nights", "is required") in issues
    assert tool.validate([1])[1] == (Issue("(root)", "must be an object with the arguments by name"),)


def test_no_arguments_at_all_are_an_empty_object():
    def now() -> int:
        return 1

    assert function_tool(now).validate(None) == ({}, ())


async def test_case_120_large_integers_keep_every_digit(call):
    def look(id: int, x: int) -> int:
        return id + x

    tool = function_tool(look)
    args, issues = tool.validate({"id": "2712345678901234567", "x": 9007199254740993})
    assert (args, issues) == ({"id": 2712345678901234567, "x": 9007199254740993}, ())
    huge = 10**200 + 1
    assert tool.validate({"id": huge, "x": str(huge)})[0] == {"id": huge, "x": huge}
    assert await tool.call({"id": huge, "x": 1}, call.context) == huge + 1


@pytest.mark.parametrize("written", ["typed", "by name"])
async def test_a_parameter_for_the_context_is_not_in_the_schema(written, call):
    def typed(city: str, whatever: ToolContext) -> str:
        return city + whatever.tool_call_id

    def by_name(city: str, ctx) -> str:  # type: ignore[no-untyped-def]
        return city + ctx.tool_call_id

    tool = function_tool(typed if written == "typed" else by_name)
    assert list(tool.schema["properties"]) == ["city"]
    assert await tool.call({"city": "x"}, call.context) == "xcall_1"


def test_a_typed_parameter_called_context_is_an_argument():
    def ask(context: str) -> str:
        return context

    assert list(function_tool(ask).schema["properties"]) == ["context"]


def test_a_return_type_that_can_not_be_read_does_not_matter():
    def f(city: str) -> OnlyForTypeCheckers: ...  # noqa: F821

    assert list(function_tool(f).schema["properties"]) == ["city"]


async def test_decorated_bound_partial_and_callable_objects_are_functions_too(call):
    def loud(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs).upper()

        return wrapper

    @loud
    def weather(city: str, day: int = 1) -> str:
        """Forecast."""
        return f"{city} {day}"

    class Service:
        def look(self, city: str) -> str:
            return city

        def __call__(self, city: str) -> str:
            return city * 2

    tool = function_tool(weather)
    assert (tool.name, tool.description, list(tool.schema["properties"])) == ("weather", "Forecast.", ["city", "day"])
    assert await tool.call({"city": "porto"}, call.context) == "PORTO 1"
    assert await function_tool(Service().look).call({"city": "x"}, call.context) == "x"
    assert await function_tool(Service(), name="double").call({"city": "x"}, call.context) == "xx"
    assert await function_tool(functools.partial(weather, day=3)).call({"city": "x"}, call.context) == "X 3"


async def test_an_async_function_behind_a_plain_decorator_is_awaited(call):
    def plain(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs)

        return wrapper

    @plain
    async def weather(city: str) -> str:
        await asyncio.sleep(0)
        return city

    assert await function_tool(weather).call({"city": "x"}, call.context) == "x"


async def test_positional_only_and_open_parameters(call):
    def f(a: int, /, b: int = 2, **more: int) -> tuple[object, ...]:
        return a, b, more

    tool = function_tool(f)
    args, issues = tool.validate({"a": 1, "c": 3})
    assert (args, issues) == ({"a": 1, "b": 2, "c": 3}, ())
    assert await tool.call(args, call.context) == (1, 2, {"c": 3})


async def test_async_functions_run_on_the_loop_and_others_on_one_kept_thread(call):
    async def on_loop() -> str:
        return threading.current_thread().name

    def on_thread() -> int:
        return threading.get_ident()

    assert await function_tool(on_loop).call({}, call.context) == threading.current_thread().name
    idents = {await function_tool(on_thread).call({}, call.context) for _ in range(20)}
    assert len(idents) == 1 and threading.get_ident() not in idents


@pytest.mark.parametrize("error", [ValueError("no"), KeyError("x"), StopIteration()])
async def test_what_the_function_raises_comes_out(error, call):
    def f() -> None:
        raise error

    with pytest.raises(RuntimeError if isinstance(error, StopIteration) else type(error)):
        await function_tool(f).call({}, call.context)


@dataclass
class Forecast:
    city: str
    guests: tuple[Guest, ...]


async def test_models_and_dataclasses_come_back_as_objects(call):
    def look() -> list[Forecast]:
        return [Forecast("Lisbon", (Guest(name="Ada", born=date(2000, 1, 2)),))]

    result = await function_tool(look).call({}, call.context)
    assert json_text(result) == ('[{"city":"Lisbon","guests":[{"name":"Ada","born":"2000-01-02"}]}]', False)


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_tool_that_exits_fails_alone(kind, call):
    def f() -> None:
        raise SystemExit(3)

    async def g() -> None:
        raise SystemExit(3)

    with pytest.raises(RuntimeError, match="SystemExit"):
        await function_tool(f if kind == "sync" else g).call({}, call.context)


def test_what_can_not_be_a_tool_is_refused_when_it_is_made():
    def generator():
        yield 1

    def stars(*cities: str) -> None: ...

    def unknown(x: NoSuchType) -> None: ...  # noqa: F821

    def handle(x: threading.Thread) -> None: ...

    for function, words in [
        (lambda: 1, "name of a tool"),
        (generator, "generator"),
        (stars, r"\*args"),
        (unknown, "NoSuchType"),
        (handle, "JSON"),
        (3, "no function"),
    ]:
        with pytest.raises(ConfigurationError, match=words):
            function_tool(function)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="name of a tool"):
        function_tool(lambda: 1, name="no spaces")


def test_a_class_method_is_a_tool():
    class Shop:
        name = "shop"

        @classmethod
        def find(cls, n: int) -> str:
            return f"{cls.name} {n}"

    tool = function_tool(Shop.find)
    assert (tool.name, tool.schema["properties"]) == ("find", {"n": {"type": "integer"}})


@pytest.mark.skipif(sys.version_info < (3, 12), reason="its syntax began with Python 3.12")
@pytest.mark.parametrize("name", ["tool", "method", "called", "inherited", "of_class"])
def test_type_parameters_are_known_where_annotations_are_postponed(name):
    written = """
        from __future__ import annotations

        type City = Literal["Lisbon", "Porto"]

        def tool[T: int](days: list[T], city: City) -> T: ...

        class Tools[T: int]:
            def method(self, days: list[T], city: City) -> T: ...

            def __call__(self, days: list[T], city: City) -> T: ...

            @classmethod
            def of_class(cls, days: list[T], city: City) -> T: ...

        class More(Tools[int]): ...

        method, called, inherited, of_class = Tools().method, Tools(), More().method, Tools.of_class
    """
    scope: dict[str, Any] = {"Literal": Literal, "__name__": __name__}
    exec(textwrap.dedent(written), scope)
    schema = function_tool(scope[name], name=name).schema
    assert schema["properties"]["days"] == {"type": "array", "items": {"type": "integer"}}
    assert schema["$defs"]["City"] == {"type": "string", "enum": ["Lisbon", "Porto"]}


def test_arguments_that_json_can_not_hold_are_an_issue_not_a_crash():
    def f(x: Any) -> None: ...

    deep: list[Any] = []
    for _ in range(900):
        deep = [deep]
    for args in ({"x": deep}, {"x": {"\ud800": 1}}):
        assert [issue.path for issue in function_tool(f).validate(args)[1]] == ["(root)"]
