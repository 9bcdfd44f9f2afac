"""``define_tool``: from its parts and as a decorator, with a model, a schema or a signature for the arguments."""

from __future__ import annotations

import threading
from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel, SecretStr, field_validator

from lousho_cli import define_tool
from lousho_cli.errors import ConfigurationError
from lousho_cli.ports.tool import RunContext, RunInfo, ToolContext, takes_context


class Card(BaseModel):
    number: str
    valid: date


class Charge(BaseModel):
    """Charge the customer."""

    amount: int = Field(gt=0, description="in cents")
    currency: str = "EUR"
    cards: list[Card] = []


class Node(BaseModel):
    name: str
    under: list[Node] = []


SCHEMA = {"type": "object", "properties": {"amount": {"type": "integer"}, "currency": {"default": "EUR"}}, "required": ["amount"]}


async def test_a_model_is_what_execute_gets(call: Any) -> None:
    got: list[Any] = []

    async def run(args: Charge, ctx: ToolContext) -> str:
        got.append((args, ctx))
        return args.currency

    tool = define_tool(name="charge", description="Charge the customer", input=Charge, execute=run)
    args, issues = tool.validate({"amount": "5", "cards": [{"number": "1", "valid": "2030-01-31"}]})
    assert issues == ()
    assert args == {"amount": 5, "currency": "EUR", "cards": [{"number": "1", "valid": "2030-01-31"}]}
    assert await tool.call(args, call.context) == "EUR"
    assert got == [(Charge(amount=5, cards=[Card(number="1", valid=date(2030, 1, 31))]), call.context)]
    assert (tool.name, tool.description) == ("charge", "Charge the customer")
    assert tool.schema["properties"]["amount"] == {"type": "integer", "exclusiveMinimum": 0, "description": "in cents"}
    assert tool.schema["required"] == ["amount"]


async def test_a_schema_gives_a_dictionary(call: Any) -> None:
    tool = define_tool(name="charge", description="", input=SCHEMA, execute=lambda args, ctx: [args, ctx.tool_call_id])
    args, issues = tool.validate({"amount": 5})
    assert (args, issues) == ({"amount": 5, "currency": "EUR"}, ())
    assert await tool.call(args, call.context) == [{"amount": 5, "currency": "EUR"}, "call_1"]


async def test_without_input_the_parameters_are_the_arguments(call: Any) -> None:
    @define_tool
    def weather(city: str, ctx: ToolContext, days: int = 1) -> list[Any]:
        """Forecast for a city.

        Not told.
        """
        return [city, days, ctx.tool_call_id]

    assert (weather.name, weather.description, weather.replay, weather.needs_approval) == ("weather", "Forecast for a city.", None, False)
    assert set(weather.schema["properties"]) == {"city", "days"}
    assert await weather.call(weather.validate({"city": "Lisbon"})[0], call.context) == ["Lisbon", 1, "call_1"]


async def test_the_decorator_takes_the_same_options(call: Any) -> None:
    @define_tool(name="charge_card", input=Charge, replay="never", needs_approval=True)
    async def charge(args: Charge) -> int:
        """Charge the card."""
        return args.amount

    assert (charge.name, charge.description, charge.replay, charge.needs_approval) == ("charge_card", "Charge the card.", "never", True)
    assert await charge.call({"amount": 7}, call.context) == 7
    assert await charge.function(Charge(amount=9)) == 9, "the function stays reachable, for its own tests"


@pytest.mark.parametrize("described", [Charge, SCHEMA])
def test_de_060_issues_have_dotted_paths(described: Any) -> None:
    tool = define_tool(name="charge", description="", input=described, execute=lambda args: None)
    given: dict[str, Any] = {} if described is SCHEMA else {"cards": [{"number": "1"}]}
    paths = {issue.path: issue.message for issue in tool.validate(given)[1]}
    assert paths["amount"] == "is required"
    if described is Charge:
        assert paths["cards.0.valid"] == "is required"


def test_arguments_that_are_no_object_are_an_issue() -> None:
    for described in (Charge, SCHEMA):
        _, issues = define_tool(name="charge", description="", input=described, execute=lambda args: None).validate([1])
        assert issues[0].path == "(root)"


async def test_a_sync_function_runs_on_a_thread_of_its_own_and_an_async_one_on_the_loop(call: Any) -> None:
    async def on_loop(args: Any) -> int:
        return threading.get_ident()

    def on_thread(args: Any) -> int:
        return threading.get_ident()

    assert await define_tool(name="a", input=SCHEMA, execute=on_loop).call({}, call.context) == threading.get_ident()
    assert await define_tool(name="a", input=SCHEMA, execute=on_thread).call({}, call.context) != threading.get_ident()


