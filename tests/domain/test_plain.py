"""Any value as data that JSON holds, and that is read back as it was written."""

from __future__ import annotations

import enum
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Any

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lousho_cli.domain.approvals import Question, digest_of
from lousho_cli.domain.messages import Message, message_from
from lousho_cli.domain.plain import json_text, plain, text_of


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Word(str):
    __slots__ = ()


class Colour(enum.IntEnum):
    RED = 1


class Number(float):
    pass


LONGEST = 10**4300 - 1


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("base", [10**5000, 2**20_000], ids=["ten", "two"])
def test_an_integer_past_what_is_read_back_becomes_its_digits(sign: int, base: int) -> None:
    text, altered = plain(sign * base)
    assert altered
    assert text.startswith("-") == (sign < 0)
    digits = text.lstrip("-")
    assert int(digits[:-4000]) * 10**4000 + int(digits[-4000:]) == base


def test_an_integer_up_to_the_limit_survives() -> None:
    for number in (10**30, -(2**63) - 1, 10**4299):
        assert plain(number) == (number, False)
        assert msgspec.json.decode(msgspec.json.encode(number)) == number
    value, _ = plain(LONGEST)
    assert value in (LONGEST, "9" * 4300)
    assert json.loads(json.dumps(value)) == value


def test_the_result_of_a_tool_may_hold_any_integer() -> None:
    content, altered = json_text({"n": 10**5000, "m": 1})
    assert altered
    assert json.loads(content) == {"n": "1" + "0" * 5000, "m": 1}


@pytest.mark.parametrize("value", [Word("w"), Colour.RED, Number(1.5), {Word("k"): Word("v")}], ids=repr)
def test_kinds_made_of_text_and_numbers_become_what_they_are_made_of(value: Any) -> None:
    clean, _ = plain(value)
    assert clean == value
    assert msgspec.json.decode(msgspec.json.encode(clean)) == value


def test_what_has_no_text_of_its_own_is_named() -> None:
    assert plain({"x": Unprintable()}) == ({"x": "<Unprintable>"}, True)
    assert text_of(Unprintable()) == "<Unprintable>"
    assert text_of(10**5000) == "1" + "0" * 5000


def test_a_text_of_anything_can_be_written() -> None:
    assert text_of(ValueError("bad \ud800")) == "bad \ufffd"
    assert plain({"a\ud800": 1, 2: "b"}) == ({"a\ufffd": 1, "2": "b"}, True)


def test_a_struct_with_what_json_does_not_know_is_made_plain() -> None:
    assert plain(Question(object, options=("a",)))[0]["text"] == "<class 'object'>"  # type: ignore[arg-type]
    assert plain(Question(10**5000))[1]  # type: ignore[arg-type]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates() | st.decimals(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers() | st.none(), inner) | st.tuples(inner, inner),
    max_leaves=12,
)


@given(anything)
def test_what_is_plain_is_read_back_as_it_is(value: Any) -> None:
    clean, _ = plain(value)
    assert msgspec.json.decode(msgspec.json.encode(clean)) == clean
    assert plain(clean) == (clean, False)


@pytest.mark.parametrize(
    "args", [{"on": date(2026, 1, 2)}, {"x": float("inf")}, {"x": "\ud800"}, {"n": 10**5000}, {1: 2}], ids=lambda a: str(*a)
)
def test_a_digest_is_that_of_the_arguments_as_they_are_stored(args: Any) -> None:
    assert digest_of(args) == digest_of(plain(args)[0])
    assert digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1}) != digest_of({"a": 1, "b": 3})


def test_a_digest_of_what_is_shared_without_end_is_that_of_what_is_stored() -> None:
    args: Any = {"x": 1}
    for _ in range(60):
        args = {"left": args, "right": args}
    assert digest_of(args) == digest_of(plain(args)[0])


def test_a_text_is_written_as_json_writes_it_whatever_it_holds() -> None:
    text = "".join(map(chr, (*range(0x3000), *range(0xD7F0, 0xD800), *range(0xE000, 0xE010), *range(0xFFF0, 0x10010), 0x10FFFF)))
    assert json_text(text) == (json.dumps(text, ensure_ascii=False), False)


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, -0.0, 0.1, None, True, ("x", {})], "é\n": 10**40},
        [1e-4, 9.9e-5, 1e15, 1e16, 1e22, 5e-324, 123456789012345.6],
        {1: "a", None: "b", False: "c", 1.5: "d"},
        [Word("x"), Colour.RED, Number(0.5)],
        [{"n": [[[[0.5]]]]}] * 5000,
    ],
    ids=["plain", "floats", "keys", "kinds", "many"],
)
def test_a_result_is_written_as_json_writes_it(value: Any) -> None:
    assert json_text(value) == (json.dumps(value, ensure_ascii=False, separators=(",", ":")), False)


