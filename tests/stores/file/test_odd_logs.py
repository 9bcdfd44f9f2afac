"""What may stand in place of a log, or be left of its first line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lousho_cli import Agent, AgentExecutor, FileStore, ScriptedProvider, StorageError
from lousho_cli.stores.file.fsck import check


async def run(store: FileStore, text: str = "hi") -> None:
    await AgentExecutor.execute(Agent("a"), text, ScriptedProvider(["yes", "again"]), session_id="s", checkpoint_store=store.checkpoints)


async def test_a_pipe_in_place_of_a_log_is_an_error_and_nobody_waits(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    await run(store)
    log = tmp_path / "sessions" / "s" / "log.jsonl"
    log.unlink()
    os.mkfifo(log)
    for look in (store.read("s"), store.head("s"), store.claim("s", "host")):
        with pytest.raises(StorageError, match=r"log\.jsonl"):
            await look
    assert [finding.kind for finding in await check(store)] == ["unreadable"]


@pytest.mark.parametrize("left", [b'{"crc":"12', b'{"crc":"12345678","seq":1,"epoch":1,"at":"20', b"\0" * 300])
async def test_a_first_line_that_was_torn_is_no_session_and_the_next_run_closes_it(tmp_path: Path, left: bytes) -> None:
    folder = tmp_path / "sessions" / "s"
    folder.mkdir(parents=True)
    (folder / "log.jsonl").write_bytes(left)
    store = FileStore(tmp_path)
    listed = await store.heads()
    assert (listed.heads, listed.damaged) == ((), ())
    assert not [finding for finding in await check(store) if finding.serious]
    await run(FileStore(tmp_path))
    checkpoint = await FileStore(tmp_path).checkpoints.load("s")
    assert checkpoint is not None
    assert [message.text for message in checkpoint.messages] == ["hi", "yes"]
    assert (await FileStore(tmp_path).read("s")).holes == ()


async def test_what_was_never_ours_is_named_as_damaged(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "s"
    folder.mkdir(parents=True)
    (folder / "log.jsonl").write_bytes(b"\xef\xbb\xbf" + b'{"crc":"12345678","seq":1}\n')
    assert [name for name, _ in (await FileStore(tmp_path).heads()).damaged] == ["s"]
