"""Names for the model, settings from Python, approval and replay, results: what is pure."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lousho_cli.errors import ConfigurationError
from lousho_cli.tools.mcp.approval import Hints, needs_approval, replay
from lousho_cli.tools.mcp.names import tool_names
from lousho_cli.tools.mcp.results import value_of
from lousho_cli.tools.mcp.spec import spec_from

VALID = set(string.ascii_letters + string.digits + "_-")


@given(st.lists(st.text(max_size=80), max_size=30), st.randoms())
def test_names_are_valid_unlike_and_free_of_order(tools: list[str], random: object) -> None:
    names = tool_names("fs", tools)
    assert set(names) == set(tools)
    assert len(set(names.values())) == len(names)
    assert all(name.startswith("fs__") and len(name) <= 64 and set(name) <= VALID for name in names.values())
    shuffled = sorted(tools, key=lambda _: random.random())  # type: ignore[attr-defined]
    assert tool_names("fs", shuffled) == names


def test_a_good_name_stays_even_beside_one_that_becomes_like_it() -> None:
    names = tool_names("fs", ["a_b", "a b", "read"])
    assert (names["a_b"], names["read"]) == ("fs__a_b", "fs__read")
    assert names["a b"].startswith("fs__a_b-")


SERVER = {"command": "x"}


@pytest.mark.parametrize(
    ("approval", "hints", "asks"),
    [
        ("auto", Hints(), True),
        ("auto", Hints(read_only=True), False),
        ("auto", Hints(read_only=False, destructive=True), True),
        ("auto", Hints(destructive=False), False),
        ("always", Hints(read_only=True), True),
        ("never", Hints(destructive=True), False),
        ({"rm": "always"}, Hints(read_only=True), True),
        ({"other": "never"}, Hints(), True),
        ({"rm": "never"}, Hints(), False),
    ],
)
def test_who_is_asked(approval: object, hints: Hints, asks: bool) -> None:
    assert needs_approval(spec_from("fs", {**SERVER, "approval": approval}), "rm", hints) is asks


def test_what_a_cut_call_means() -> None:
    plain, never = spec_from("fs", SERVER), spec_from("fs", {**SERVER, "replay": "never"})
    assert [replay(plain, hints) for hints in (Hints(), Hints(read_only=True), Hints(idempotent=True))] == [None, "safe", "safe"]
    assert replay(never, Hints(read_only=True)) == "never"


@pytest.mark.parametrize(
    ("name", "value", "field", "said"),
    [
        ("fs", {}, "mcp_servers.fs", "give command or url, one of the two"),
        ("fs", {"command": "x", "url": "http://y"}, "mcp_servers.fs.url", "not both"),
        ("fs", {"url": "http://y", "args": ["a"]}, "mcp_servers.fs.args", "is for a server with a command"),
        ("fs", {"command": "x", "headers": {"a": "b"}}, "mcp_servers.fs.headers", "is for a server with a url"),
        ("fs", {"url": "ftp://y"}, "mcp_servers.fs.url", "http:// or https://"),
        ("fs", {"url": "http://y", "headers": {"a b": "c"}}, "mcp_servers.fs.headers.a b", "is no name of a header"),
        (
            "fs",
            {"url": "http://y", "headers": {"A": "1"}, "headers_env": {"a": "B"}},
            "mcp_servers.fs.headers_env.a",
            "stands in headers too",
        ),
        ("fs", {"commnd": "x"}, "mcp_servers.fs.commnd", "Did you mean command?"),
        ("fs", {"command": "x", "approval": "sometimes"}, "mcp_servers.fs.approval", "sometimes"),
        ("fs", {"command": "x", "timeout_ms": 0}, "mcp_servers.fs.timeout_ms", "from 1 up"),
        ("fs", {"command": 3}, "mcp_servers.fs.command", "Expected `str`"),
        ("fs", "npx", "mcp_servers.fs", "Give a dictionary"),
        ("a__b", {"command": "x"}, "mcp_servers.a__b", "the name of a server"),
    ],
)
def test_a_wrong_setting_is_named(name: str, value: object, field: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        spec_from(name, value)
    assert caught.value.field == field
    assert said in str(caught.value)


def test_structured_content_stands_in_place_of_the_text_that_repeats_it() -> None:
    def text(said: str) -> list[dict[str, str]]:
        return [{"type": "text", "text": said}]

    assert value_of({"content": text('{"a": 1}'), "structuredContent": {"a": 1}}) == {"a": 1}
    assert value_of({"content": text("7"), "structuredContent": {"result": 7}}) == {"result": 7}
    assert value_of({"content": text("a\nb"), "structuredContent": {"content": "a\nb"}}) == {"content": "a\nb"}
    assert value_of({"content": [*text("x"), *text("y")], "structuredContent": {"result": ["x", "y"]}}) == {"result": ["x", "y"]}
    assert value_of({"content": [], "structuredContent": {"a": 1}}) == {"a": 1}
    assert value_of({"content": text("other"), "structuredContent": {"a": 1}}) == {"content": "other", "structuredContent": {"a": 1}}
    assert value_of({"content": text("just this")}) == "just this"
    assert value_of({"content": [{"type": "hologram"}]}) == "[hologram content, not shown]"
