from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lousho_cli.tools import running
from lousho_cli.tools.command import CommandTool
from lousho_cli.tools.guardian import guardian
from lousho_cli.tools.processes import kill_if_same
from lousho_cli.tools.running import CommandFailed

ECHO = "import json, sys; print(json.dumps(json.load(sys.stdin)))"


def command(folder: Path, *argv: str, **more) -> CommandTool:
    return CommandTool("probe", "Probes", argv, {}, folder, **more)


def shell(folder: Path, script: str, **more) -> CommandTool:
    return command(folder, "sh", "-c", script, **more)


async def test_arguments_go_in_as_json_and_the_result_comes_out_as_json(tmp_path, call):
    args = {"city": "Líšboa 🌊 \0", "n": 2**80, "deep": [{"a": None}]}
    assert await command(tmp_path, sys.executable, "-c", ECHO).call(args, call.context) == args


async def test_text_that_is_no_json_is_a_text(tmp_path, call):
    assert await shell(tmp_path, "echo sunny, 24 degrees").call({}, call.context) == "sunny, 24 degrees"
    assert await shell(tmp_path, "printf 'a\\377b\\000c'").call({}, call.context) == "a\ufffdb\0c"
    assert await shell(tmp_path, "true").call({}, call.context) == ""


async def test_twenty_megabytes_pass_both_ways(tmp_path, call):
    args = {"text": "x" * 20_000_000}
    assert await command(tmp_path, sys.executable, "-c", ECHO).call(args, call.context) == args


async def test_endless_output_is_stopped(tmp_path, call, monkeypatch):
    monkeypatch.setattr(running, "MAX_OUTPUT_BYTES", 2 * 1024 * 1024)
    with pytest.raises(CommandFailed, match="more than 2 MiB"):
        await shell(tmp_path, "yes").call({}, call.context)


async def test_a_program_that_reads_nothing_and_fills_stderr_is_no_problem(tmp_path, call):
    script = "head -c 3000000 /dev/zero >&2; echo 1"
    assert await shell(tmp_path, script).call({"text": "x" * 3_000_000}, call.context) == 1


async def test_an_exit_code_is_an_error_with_the_end_of_stderr(tmp_path, call):
    with pytest.raises(CommandFailed) as failed:
        await shell(tmp_path, "seq 1 5000 >&2; echo the reason >&2; exit 7").call({}, call.context)
    assert failed.value.exit_code == 7
    assert "exit code 7" in str(failed.value)
    assert str(failed.value).endswith("the reason")
    assert len(str(failed.value)) < 1700
    with pytest.raises(CommandFailed, match="killed by signal 9 and wrote nothing"):
        await shell(tmp_path, "kill -9 $$").call({}, call.context)


@pytest.mark.parametrize("argv", [["no-such-program-here"], ["./missing.sh"], ["./plain.txt"]])
async def test_a_program_that_can_not_be_started_is_an_error(argv, tmp_path, call):
    (tmp_path / "plain.txt").write_text("not executable")
    with pytest.raises(CommandFailed, match="can not start"):
        await command(tmp_path, *argv).call({}, call.context)
    with pytest.raises(CommandFailed, match="can not start"):
        await command(tmp_path / "no-folder", "true").call({}, call.context)


