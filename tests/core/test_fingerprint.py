from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from lousho_cli.core.fingerprint import compare_fingerprints, fingerprint
from lousho_cli.domain.agent import Fingerprint, ModelChange

WEATHER: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}, "day": {"type": "integer"}}, "required": ["city"]}
TOOLS: dict[str, dict[str, Any]] = {"weather": WEATHER, "book": {"type": "object"}}
PROMPT = "You plan trips."
SAVED = fingerprint("gpt-5-mini", TOOLS, PROMPT)


def test_de_118_a_fingerprint_has_the_model_a_hash_per_tool_and_one_of_the_instructions() -> None:
    assert SAVED.model == "gpt-5-mini"
    assert set(SAVED.tools) == {"weather", "book"}
    assert SAVED.tools["weather"] != SAVED.tools["book"]
    hashes = [SAVED.hash, SAVED.instructions, *SAVED.tools.values()]
    assert all(re.fullmatch("[0-9a-f]{16}", value) for value in hashes)
    assert msgspec.json.decode(msgspec.json.encode(SAVED), type=Fingerprint) == SAVED


def test_de_119_the_hash_is_16_hex_digits_and_no_order_matters() -> None:
    turned = {"book": TOOLS["book"], "weather": dict(reversed(WEATHER.items()))}
    other = fingerprint("gpt-5-mini", turned, PROMPT)
    assert re.fullmatch("[0-9a-f]{16}", other.hash)
    assert other == SAVED
    assert list(other.tools) == sorted(TOOLS)


def test_de_120_values_that_are_code_do_not_enter_the_hash() -> None:
    def first() -> None: ...
    def second() -> None: ...

    one, two = (fingerprint(None, {"t": {"type": "object", "run": code}}, "") for code in (first, second))
    assert one == two


def test_a_missing_schema_counts_as_an_empty_one() -> None:
    assert fingerprint(None, {"t": None}, "") == fingerprint(None, {"t": {}}, "")


def test_an_unknown_model_is_not_the_empty_name() -> None:
    assert fingerprint(None, {}, "").hash != fingerprint("", {}, "").hash


def test_a_lone_surrogate_in_the_instructions_is_hashed() -> None:
    assert fingerprint(None, {}, "a\ud800").instructions != fingerprint(None, {}, "a\udfff").instructions


def test_de_127_without_a_saved_fingerprint_nothing_is_compared() -> None:
    assert compare_fingerprints(None, SAVED) is None


def test_de_128_other_versions_are_not_compared() -> None:
    old = msgspec.structs.replace(fingerprint("other", {}, "else"), version=0)
    assert compare_fingerprints(old, SAVED) is None


def test_equal_fingerprints_do_not_drift() -> None:
    assert compare_fingerprints(SAVED, fingerprint("gpt-5-mini", TOOLS, PROMPT)) is None


@pytest.mark.parametrize(
    ("current", "field", "value", "said"),
    [
        (fingerprint("big", TOOLS, PROMPT), "model", ModelChange("gpt-5-mini", "big"), "model gpt-5-mini -> big"),
        (fingerprint(None, TOOLS, PROMPT), "model", ModelChange("gpt-5-mini", None), "model gpt-5-mini -> unknown"),
        (fingerprint("gpt-5-mini", {**TOOLS, "add": {}}, PROMPT), "tools_added", ("add",), "tools added: add"),
        (fingerprint("gpt-5-mini", {"book": {"type": "object"}}, PROMPT), "tools_removed", ("weather",), "tools removed: weather"),
        (fingerprint("gpt-5-mini", {**TOOLS, "book": {}}, PROMPT), "tools_changed", ("book",), "tools changed (input schema): book"),
        (fingerprint("gpt-5-mini", TOOLS, "You plan walks."), "instructions", True, "instructions changed"),
    ],
)
def test_de_188_each_change_counts_alone_and_is_named_alone(current: Fingerprint, field: str, value: object, said: str) -> None:
    drift = compare_fingerprints(SAVED, current)
    assert drift is not None
    assert getattr(drift, field) == value
    assert drift.describe() == said
    others = {name for name in drift.__struct_fields__ if name != field}
    assert not any(getattr(drift, name) for name in others)


def test_de_188_changed_order_is_no_drift() -> None:
    assert compare_fingerprints(SAVED, fingerprint("gpt-5-mini", dict(reversed(TOOLS.items())), PROMPT)) is None


def test_names_of_a_drift_are_sorted() -> None:
    drift = compare_fingerprints(fingerprint(None, {}, ""), fingerprint(None, {"z": {}, "a": {}, "m": {}}, ""))
    assert drift is not None
    assert drift.tools_added == ("a", "m", "z")
