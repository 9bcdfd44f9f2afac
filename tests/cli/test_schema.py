"""The schemas are valid, and what the commands print is valid by them."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from lousho_cli.app.schemas import NAMES, schema_of


@pytest.mark.parametrize("name", NAMES)
def test_every_schema_is_one(name: str) -> None:
    schema = schema_of(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert json.dumps(schema)


def test_what_is_printed_is_valid(lousho: Any, store: Any, trip: Any, waiting: Any) -> None:
    store("trip", trip())
    store("booking", waiting())
    for name, args in {
        "list": ["list"],
        "history": ["history", "trip"],
        "show": ["show", "booking"],
        "diff": ["diff", "trip", "booking"],
        "fsck": ["fsck"],
        "doctor": ["doctor"],
        "config": ["config"],
        "delete": ["delete", "trip", "--dry-run"],
        "drift": ["drift", "trip", "booking"],
        "prune": ["prune", "--older-than", "1d", "--dry-run"],
        "trim": ["trim", "trip", "--dry-run"],
        "init": ["init", "project"],
        "inputs": ["inputs", "trip"],
    }.items():
        ran = lousho(*args, "--json")
        jsonschema.validate(ran.data, schema_of(name))
        jsonschema.validate(json.loads(ran.out), schema_of("envelope"))
    jsonschema.validate(json.loads(lousho("show", "nope", "--json").out), schema_of("error"))
    for line in lousho("follow", "trip", "--json").out.splitlines():
        jsonschema.validate(json.loads(line), schema_of("follow"))


def test_what_commands_that_drive_print_is_valid(lousho: Any) -> None:
    lousho("run", "trip")
    lousho("run", "booking")
    for name, args in {
        "resume-all": ["resume", "--all"],
        "fork-run": ["fork", "trip", "--from-step", "1", "--run"],
        "abort": ["abort", "trip"],
    }.items():
        ran = lousho(*args, "--json")
        jsonschema.validate(ran.data, schema_of(name))
    (left,) = lousho("resume", "--all", "--json").data
    assert left["session"] == "booking"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([{"session": "x"}], schema_of("resume-all"))


@pytest.mark.parametrize("demo", ["trip", "booking"])
def test_events_are_valid_by_the_schema_of_their_type(lousho: Any, demo: str) -> None:
    *events, _ = [json.loads(line) for line in lousho("run", demo, "--output", "ndjson").out.splitlines()]
    schema = schema_of("event")
    judge = jsonschema.validators.validator_for(schema)
    judge.check_schema(schema)  # with all its kinds: once, as it takes longer than all events together
    for event in events:
        judge(schema).validate(event)
        (kind,) = [one for one in schema["$defs"].values() if one.get("properties", {}).get("type", {}).get("enum") == [event["type"]]]
        judge(kind | {"$defs": schema["$defs"]}).validate(event)
    wrong = {**events[0], "data": {}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema)


def test_a_schema_is_printed_bare_or_in_the_envelope(lousho: Any) -> None:
    assert json.loads(lousho("schema", "list").out) == schema_of("list") == lousho("schema", "list", "--json").data


def test_an_unknown_name_lists_those_there_are(lousho: Any) -> None:
    ran = lousho("schema", "lst")
    assert ran.code == 3
    assert "Did you mean list?" in ran.err
    assert "Did you mean" not in lousho("schema", "nope").err, "as little is near to it as for a command"
    assert lousho("schema").out.split() == list(NAMES)
