"""Values that other tools choke on, through a real file and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lousho_cli.domain import records as r
from lousho_cli.domain.plain import json_text, plain
from lousho_cli.stores.file.store import FileStore

MakeBatch = Callable[..., r.Batch]


async def through_a_file(store: FileStore, place: Path, batch: MakeBatch, record: r.Record) -> Any:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1, 1, record), batch(2)])
    await store.release(claim)

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    for line in (place / "sessions/trip/log.jsonl").read_bytes().decode("utf-8", "strict").split("\n")[:-1]:
        json.loads(line, parse_constant=refuse)
    found = await FileStore(place).read("trip")
    assert found.head == 2
    return found.batches[0].records[0]


async def test_case_155_half_an_emoji_is_savable(store: FileStore, place: Path, batch: MakeBatch) -> None:
    content, altered = json_text({"alone": "a\ud83db", "pair": "\ud83c\udf78"})
    assert altered
    read = await through_a_file(store, place, batch, r.ToolFinished("c", content, altered=True))
    assert json.loads(read.content) == {"alone": "a\ufffdb", "pair": "\U0001f378"}
    assert read.altered


async def test_case_156_all_bytes_are_savable(store: FileStore, place: Path, batch: MakeBatch) -> None:
    every = bytes(range(256))
    content, altered = json_text({"raw": every, "text": every.decode("latin-1")})
    assert altered
    read = await through_a_file(store, place, batch, r.ToolFinished("c", content))
    value = json.loads(read.content)
    assert value["text"] == every.decode("latin-1")
    assert set(value["raw"]) == {"$bytes"}


async def test_case_157_numbers_that_are_not_finite_stay_apart_from_null(store: FileStore, place: Path, batch: MakeBatch) -> None:
    content, altered = json_text({"x": float("nan"), "y": float("-inf"), "z": None})
    assert altered
    read = await through_a_file(store, place, batch, r.ToolFinished("c", content))
    assert json.loads(read.content) == {"x": "NaN", "y": "-Infinity", "z": None}


async def test_integers_of_any_size_survive(store: FileStore, place: Path, batch: MakeBatch) -> None:
    huge = 10**40 + 7
    content, altered = json_text({"n": huge})
    assert not altered
    read = await through_a_file(store, place, batch, r.ToolFinished("c", content))
    assert json.loads(read.content) == {"n": huge}


async def test_line_ends_inside_texts_end_no_line(store: FileStore, place: Path, batch: MakeBatch) -> None:
    text = "a\nb\r\nc\u2028d\u2029e\x85f\x00g"
    value, altered = plain({"t": text})
    assert not altered
    read = await through_a_file(store, place, batch, r.BusinessState(value))
    assert read.value == {"t": text}
