"""Files made to break a reader: what they hold is refused in words, or read with everything that is good in it."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.codec import encode_line
from lousho_cli.errors import ConfigurationError, NotFoundError, StorageError
from lousho_cli.stores import foreign_files

CHAT = [{"role": "user", "content": "Look"}, {"role": "assistant", "content": "I look."}]
SAMPLE = {"id": 1, "epoch": 1, "input": "Look", "target": "x", "messages": CHAT}


@pytest.mark.parametrize("at", ["aaaaaaaaaaTbbbbbbbb.cccZ", "\x1b]0;titlesTbbbbbbbb.cccZ", "0001-01-01T00:00:00+23:59", 10**400])
async def test_a_time_that_is_none_is_no_time(desk: Any, at: Any) -> None:
    _, session = await desk.one("x.json", [{**CHAT[0], "timestamp": at}, CHAT[1]])
    assert session.updated_at[:2] == "20", "the time of the file"


@pytest.mark.skipif(sys.platform == "darwin", reason="its disks take no such name")
async def test_a_name_that_is_no_text_is_one_here(desk: Any) -> None:
    path = desk.write("x.json", CHAT).rename(Path(os.fsdecode(os.fsencode(desk.folder) + b"/x\xff.json")))
    done = (await desk.bring(path)).sessions[0]
    assert done.result == "imported"
    json.dumps(done.source, ensure_ascii=False).encode()
    assert (await desk.bring(path)).sessions[0].result == "unchanged"


async def test_what_is_no_file_is_refused_and_never_waited_for(desk: Any) -> None:
    os.mkfifo(desk.write("x.json", CHAT).with_name("pipe.jsonl"))
    for path in (desk.folder / "pipe.jsonl", Path("/dev/zero")):
        with pytest.raises(ConfigurationError, match="no file and no folder"):
            await desk.bring(path)
    with pytest.raises(NotFoundError):
        await desk.bring(Path("a" * 300))
    assert len((await desk.bring()).sessions) == 1, "in a folder it is passed over"


def archive(path: Path, **files: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in {"header": json.dumps({"eval": {"task": "trips", "model": "p/m"}}), **files}.items():
            made.writestr(f"{name if name == 'header' else f'samples/{name}'}.json", content)
    return path


async def test_an_archive_tells_its_task_and_keeps_what_is_whole(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(desk.write("log.eval", b""), a=json.dumps(SAMPLE), b=json.dumps({**SAMPLE, "id": 2}) + " " * 5000)
    monkeypatch.setattr(foreign_files, "LARGEST", 4000)
    done = await desk.bring(path)
    assert [(one.session, one.result) for one in done.sessions] == [("log-1-1", "imported")]
    assert "at most 4000 are read" in done.failed[0].why
    session = await desk.session("log-1-1")
    assert (session.agent, session.settings["lousho.origin"]["details"]["model"]) == ("trips", "p/m")


async def test_damage_in_an_archive_is_told(desk: Any) -> None:
    path = archive(desk.write("log.eval", b""), a=json.dumps({**SAMPLE, "messages": CHAT * 50}), b=json.dumps(SAMPLE))
    whole = path.read_bytes()
    at = whole.index(b"samples/a.json") + 14
    path.write_bytes(whole[:at] + b"\xff" * 9 + whole[at + 9 :])
    done = await desk.bring(path)
    assert (len(done.sessions), done.failed[0].source) == (1, "log.eval: samples/a.json")
    at = whole.rindex(b"PK\x01\x02") + 6
    for changed in (whole[:at] + b"\xde\x03" + whole[at + 2 :], whole.replace(b"samples/b", b"samples/\xff")):
        path.write_bytes(changed.replace(b"\x00\x00\x08\x00", b"\x00\x08\x08\x00"))  # names are UTF-8
        with pytest.raises(StorageError):
            await desk.bring(path)


async def test_rows_of_a_database_that_json_and_texts_do_not_allow(desk: Any) -> None:
    path = desk.write("x.db", b"")
    rows = ['{"role":"user","content":"\\ud800"}', '{"type":"reasoning","n":NaN,"m":1e999}', json.dumps(CHAT[1])]
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE agent_sessions (session_id); CREATE TABLE agent_messages (id, session_id, message_data, created_at)"
    )
    connection.executemany("INSERT INTO agent_messages VALUES (?, 'x', ?, '')", list(enumerate(rows)))
    connection.execute("INSERT INTO agent_messages VALUES (9, 'x', CAST(X'FF7B' AS TEXT), '')")
    connection.commit()
    connection.close()
    done, session = (await desk.bring(path)).sessions[0], await desk.session("x")
    assert [message.text for message in session.messages] == ["\ufffd", "I look."]
    assert [bad.line for bad in done.bad_lines] == [4]


async def test_trajectories_in_trajectories_without_end(desk: Any) -> None:
    one = '{"schema_version":"ATIF-v1.7","steps":[{"source":"user","message":"x"}]'
    path = desk.write("x.json", (f'{one},"subagent_trajectories":[' * 480 + f"{one}}}" + "]}" * 480).encode())
    with pytest.raises(StorageError, match="too deep"):
        await desk.bring(path)


async def test_a_refusal_and_a_call_of_free_text_are_kept(desk: Any) -> None:
    custom = {"id": "c1", "type": "custom", "custom": {"name": "code", "input": "print(1)"}}
    talk = [CHAT[0], {"role": "assistant", "content": None, "tool_calls": [custom]}, {"role": "tool", "tool_call_id": "c1", "content": "1"}]
    _, session = await desk.one("x.json", [*talk, {"role": "assistant", "content": None, "refusal": "I will not."}])
    assert (session.messages[1].tool_calls[0].name, session.messages[1].tool_calls[0].arguments) == ("code", "print(1)")
    assert session.messages[-1].text == "I will not."


async def test_a_mark_that_no_import_wrote_is_another_session(desk: Any) -> None:
    path = desk.write("x.json", CHAT)
    claim = await desk.store.claim("x", "here")
    forged = r.SettingChanged("lousho.origin", {"kind": "openai-chat", "id": "x", "entries": "all"})
    await desk.store.append(claim, [r.Batch(1, claim.epoch, "2026-01-01T00:00:00.000Z", (r.Claimed("here"), r.Created("a"), forged))])
    await desk.store.release(claim)
    assert (await desk.bring(path)).sessions[0].session == "x-2"


async def test_results_that_all_stand_at_the_end_go_to_their_turns_at_once(desk: Any) -> None:
    count = 300
    asks = [{"role": "assistant", "tool_calls": [{"id": f"c{n}", "function": {"name": "f"}}]} for n in range(count)]
    gives = [{"role": "tool", "tool_call_id": f"c{n}", "content": f"{n}"} for n in range(count)]
    _, session = await desk.one("x.json", [CHAT[0], *asks, *gives, CHAT[1]])
    assert [message.text for message in session.messages[2:-1:2]] == [f"{n}" for n in range(count)]


def a_line(seq: int, epoch: int = 1) -> bytes:
    return encode_line(r.Batch(seq, epoch, "2026-01-01T00:00:00.000Z", (r.Note("x", f"{seq} of {epoch}"),)))


@pytest.mark.parametrize(("lines", "bad", "kept"), [
    ([(1, 1), (3, 1)], [2], 2), ([(1, 1), (2, 1), (2, 1)], [3], 2), ([(1, 1), (2, 1), (2, 2), (3, 2)], [], 3),
])  # fmt: skip
async def test_lines_of_ours_that_are_missing_or_stand_twice_are_named(desk: Any, lines: Any, bad: list[int], kept: int) -> None:
    path = desk.write("x.jsonl", b"".join(a_line(*one) for one in lines))
    done = (await desk.bring(path)).sessions[0]
    assert [one.line for one in done.bad_lines] == bad
    batches = (await desk.store.read("x")).batches
    assert (len(batches), batches[-1].records[-1].text) == (kept, f"{lines[-1][0]} of {lines[-1][1]}")


async def test_what_is_left_out_of_a_list_is_counted_in_messages(desk: Any) -> None:
    path = desk.write("x.jsonl", [CHAT[0], "", "{torn", CHAT[1]])
    with pytest.raises(StorageError, match=r"x\.jsonl, message 2: it is no message"):
        await desk.bring(path, strict=True)
    done = (await desk.bring(path)).sessions[0]
    assert (done.unit, [bad.line for bad in done.bad_lines]) == ("message", [2])
