"""The file: what it looks like, and what becomes of one that can not be read or written."""

from __future__ import annotations

import json
import os
import resource
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lousho_cli import CassetteError, cassette
from lousho_cli.domain.messages import FilePart, ImagePart, Message, TextPart
from lousho_cli.ports.provider import ModelRequest

ANOTHER = {
    "version": 1,
    "sdkVersion": "9.9.9",
    "recordedAt": "2026-01-01T00:00:00.000Z",
    "provider": {"name": "elsewhere"},
    "entries": [
        {
            "kind": "stream",
            "request": {
                "model": "m-1",
                "messages": [
                    {"role": "user", "content": "hi"},
                    {"role": "assistant", "content": "", "toolCalls": [{"name": "look", "args": {"b": 1, "a": 2}}]},
                    {"role": "tool", "content": "sand", "toolName": "look"},
                ],
                "tools": [],
                "temperature": 0.2,
                "maxTokens": 100,
            },
            "response": {
                "text": "Sand it is.",
                "finishReason": "stop",
                "usage": {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7},
                "toolCalls": [{"id": "c9", "name": "look", "args": {"n": 1}}],
                "chunks": [{"delayMs": 3.5, "chunk": {"type": "text", "text": "Sand "}}, {"delayMs": 1, "chunk": {"done": True}}],
            },
        },
        {
            "kind": "stream",
            "request": {
                "model": "m-1",
                "messages": [{"role": "user", "content": "fail"}],
                "tools": [],
                "temperature": None,
                "maxTokens": None,
            },
            "error": {"name": "APIStatusError", "message": "529 overloaded"},
        },
        {
            "kind": "generate",
            "request": {
                "model": "m-1",
                "messages": [{"role": "user", "content": "whole"}],
                "tools": [],
                "temperature": None,
                "maxTokens": None,
            },
            "response": {"text": "whole", "finishReason": "stop"},
        },
    ],
}


async def test_what_the_file_looks_like(bench: Any, tape: Path) -> None:
    old = os.umask(0)
    try:
        await bench.recorded(tape, "one", "two")
    finally:
        os.umask(old)
    text = tape.read_text()
    assert text.startswith('{\n  "version": 1,\n')
    assert text.endswith("}\n")
    file = json.loads(text)
    assert file["provider"] == {"name": "written", "defaultModel": "m-1"}
    assert [entry["kind"] for entry in file["entries"]] == ["stream", "stream"]
    assert file["entries"][1]["request"] == {
        "model": "m-1",
        "messages": [{"role": "user", "content": "two"}],
        "tools": [],
        "temperature": None,
        "maxTokens": None,
    }
    assert stat.S_IMODE(tape.stat().st_mode) == 0o600
    assert stat.S_IMODE(tape.parent.stat().st_mode) == 0o700
    assert os.listdir(tape.parent) == [tape.name]


async def test_a_file_of_another_program_is_played(bench: Any, tape: Path) -> None:
    from lousho_cli.domain.messages import ToolCall

    tape.parent.mkdir()
    tape.write_text(json.dumps(ANOTHER))
    provider = cassette(None, tape)
    messages = (
        Message("user", "hi"),
        Message("assistant", tool_calls=(ToolCall("c1", "look", '{"a": 2, "b": 1}'),)),
        Message("tool", "sand", tool_call_id="c1", tool_name="look"),
    )
    piece, answer = await bench.events(provider, ModelRequest(messages, (), "m-1"))
    assert piece.text == "Sand it is.", "not all of its pieces can be read, so the text comes at once"
    assert (answer.message.text, answer.usage.input_tokens, answer.message.tool_calls[0].arguments) == ("Sand it is.", 3, '{"n":1}')
    with pytest.raises(Exception, match="529 overloaded") as caught:
        await bench.said(provider, "fail")
    assert type(caught.value).__name__ == "APIStatusError"
    with pytest.raises(CassetteError, match='kind is "stream", recorded was "generate"'):
        await bench.said(provider, "whole")