def test_a_result_that_holds_itself_is_cut_off_where_it_does() -> None:
    value: list[Any] = []
    value += [value, {"a": value}]
    assert json_text(value) == ('["[itself]",{"a":"[itself]"}]', True)


def test_what_stands_in_a_value_twice_is_written_twice() -> None:
    same = [b"x"]
    assert json_text([same, {"a": same}, ((), ())]) == ('[[{"$bytes":"eA=="}],{"a":[{"$bytes":"eA=="}]},[[],[]]]', True)


def test_a_result_nested_too_deep_is_cut_off() -> None:
    value: list[Any] = [b"x"]
    for _ in range(200):
        value = [value]
    text, altered = json_text(value)
    assert altered
    assert "[too deep]" in text


@dataclass
class Pair:
    left: Any
    right: Any


class Model(pydantic.BaseModel):
    left: Any
    right: Any


class Held(msgspec.Struct):
    left: Any
    right: Any


def of_list(left: Any, right: Any) -> Any:
    return [left, right]


def of_dict(left: Any, right: Any) -> Any:
    return {"left": left, "right": right}


@pytest.mark.parametrize("made", [of_list, of_dict, Pair, lambda left, right: Model.model_construct(left=left, right=right), Held])
def test_a_result_whose_parts_are_shared_without_end_has_each_of_them_once(made: Callable[[Any, Any], Any]) -> None:
    value: Any = ["x"]
    for _ in range(40):
        value = made(value, value)
    text, altered = json_text(value)
    assert altered
    assert text.count("again") == 40
    assert json.loads(text) == plain(value)[0]


def test_parts_that_hold_each_other_are_written_once_each() -> None:
    parts: list[list[Any]] = [[] for _ in range(40)]
    for part in parts:
        part += (other for other in parts if other is not part)
    text, altered = json_text(parts[0])
    assert altered
    assert len(text) < 40 * 40 * 12


def test_what_stands_in_a_long_result_many_times_is_written_each_time() -> None:
    row = {"name": "n" * 100, "of": [1, 2, ()]}
    value = [{"id": number, "row": row} for number in range(60_000)]
    text, altered = json_text(value)
    assert not altered
    assert text == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def test_a_message_whose_metadata_are_shared_without_end_can_be_stored() -> None:
    value: Any = {"x": 1}
    for _ in range(60):
        value = {"left": value, "right": value}
    for said in (Message("user", "hi", metadata={"of": value}), {"role": "user", "content": "hi", "metadata": {"of": value}}):
        kept = message_from(said)
        assert kept.text == "hi"
        assert len(msgspec.json.encode(kept)) < 3_000


def test_what_a_value_that_holds_itself_holds_twice_is_written_twice() -> None:
    town = {"city": "B"}
    tree = Pair([], None)
    tree.left += [Pair(town, tree), Pair(town, tree)]
    kid = '{"left":{"city":"B"},"right":"[itself]"}'
    assert json_text(tree) == (f'{{"left":[{kid},{kid}],"right":null}}', True)


def test_parts_that_know_the_one_before_them_are_written_down_to_a_depth() -> None:
    chain = [{"n": number, "before": None, "next": None} for number in range(20_000)]
    for one, following in pairwise(chain):
        one["next"], following["before"] = following, one
    text, altered = json_text(chain[0])
    assert altered
    assert (text.count('"before":"[itself]"'), text.count("[too deep]")) == (99, 1)


def test_what_has_no_parts_is_written_wherever_it_stands() -> None:
    value: Any = [Day.FIRST, date(2026, 1, 2), [], {}]
    for _ in range(40):
        value = [value, value, Day.FIRST, date(2026, 1, 2), [], {}]
    text, altered = json_text(value)
    assert altered
    assert text.count("again") == 40
    assert (text.count("Day.FIRST"), text.count("2026-01-02"), text.count("[]"), text.count("{}")) == (41, 41, 41, 41)


class Day(enum.Enum):
    FIRST = 1


class Hiding(pydantic.BaseModel):
    name: str
    key: str = pydantic.Field("sk-hidden", exclude=True)
    more: Any = None


def test_a_field_that_a_model_leaves_out_stays_out_where_its_parts_are_written_once() -> None:
    value: Any = ["x"]
    for _ in range(40):
        value = [value, value]
    text, _ = json_text(Hiding.model_construct(name="n", more=value))
    assert text.startswith('{"name":"n","more":[[')
    assert "sk-hidden" not in text
