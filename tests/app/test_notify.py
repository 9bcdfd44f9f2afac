from __future__ import annotations

import json
import time

from lousho_cli.app import notify as module
from lousho_cli.app.notify import notify
from lousho_cli.tools.processes import start_time


def until(fact, seconds=60.0):
    end = time.monotonic() + seconds
    while not (found := fact()):
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.005)
    return found


def script(folder, name, text):
    (folder / name).write_text("#!/bin/sh\n" + text)
    (folder / name).chmod(0o755)


def test_each_command_gets_the_item_on_its_input_in_the_folder(tmp_path):
    script(tmp_path, "page.sh", 'cat > "$1.part" && mv "$1.part" "$1"')
    item = {"id": "7f3a", "tool": "book_table", "args": {"name": "Ünal 'x' $HOME"}}
    assert notify([["./page.sh", "one"], ["sh", "page.sh", "two words"]], item, tmp_path) == ()
    for name in ("one", "two words"):
        until((tmp_path / name).exists)
        assert json.loads((tmp_path / name).read_text()) == item


def test_it_waits_for_none_of_them(tmp_path):
    script(tmp_path, "slow.sh", "echo $$ > pid; yes | head -c 10000000; echo loud >&2; sleep 60")
    begin = time.monotonic()
    assert notify([["./slow.sh"]], {"text": "x" * 5_000_000}, tmp_path) == ()
    assert time.monotonic() - begin < 30  # and not its minute
    pid = int(until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip()))
    until(lambda: start_time(pid))
    import os
    import signal

    os.killpg(os.getpgid(pid), signal.SIGKILL)


def test_one_that_takes_too_long_is_killed_with_all_it_started(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "TIME_LIMIT_SECONDS", 0.3)
    script(tmp_path, "hang.sh", "trap '' TERM; sleep 60 & echo $! > inner; echo $$ > outer; sleep 60")
    assert notify([["./hang.sh"]], {}, tmp_path) == ()
    pids = [int(until(lambda n=name: (tmp_path / n).exists() and (tmp_path / n).read_text().strip())) for name in ("inner", "outer")]
    until(lambda: not any(start_time(pid) for pid in pids))


def test_what_can_not_be_started_is_a_warning_and_the_others_still_run(tmp_path):
    (tmp_path / "plain.txt").write_text("x")
    script(tmp_path, "ok.sh", "touch ran")
    warnings = notify([["./missing.sh"], ["no-such-program-here"], ["./plain.txt"], ["./ok.sh"]], {}, tmp_path)
    assert len(warnings) == 3
    assert [word in text for word, text in zip(["missing.sh", "no-such-program-here", "not executable"], warnings, strict=True)] == [
        True
    ] * 3
    until((tmp_path / "ran").exists)