async def test_python_is_this_one_where_there_is_none(tmp_path, call, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert await command(tmp_path, "python", "-c", "print(41 + 1)").call({}, call.context) == 42


async def test_it_runs_in_its_folder_and_is_told_of_its_call(tmp_path, make_call):
    script = 'printf \'["%s", "%s", "%s", "%s", "%s", "%s"]\' "$PWD" "$LOUSHO_TOOL_CALL_ID" "$LOUSHO_IDEMPOTENCY_KEY" '
    script += '"$LOUSHO_SESSION" "$LOUSHO_TOOL_RERUN" "$OWN"'
    (tmp_path / "told.sh").write_text("#!/bin/sh\n" + script)
    (tmp_path / "told.sh").chmod(0o755)
    tool = command(tmp_path, "./told.sh", env={"OWN": "mine"})
    first = make_call()
    expected = [str(tmp_path), "call_1", "trip:call_1:probe", "trip"]
    assert await tool.call({}, first.context) == [*expected, "0", "mine"]
    again = make_call(rerun=True, tool_call_id="call\0_1")
    assert await tool.call({}, again.context) == [*expected, "1", "mine"]


async def test_the_process_is_reported_before_the_program_begins(tmp_path, make_call):
    began = tmp_path / "began"
    seen = []
    call = make_call(spawned=lambda pid, started: seen.append((pid, started, began.exists())))
    await shell(tmp_path, "echo $$ > began").call({}, call.context)
    assert [(pid, there) for pid, _, there in seen] == [(int(began.read_text()), False)]
    assert seen[0][1]


async def test_a_report_that_fails_means_that_nothing_ran(tmp_path, make_call):
    def refuse(pid: int, started: str) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await shell(tmp_path, "touch ran").call({}, make_call(spawned=refuse).context)
    assert not (tmp_path / "ran").exists()


async def test_the_time_limit_ends_the_whole_group(tmp_path, call, helpers):
    tool = shell(tmp_path, "sh -c 'echo $$ > inner; sleep 60' & sleep 60", timeout_ms=300)
    with pytest.raises(CommandFailed, match=r"within 0\.3 s"):
        await tool.call({}, call.context)
    inner = tmp_path / "inner"  # where the machine was so busy that it came to nothing, there is one process less to end
    pids = [call.pid, *(int(pid) for pid in (inner.read_text().split() if inner.exists() else ()))]
    await helpers.until_async(lambda: not any(map(helpers.lives, pids)))


@pytest.mark.parametrize("how", ["abort", "cancel"])
async def test_an_abort_ends_the_whole_group_also_one_that_ignores_being_asked(how, tmp_path, call, helpers, monkeypatch):
    monkeypatch.setattr(running, "GRACE_SECONDS", 0.1)
    tool = shell(tmp_path, "trap '' TERM; sh -c 'echo $$ > inner; while :; do sleep 1; done' & while :; do sleep 1; done")
    task = asyncio.ensure_future(tool.call({}, call.context))
    inner = int(await helpers.until_async(lambda: (tmp_path / "inner").exists() and (tmp_path / "inner").read_text().strip()))
    call.signal.abort() if how == "abort" else task.cancel()
    with pytest.raises(CommandFailed if how == "abort" else asyncio.CancelledError):
        await task
    await helpers.until_async(lambda: not helpers.lives(call.pid) and not helpers.lives(inner))


async def test_a_program_may_clean_up_when_it_is_asked_to_end(tmp_path, call, helpers):
    tool = shell(tmp_path, "trap 'touch cleaned; exit' TERM; touch ready; while :; do sleep 0.02; done")
    task = asyncio.ensure_future(tool.call({}, call.context))
    await helpers.until_async(lambda: (tmp_path / "ready").exists())
    call.signal.abort()
    with pytest.raises(CommandFailed, match="aborted"):
        await task
    assert (tmp_path / "cleaned").exists()


def test_what_left_the_group_of_a_program_may_hold_its_pipes_longer_than_the_loop_lives(tmp_path, make_call, monkeypatch):
    complaints = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    leave = "import subprocess, sys; print(subprocess.Popen(['sleep', '600'], start_new_session=True).pid)"

    async def run() -> int:
        return await command(tmp_path, sys.executable, "-c", leave).call({}, make_call().context)

    pid = asyncio.run(run())
    try:
        gc.collect()
    finally:
        os.kill(pid, signal.SIGKILL)
    assert complaints == []


async def test_what_a_program_leaves_behind_ends_with_it_and_holds_nothing_up(tmp_path, call, helpers):
    tool = shell(tmp_path, "sleep 60 & echo $! > left; echo done")
    assert await tool.call({}, call.context) == "done"
    left = int((tmp_path / "left").read_text())
    await helpers.until_async(lambda: not helpers.lives(left))


HOLDER = """
import asyncio, sys
from pathlib import Path
from lousho_cli.ports.tool import ToolContext
from lousho_cli.tools.command import CommandTool

class Never:
    aborted, reason = False, None
    async def wait(self):
        await asyncio.Event().wait()

script = "sh -c 'echo $$ > inner; while :; do sleep 1; done' & echo $$ > outer; while :; do sleep 1; done"
tool = CommandTool("probe", "", ["sh", "-c", script], {}, Path(sys.argv[1]))
told = lambda pid, started: Path(sys.argv[1], "spawned").write_text(f"{pid} {started}")
asyncio.run(tool.call({}, ToolContext("c", "probe", None, "k", Never(), spawned=told)))
"""


@pytest.fixture
def holder(tmp_path, helpers):
    """A process that runs a tool of two processes; gives it and their ids."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)])
    helpers.until(lambda: all((tmp_path / name).exists() and (tmp_path / name).read_text().strip() for name in ("inner", "outer")))
    yield process, int((tmp_path / "outer").read_text()), int((tmp_path / "inner").read_text())
    process.kill()
    process.wait()


def test_when_we_are_killed_all_processes_of_the_tool_die(holder, helpers):
    process, outer, inner = holder
    assert helpers.lives(outer) and helpers.lives(inner)
    process.kill()
    helpers.until(lambda: not helpers.lives(outer) and not helpers.lives(inner))


def _guardian_of(pid: int) -> int:
    """The child of a process that leads a session and is no tool."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return next(int(child) for child in children if b"LOUSHO_TOOL_CALL_ID" not in Path(f"/proc/{child}/environ").read_bytes())


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_reap_kills_what_a_killed_host_and_guardian_left_running(holder, tmp_path, helpers):
    process, outer, inner = holder
    os.kill(_guardian_of(process.pid), signal.SIGKILL)
    process.kill()
    process.wait()
    pid, started = (tmp_path / "spawned").read_text().split()
    tool = shell(tmp_path, "true")
    assert helpers.lives(outer)
    assert await tool.reap(int(pid), "1@other") is False
    assert helpers.lives(outer)
    assert await tool.reap(int(pid), started) is True
    await helpers.until_async(lambda: not helpers.lives(outer) and not helpers.lives(inner))
    await helpers.until_async(lambda: not kill_if_same(int(pid), started))  # what is still dying counts as there


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_reap_finds_a_group_whose_leader_is_gone(holder, tmp_path, helpers):
    process, outer, inner = holder
    os.kill(_guardian_of(process.pid), signal.SIGKILL)
    process.kill()
    process.wait()
    os.kill(outer, signal.SIGKILL)
    await helpers.until_async(lambda: not helpers.lives(outer))
    assert helpers.lives(inner)
    pid, started = (tmp_path / "spawned").read_text().split()
    assert await shell(tmp_path, "true").reap(int(pid), started) is True
    await helpers.until_async(lambda: not helpers.lives(inner))


async def test_reap_never_touches_another_process_with_the_same_id(tmp_path):
    other = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        assert await shell(tmp_path, "true").reap(other.pid, "12345@00000000") is False
        assert other.poll() is None
        assert await shell(tmp_path, "true").reap(1, "x") is False
    finally:
        other.kill()
        other.wait()


async def test_a_killed_guardian_is_replaced_and_told_of_what_runs(tmp_path, make_call, helpers):
    first, second = make_call(), make_call()
    task = asyncio.ensure_future(shell(tmp_path, "touch one; sleep 60").call({}, first.context))
    await helpers.until_async(lambda: (tmp_path / "one").exists())
    old = guardian()._process
    assert old is not None
    old.kill()
    await helpers.until_async(lambda: old.poll() is not None)
    assert await shell(tmp_path, "echo 2").call({}, second.context) == 2
    guardian().close()  # as when this process ends
    with pytest.raises(CommandFailed, match="signal 9"):
        await task


async def test_many_run_at_once(tmp_path, make_call):
    tool = command(tmp_path, sys.executable, "-S", "-c", ECHO)
    results = await asyncio.gather(*(tool.call({"n": n}, make_call().context) for n in range(20)))
    assert results == [{"n": n} for n in range(20)]


def test_the_arguments_are_checked_against_the_schema(tmp_path):
    tool = CommandTool("w", "", ["true"], {"properties": {"city": {"type": "string"}}, "required": ["city"]}, tmp_path)
    assert [issue.path for issue in tool.validate({})[1]] == ["city"]
    assert json.loads(json.dumps(tool.schema))["type"] == "object"
