"""``lousho export``: every form on stdout and in a file, checkpoints, damage, secrets, and what does not work."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from eventful_session import eventful

from lousho_cli.core.fold import fold
from lousho_cli.core.states import state_from
from lousho_cli.domain import records as r
from lousho_cli.domain.codec import decode_line
from lousho_cli.domain.messages import user
from lousho_cli.interchange.session_lines import Header, header_of
from lousho_cli.stores.file.store import FileStore

ROOT = Path(__file__).parents[2]
KEY = "sk-ant-api03-abcdefghijklmnop"


def lines_of(text: str) -> tuple[Header, list[r.Batch]]:
    first, *rest = text.encode().splitlines()
    header = header_of(first)
    assert header is not None
    batches = [decode_line(line) for line in rest]
    assert None not in batches
    return header, [batch for batch in batches if batch is not None]


def log_of(folder: Path, session: str) -> bytes:
    return (folder / ".lousho" / "sessions" / session / "log.jsonl").read_bytes()


def test_json_lines_are_the_log_to_the_byte_behind_a_header(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("trip", trip())
    ran = lousho("export", "tri", "--to", "jsonl")
    assert (ran.code, ran.err) == (0, "")
    header, _, rest = ran.out.partition("\n")
    assert json.loads(header) == {"type": "lousho.export", "session": "trip", "format": 1, "redacted": False, "damaged": False}
    assert rest.encode() == log_of(folder, "trip").replace(b"\n\n", b"\n").lstrip(b"\n")


@pytest.mark.parametrize(
    ("form", "begin"),
    [
        ("jsonl", '{"type":'),
        ("atif", "{\n"),
        ("openai", "[\n"),
        ("anthropic", "{\n"),
        ("markdown", "# `trip`"),
        ("html", "<!doctype html>"),
    ],
)
def test_each_form_is_the_same_on_stdout_in_a_file_and_in_the_envelope(
    lousho: Any, store: Any, trip: Any, folder: Path, form: str, begin: str
) -> None:
    store("trip", trip(answer="Zürich → 東京"))
    ran = lousho("export", "trip", "--to", form)
    assert ran.code == 0
    assert ran.out.startswith(begin)
    assert lousho("export", "trip", "--to", form, "-o", "-").out == ran.out
    told = lousho("export", "trip", "--to", form, "-o", "sub/out", "--json")
    written = (folder / "sub" / "out").read_bytes()
    assert written.decode() == ran.out
    assert told.data == {
        "file": "sub/out", "session": "trip", "to": form, "bytes": len(written), "messages": 4, "steps": 2, "subagents": 0
    }  # fmt: skip
    assert lousho("export", "trip", "--to", form, "--json").data["content"] == ran.out


def test_the_end_of_a_files_name_tells_the_form_and_a_file_that_is_there_is_replaced(
    lousho: Any, store: Any, trip: Any, folder: Path
) -> None:
    store("trip", trip())
    (folder / "trip.md").write_text("old")
    ran = lousho("export", "trip", "-o", "trip.md")
    assert (ran.code, ran.out) == (0, "")
    assert "written: trip.md" in ran.err
    assert (folder / "trip.md").read_text().startswith("# `trip`")
    assert lousho("export", "trip", "-o", "x.HTML", "-q").out == "x.HTML\n"
    for words in ((), ("-o", "trip.json")):
        ran = lousho("export", "trip", *words)
        assert ran.code == 2
        assert "Add --to jsonl|atif|openai|anthropic|markdown|html." in ran.err
    assert "the end of x.foo does not tell it as .jsonl" in lousho("export", "trip", "-o", "x.foo").err


def test_a_file_that_can_not_be_written_is_left_as_it_was(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("trip", trip())
    (folder / "taken.md").mkdir()
    ran = lousho("export", "trip", "-o", "taken.md")
    assert ran.code == 1
    assert "taken.md can not be written" in ran.err
    assert sorted(path.name for path in folder.iterdir()) == [".lousho", "taken.md"]
    assert lousho("export", "trip", "--to", "html", "-o", " ").code == 2


def test_a_checkpoint_is_all_that_was_there_then(lousho: Any, store: Any, trip: Any) -> None:
    store("trip", trip())
    assert [message["role"] for message in json.loads(lousho("export", "trip@1.1", "--to", "openai").out)] == ["user", "assistant", "tool"]
    header, batches = lines_of(lousho("export", "trip@1", "--to", "jsonl").out)
    assert [batch.seq for batch in batches] == [1, 2, 3, 4]
    assert [batch.seq for batch in lines_of(lousho("export", "trip#2", "--to", "jsonl").out)[1]] == [1, 2]
    assert lousho("export", "trip@1", "--to", "atif", "--json").data["address"] == "trip@1"
    ran = lousho("export", "trip@7", "--to", "jsonl")
    assert (ran.code, "Kept steps" in ran.err) == (3, True)


def test_a_checkpoint_that_a_trim_kept_is_a_log_that_begins_with_it(lousho: Any, store: Any, trip: Any) -> None:
    store("trip", trip())
    assert lousho("trim", "trip", "--yes").code == 0
    _, batches = lines_of(lousho("export", "trip@1", "--to", "jsonl").out)
    assert [type(record) for batch in batches for record in batch.records] == [r.Base]
    assert [message.role for message in fold(batches).messages] == ["user", "assistant", "tool"]
    whole = lousho("export", "trip", "--to", "markdown")
    assert (whole.code, "Sunny: take the coast." in whole.out) == (0, True)


def test_what_stands_of_a_damaged_session_is_exported_then_7(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("trip", trip())
    log = folder / ".lousho" / "sessions" / "trip" / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    where = next(number for number, line in enumerate(lines) if b'"seq":2' in line)
    log.write_bytes(b"".join([*lines[:where], b"x" * (len(lines[where]) - 1) + b"\n", *lines[where + 1 :]]))
    ran = lousho("export", "trip", "--to", "jsonl")
    assert ran.code == 7
    assert "session trip is damaged" in ran.err
    header, batches = lines_of(ran.out)
    assert header.damaged
    assert [batch.seq for batch in batches] == [1, 3, 4, 5]
    assert lousho("export", "trip", "-o", "out.html").code == 7
    assert "batches 2 to 2 are missing" in (folder / "out.html").read_text()


def test_what_a_snapshot_has_of_a_damaged_session_is_exported_too(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("trip", trip(answer="word " * 10_000))
    asyncio.run(save_snapshot(folder / ".lousho", "trip"))
    log = folder / ".lousho" / "sessions" / "trip" / "log.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"seq":2', b'"seq":!'))
    assert len(lousho("show", "trip", "--json").data["messages"]) == 4
    for form in ("jsonl", "openai"):
        ran = lousho("export", "trip", "--to", form, "-o", f"trip.{form}")
        assert (ran.code, "is damaged" in ran.err) == (7, True)
    assert len(json.loads((folder / "trip.openai").read_text())) == 4
    assert len(fold(lines_of((folder / "trip.jsonl").read_text())[1]).messages) == 4


async def save_snapshot(folder: Path, session: str) -> None:
    store = FileStore(folder)
    claim = await store.claim(session, "here")
    batches = (await store.read(session)).batches
    last = r.Batch(batches[-1].seq + 1, claim.epoch, batches[-1].at, (r.Claimed("here"),))
    await store.append(claim, [last])
    await store.save_snapshot(claim, state_from(fold((*batches, last))))
    await store.release(claim)


def test_what_waits_and_what_is_left_out_is_said(lousho: Any, store: Any, waiting: Any) -> None:
    store("shop", [batch.records for batch in eventful()])
    store("booking", waiting())
    ran = lousho("export", "shop", "--to", "openai", "--json")
    assert ["2 transcripts of sub-agents are left out" in said for said in json.loads(ran.out)["warnings"]] == [True]
    assert lousho("export", "shop", "--to", "jsonl").err == ""
    ran = lousho("export", "booking", "--to", "anthropic")
    assert (ran.code, "warning: the list is whole only with this: " in ran.err) == (0, True)


def test_secrets_and_what_the_person_names_are_taken_out(lousho: Any, store: Any, trip: Any, folder: Path, monkeypatch: Any) -> None:
    store("trip", trip(forecast=json.dumps({"key": KEY, "by": "Ada"}), answer="Ada of Turing Street"))
    for form in ("jsonl", "atif", "openai", "anthropic", "markdown", "html"):
        assert KEY in lousho("export", "trip", "--to", form).out
        ran = lousho("export", "trip", "--to", form, "--redact", "--redact-pattern", "Ada")
        assert not {word for word in (KEY, "Ada") if word in ran.out}
        assert "taken out of 2 texts" in ran.err
        assert "Turing" in ran.out
    (folder / "lousho.toml").write_text('redact = ["Turing( Street)?"]\n')
    assert "Ada of [REDACTED]" in lousho("export", "trip", "--to", "openai", "--redact").out
    assert "Turing" in lousho("export", "trip", "--to", "openai").out
    monkeypatch.setenv("LOUSHO_REDACT", "A.a")
    assert "[REDACTED] of Turing" in lousho("export", "trip", "--to", "openai", "--redact").out
    header, _ = lines_of(lousho("export", "trip", "--to", "jsonl", "--redact-pattern", "x").out)
    assert header.redacted
    ran = lousho("export", "trip", "--to", "jsonl", "--redact-pattern", "(")
    assert (ran.code, "is not valid" in ran.err) == (2, True)


def test_a_session_that_is_not_there_is_3_and_makes_no_file(lousho: Any, folder: Path) -> None:
    assert lousho("export", "nope", "-o", "x.html").code == 3
    assert list(folder.iterdir()) == []


def test_control_characters_do_not_get_into_markdown(lousho: Any, store: Any) -> None:
    store("s", [[r.Created("a"), r.InputReceived("i", (user("\x1b[31m\u202ered"),)), r.InputApplied("i"), r.RunStarted("i")]])
    text = lousho("export", "s", "--to", "markdown").out
    assert "\\x1b[31m\\u202ered" in text
    assert not {"\x1b", "\u202e"} & set(text)


def test_case_200_a_closed_pipe_ends_quietly(store: Any, trip: Any, folder: Path) -> None:
    store("s", trip(answer="word " * 200_000))
    line = f'"{sys.executable}" -m lousho_cli export s --to jsonl | head -c 1; exit ${{PIPESTATUS[0]}}'
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    ran = subprocess.run(["bash", "-c", line], cwd=folder, env=environ, capture_output=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"{", b"")


def test_json_lines_load_back_as_the_same_session(lousho: Any, store: Any) -> None:
    store("shop", [batch.records for batch in eventful()])
    assert lousho("export", "shop", "-o", "shop.jsonl").code == 0
    assert lousho("import", "shop.jsonl", "--store", "other").code == 0
    for words in (("show", "shop"), ("history", "shop"), ("export", "shop", "--to", "html")):
        here, there = lousho(*words, "--json"), lousho(*words, "--json", "--store", "other")
        assert here.data == there.data
    (again,) = lousho("import", "shop.jsonl", "--store", "other", "--json").data["sessions"]
    assert again["result"] == "unchanged"


def test_an_imported_session_says_where_it_came_from_in_every_form_that_can(lousho: Any, store: Any, trip: Any) -> None:
    origin = {"kind": "codex", "id": "7c1", "file": "rollout.jsonl", "details": {}}
    store("trip", [*trip(), [r.SettingChanged("lousho.origin", origin)]])
    assert json.loads(lousho("export", "trip", "--to", "atif").out)["extra"]["lousho"]["imported_from"] == {
        name: origin[name] for name in ("kind", "id", "file")
    }
    assert "- Imported from: `codex`, `rollout.jsonl`" in lousho("export", "trip", "--to", "markdown").out
    assert lousho("trim", "trip", "--yes").code == 0
    trimmed = lousho("export", "trip@1", "--to", "markdown").out
    assert "- Imported from: `codex`, `rollout.jsonl`" in trimmed
    assert "- Begun: 2026-01-02T03:04:05.000Z" in trimmed
    assert '"origin":{"kind":"codex","id":"7c1","file":"rollout.jsonl"}' in lousho("export", "trip", "--to", "html").out


def test_what_the_envelope_says_is_what_the_schema_says(lousho: Any, store: Any, trip: Any) -> None:
    store("trip", trip())
    schema = json.loads(lousho("schema", "export").out)
    for words in (("-o", "trip.md"), ("--to", "openai", "--redact")):
        jsonschema.validate(lousho("export", "trip@1", *words, "--json").data, schema)


def test_a_pipe_or_a_device_is_written_to_and_not_replaced(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("trip", trip())
    os.mkfifo(folder / "pipe")
    reader = os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert lousho("export", "trip", "--to", "markdown", "-o", "pipe").code == 0
        assert os.read(reader, 65536).decode().startswith("# `trip`")
    finally:
        os.close(reader)
    assert (folder / "pipe").is_fifo()
    assert sorted(path.name for path in folder.iterdir()) == [".lousho", "pipe"]


def test_a_folder_and_a_person_who_is_not_there_are_no_traceback(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("trip", trip())
    ran = lousho("export", "trip", "--to", "html", "-o", "/")
    assert (ran.code, "/ can not be written: Is a directory" in ran.err) == (1, True)
    assert lousho("export", "trip", "-o", "~nobody-of-that-name.md").code == 0
    assert (folder / "~nobody-of-that-name.md").is_file()