async def test_attachments_become_a_line(bench: Any, tape: Path) -> None:
    parts = (
        TextPart("Look:"),
        ImagePart("https://pictures.test/a.png"),
        ImagePart("data:image/png;base64,aGVsbG8="),
        ImagePart("aGVsbG8=", "image/jpeg"),
        FilePart("aGVsbG8=", "text/plain", "a.txt"),
    )
    await bench.events(cassette(bench.Model("ok"), tape), ModelRequest((Message("user", parts),), (), "m-1"))
    assert bench.content(tape)["entries"][0]["request"]["messages"][0] == {
        "role": "user",
        "content": "Look:",
        "attachments": [
            "image https://pictures.test/a.png",
            "image image/png fnv1a:4f9f2cab",
            "image image/jpeg fnv1a:4f9f2cab",
            "file text/plain a.txt fnv1a:4f9f2cab",
        ],
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not JSON"),
        ('{"version": 1, "entries": [', "is not JSON"),
        ("\ufeff{}", "is malformed: Object missing required field `version`"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "is malformed: Expected `object`, got `array`"),
        ('{"entries": []}', "is malformed: Object missing required field `version`"),
        ('{"version": true, "entries": []}', "`$.version`"),
        (json.dumps(ANOTHER | {"version": 2}), "is of version 2, and this lousho reads version 1"),
        ('{"version": 1.5}', "is of version 1.5"),
        (json.dumps(ANOTHER).replace('"role": "tool"', '"role": 7'), "`$.entries[0].request.messages[2].role`"),
        (json.dumps(ANOTHER).replace('"kind": "generate"', '"kind": "guess"'), "`$.entries[2].kind`"),
        (json.dumps(ANOTHER).replace('"error"', '"errors"'), "`$.entries[1]`"),
        (json.dumps(ANOTHER).replace('"error": {', '"error": {"retryAfterMs": -1, '), "`$.entries[1].error.retryAfterMs`"),
    ],
)
def test_de_134_a_file_that_can_not_be_read_says_why_and_how_to_mend_it(tape: Path, bench: Any, text: str, said: str) -> None:
    tape.parent.mkdir()
    tape.write_text(text)
    before = tape.read_bytes()
    for mode in ("auto", "replay"):
        with pytest.raises(CassetteError) as caught:
            cassette(bench.Model(), tape, mode)
        assert caught.value.code == "LOUSHO_CASSETTE_INVALID"
        assert said in caught.value.detail
        assert str(tape) in caught.value.detail
        assert "record" in caught.value.hint
        assert caught.value.path == str(tape)
    assert tape.read_bytes() == before


def test_one_that_is_missing_or_no_file(tape: Path, bench: Any, tmp_path: Path) -> None:
    with pytest.raises(CassetteError, match="is not there"):
        cassette(None, tape, "replay")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(CassetteError, match="is no file"):
            cassette(None, path)
    (tmp_path / "plain").write_text("")
    for path in (tmp_path / "plain" / "below", "nul\0"):
        with pytest.raises(CassetteError, match="can not be read"):
            cassette(bench.Model("ok"), path)


async def test_a_folder_that_can_not_be_written_is_found_before_a_model_is_asked(bench: Any, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    (tmp_path / "gone").symlink_to(tmp_path / "plain" / "below")
    for path in ("/proc/nowhere/one.json", tmp_path / "gone" / "one.json"):
        model = bench.Model("ok")
        with pytest.raises(CassetteError, match="can not be") as caught:
            await bench.run(cassette(model, path, "record"))
        assert caught.value.code == "LOUSHO_CASSETTE_UNWRITABLE"
        assert model.asked == []


@pytest.fixture
def small_disk() -> Iterator[Any]:
    """Files can grow no further than so many bytes, from when it is called."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    import signal

    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, ignored)


async def test_a_full_disk_keeps_what_was_recorded_before(bench: Any, tape: Path, small_disk: Any) -> None:
    provider = cassette(bench.Model("one", "x" * 50_000, "three"), tape)
    await bench.said(provider, "a")
    before = tape.read_bytes()
    small_disk(20_000)
    with pytest.raises(CassetteError, match="can not be written") as caught:
        await bench.said(provider, "b")
    assert caught.value.code == "LOUSHO_CASSETTE_UNWRITABLE"
    small_disk(resource.RLIM_INFINITY)
    assert tape.read_bytes() == before
    assert os.listdir(tape.parent) == [tape.name]
    await bench.said(provider, "b")
    again = cassette(None, tape)
    assert [await bench.said(again, text) for text in ("a", "b")] == ["one", "three"]


async def test_two_that_record_into_one_file_do_not_lose_each_others_calls_silently(bench: Any, tape: Path) -> None:
    one, other = (cassette(bench.Model("1", "2"), tape) for _ in range(2))
    await bench.said(one, "a")
    with pytest.raises(CassetteError, match="by somebody else"):
        await bench.said(other, "b")
    await bench.said(one, "c")
    assert len(bench.content(tape)["entries"]) == 2


async def test_text_that_is_no_unicode_is_stored_all_the_same(bench: Any, tape: Path) -> None:
    model = bench.Model("half \ud83d and whole \ud83c\udf78")
    await bench.said(cassette(model, tape), "\udc80 hi")
    assert await bench.said(cassette(None, tape), "\udc80 hi") == "half \ufffd and whole \U0001f378"


async def test_a_link_stays_a_link(bench: Any, tape: Path, tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tape)
    await bench.recorded(tmp_path / "link.json", "one")
    assert (tmp_path / "link.json").is_symlink()
    assert await bench.said(cassette(None, tape), "one") == "one!1"
