"""Bytes that are no UTF-8 on a command line, in a name and in a pipe: an error that says so, or the mark of one, never a traceback."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.messages import user
from lousho_cli.stores.file.store import FileStore

BAD = os.fsdecode(b"\xff\xfe hi")
MARKED = "\ufffd\ufffd hi"


@pytest.fixture
def run(lousho: Any) -> Callable[..., Any]:
    """Runs a command line; nothing it says is a traceback or a fault of ours."""

    def run(*args: str, code: int = 0) -> Any:
        done = lousho(*args)
        assert "Traceback" not in done.err
        assert "LOUSHO_UNEXPECTED" not in done.err
        assert done.code == code, done.err
        return done

    return run


@pytest.fixture
def log(folder: Path) -> Callable[[str], list[dict[str, Any]]]:
    """The records of a session, as they stand in its log."""

    def read(session: str) -> list[dict[str, Any]]:
        lines = (folder / ".lousho" / "sessions" / session / "log.jsonl").read_text("utf-8").splitlines()
        return [record for line in lines if line for record in json.loads(line)["records"]]

    return read


def of_type(records: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [record for record in records if record["type"] == f"lousho.{kind}"]


def test_an_input_is_taken(process: Any, log: Any) -> None:
    for session, args, options in (("s", BAD, {}), ("piped", "-", {"stdin": None, "input": b"\xff\xfe hi"})):
        done = process("run", "trip", args, "-s", session, **options)
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
        assert [m["content"] for m in of_type(log(session), "input_received")[0]["messages"]] == [MARKED]


@pytest.mark.parametrize(
    "args",
    [
        ("run", "trip", "hi", "--input-id", BAD),
        ("run", "trip", "hi", "-s", BAD),
        ("run", BAD, "hi"),
        ("show", BAD),
        ("fork", "s", "--from-step", BAD),
        ("fork", BAD, "--from-step", "1"),
    ],
    ids=lambda args: "-".join(args[:3:2]).replace(BAD, "bad"),
)
def test_a_name_is_refused(run: Any, args: tuple[str, ...]) -> None:
    run("run", "trip", "hi", "-s", "s")
    run(*args, code=2)


def test_a_model_with_such_a_name_is_refused(run: Any, folder: Path) -> None:
    run("init")
    assert "model" in run("run", ".", "hi", "--model", BAD, code=2).err


@pytest.mark.parametrize(
    "change",
    [("--append-input", BAD), ("--business-state", f'"{BAD}"'), ("--tool-result", f'call_weather="{BAD}"')],
    ids=lambda change: change[0],
)
def test_a_change_is_taken(run: Any, log: Any, change: tuple[str, str]) -> None:
    run("run", "trip", "hi", "-s", "s")
    run("fork", "s", "--from-step", "1", *change)
    assert "\ufffd\ufffd hi" in json.dumps(log("s.fork-1"), ensure_ascii=False)


@pytest.mark.parametrize("verb", [("approve", "--note"), ("reject", "--reason")], ids=lambda verb: verb[0])
@pytest.mark.parametrize("rest", [(), ("--no-resume",)], ids=["goes on", "recorded"])
def test_a_note_is_taken(run: Any, log: Any, verb: tuple[str, str], rest: tuple[str, ...]) -> None:
    run("run", "booking", "hi", "-s", "s", code=4)
    run(verb[0], "s", verb[1], BAD, *rest)
    assert [answer["note"] for answer in of_type(log("s"), "wait_answered")] == [MARKED]


async def test_a_note_that_is_left_for_an_owner_is_taken(process: Any, folder: Path) -> None:
    await asyncio.to_thread(process, "run", "booking", "hi", "-s", "s")
    store = FileStore(folder / ".lousho")
    claim = await store.claim("s", "owner")
    deciding = asyncio.ensure_future(asyncio.to_thread(process, "reject", "s", "--reason", BAD, "--no-resume"))
    while not (posts := await store.inbox("s")):
        assert not deciding.done(), deciding.result().stderr
        await asyncio.sleep(0.01)
    assert [post.body["note"] for post in posts] == [MARKED]
    await store.release(claim)
    assert (await deciding).returncode == 0


def test_who_is_logged_in_may_have_any_name(run: Any, log: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", BAD)
    run("run", "booking", "hi", "-s", "s", code=4)
    run("approve", "s")
    assert [answer["by"] for answer in of_type(log("s"), "wait_answered")] == [MARKED]


def test_an_agent_in_a_folder_of_such_a_name_runs(run: Any, log: Any, folder: Path) -> None:
    run("init", BAD)
    run("run", BAD, "hi", "-s", "s")
    assert of_type(log("s"), "created")[0]["path"] == f"{MARKED}/agent.yaml"
    run("fork", "s", "--from-step", "1")
    assert "can not be found" in run("resume", "s.fork-1", code=2).err
    run("resume", "s.fork-1", "--agent", f"{BAD}/agent.yaml")


def test_a_damaged_record_is_named_and_nothing_is_said_of_a_newer_version(lousho: Any, store: Any, trip: Any) -> None:
    store("s", [*trip(), [r.InputReceived("i", (user("x"),), by=5)]])  # type: ignore[arg-type]
    shown = lousho("show", "s", "--json")
    assert shown.code == 7
    assert "lousho.input_received" in shown.err
    assert "newer version" not in shown.err
    for args in (("run", "trip", "hi", "-s", "s"), ("fork", "s", "--from-step", "1")):
        refused = lousho(*args)
        assert refused.code == 7
        assert "newer version" not in refused.err
        assert "fsck --repair" in refused.err
    assert lousho("fsck").code != 0
    assert lousho("fsck", "--repair").code in (0, 10)
    assert lousho("show", "s").code == 0