async def test_the_approval_function_gets_the_arguments_as_execute_does_and_may_want_the_context(call: Any) -> None:
    def large(args: Charge) -> bool:
        return args.amount > 100

    async def in_this_session(args: dict[str, Any], ctx: ToolContext) -> Any:
        return {"deny": "not here"} if ctx.session_id == "trip" else "approve"

    by_model = define_tool(name="charge", input=Charge, execute=lambda args: None, needs_approval=large)
    assert (by_model.needs_approval({"amount": 101}), by_model.needs_approval({"amount": 1})) == (True, False)
    by_schema = define_tool(name="charge", input=SCHEMA, execute=lambda args: None, needs_approval=in_this_session)
    assert takes_context(by_schema.needs_approval)
    assert await by_schema.needs_approval({"amount": 1}, call.context) == {"deny": "not here"}


def test_a_default_of_a_second_parameter_is_not_taken_for_the_context() -> None:
    """``lambda args, limit=limit: …`` is how a loop binds a value."""
    assert not takes_context(lambda args, limit=5: None)
    assert takes_context(lambda args, ctx=None: None)
    assert takes_context(lambda args, anything: None)
    assert takes_context(lambda *given: None)
    assert not takes_context(lambda args: None)


async def test_what_a_model_writes_differently_than_it_reads_stays_as_it_came(call: Any) -> None:
    """A masked secret is not what was sent, and the tool must get what was sent."""

    class Login(BaseModel):
        password: SecretStr

    class Renamed(BaseModel):
        model_config = ConfigDict(populate_by_name=False)
        n: int = Field(validation_alias="count", serialization_alias="total")

    login = define_tool(name="login", input=Login, execute=lambda args: args.password.get_secret_value())
    args, issues = login.validate({"password": "hunter2"})
    assert (args, issues) == ({"password": "hunter2"}, ())
    assert await login.call(args, call.context) == "hunter2"
    renamed = define_tool(name="r", input=Renamed, execute=lambda args: args.n)
    assert await renamed.call(renamed.validate({"count": 3})[0], call.context) == 3


def test_a_model_that_refers_to_itself_has_an_object_at_the_root() -> None:
    tool = define_tool(name="tree", input=Node, execute=lambda args: None)
    assert tool.schema["type"] == "object"
    assert set(tool.schema["properties"]) == {"name", "under"}
    assert [issue.path for issue in tool.validate({"name": "a", "under": [{}]})[1]] == ["under.0.name"]


def test_a_validator_that_refuses_is_an_issue() -> None:
    class Even(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def even(cls, value: int) -> int:
            if value % 2:
                raise ValueError("must be even")
            return value

    (issue,) = define_tool(name="e", input=Even, execute=lambda args: None).validate({"n": 3})[1]
    assert (issue.path, "must be even" in issue.message) == ("n", True)


def no_parameters() -> None: ...


async def generates(args: Any) -> Any:
    yield args


class Plain:
    pass


class Numbers(RootModel[list[int]]):
    pass


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"name": "two words", "input": SCHEMA, "execute": lambda args: None}, "name", "two words"),
        ({"input": SCHEMA, "execute": lambda args: None}, "name", "<lambda>"),
        ({"name": "a", "input": "amount", "execute": lambda args: None}, "input", "amount"),
        ({"name": "a", "input": Plain, "execute": lambda args: None}, "input", "Plain"),
        ({"name": "a", "input": Numbers, "execute": lambda args: None}, "input", "Numbers"),
        ({"name": "a", "input": {"type": "array"}, "execute": lambda args: None}, "type", "array"),
        ({"name": "a", "input": SCHEMA, "execute": no_parameters}, "execute", "no_parameters"),
        ({"name": "a", "input": SCHEMA, "execute": lambda a, b, c: None}, "execute", "context"),
        ({"name": "a", "input": SCHEMA, "execute": generates}, "tools", "generator"),
        ({"name": "a", "input": SCHEMA, "execute": 5}, "tools", "no function"),
        ({"name": "a", "execute": lambda args, ctx: None}, "input", "nothing says what they are"),
        ({"name": "a", "input": SCHEMA, "execute": lambda args: None, "needs_approval": "ask"}, "needs_approval", "ask"),
        ({"name": "a", "input": SCHEMA, "execute": lambda args: None, "needs_approval": no_parameters}, "needs_approval", "no_parameters"),
        ({"name": "a", "input": SCHEMA, "execute": lambda args: None, "replay": "always"}, "replay", "always"),
    ],
)
def test_what_can_not_be_a_tool_is_refused_at_once(given: dict[str, Any], field: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        define_tool(**given)
    assert refused.value.field == field
    assert said in refused.value.detail


def test_a_function_given_twice_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="twice"):
        define_tool(no_parameters, execute=no_parameters)  # type: ignore[call-overload]


def test_a_run_makes_keys_of_log_scope_and_step() -> None:
    run = RunInfo("trip", "in-1", 3)
    assert run.idempotency_key("charge") == "trip:in-1:charge"
    assert run.idempotency_key("charge", "call_1") == "trip:call_1:charge"
    assert run.idempotency_key("charge", "") == "trip::charge"
    assert RunContext(run).run.epoch == 3
