from __future__ import annotations

import json
import os
import stat
import threading
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lousho_cli.domain.approvals import Question
from lousho_cli.tools.builtin import BUILTINS
from lousho_cli.tools.builtin import http as http_module
from lousho_cli.tools.builtin.workspace import OutsideWorkspace


async def run(name, workspace, args, call, **options):
    tool = BUILTINS[name](workspace, **options)
    checked, issues = tool.validate(args)
    assert issues == (), issues
    return await tool.call(checked, call.context)


def test_what_needs_approval_and_what_may_run_again(tmp_path):
    tools = {name: make(tmp_path) for name, make in BUILTINS.items()}
    assert {name for name, tool in tools.items() if tool.needs_approval} == {"shell", "write-file", "http"}
    assert {name: tool.replay for name, tool in tools.items()} == {
        "ask-question": "safe",
        "current-date": "safe",
        "http": None,
        "list-files": "safe",
        "read-file": "safe",
        "shell": "never",
        "write-file": "safe",
    }
    assert all(tool.name == name and tool.description for name, tool in tools.items())
    for name in ("shell", "write-file", "http"):
        assert BUILTINS[name](tmp_path, needs_approval=False).needs_approval is False


async def test_the_current_date_in_a_time_zone(tmp_path, call):
    told = await run("current-date", tmp_path, {"timezone": "UTC"}, call)
    then = datetime.fromisoformat(f"{told['date']}T{told['time']}+00:00")
    assert abs((datetime.now(then.tzinfo) - then).total_seconds()) < 60
    assert told["weekday"] == then.strftime("%A")
    assert (await run("current-date", tmp_path, {}, call))["date"]
    for zone in ("Mars/Base", "../../etc/passwd", "\0"):
        with pytest.raises(ValueError, match="no known time zone"):
            await run("current-date", tmp_path, {"timezone": zone}, call)


async def test_files_are_written_whole_read_and_listed(tmp_path, call):
    assert await run("write-file", tmp_path, {"path": "a/b/ü.txt", "content": "héllo"}, call) == {"path": "a/b/ü.txt", "bytes": 6}
    assert (await run("read-file", tmp_path, {"path": "a/b/ü.txt"}, call))["content"] == "héllo"
    os.chmod(tmp_path / "a/b/ü.txt", 0o640)
    await run("write-file", tmp_path, {"path": "a/b/ü.txt", "content": "2"}, call)
    assert stat.S_IMODE((tmp_path / "a/b/ü.txt").stat().st_mode) == 0o640
    assert os.listdir(tmp_path / "a/b") == ["ü.txt"]  # nothing left aside
    listed = await run("list-files", tmp_path, {"recursive": True}, call)
    assert listed["entries"] == [
        {"name": "a", "type": "folder"},
        {"name": "a/b", "type": "folder"},
        {"name": "a/b/ü.txt", "type": "file", "size": 1},
    ]
    assert (await run("list-files", tmp_path, {"path": "a"}, call))["entries"] == [{"name": "b", "type": "folder"}]


async def test_a_long_file_is_read_in_pieces(tmp_path, call):
    (tmp_path / "long").write_text("abcdef")
    told = await run("read-file", tmp_path, {"path": "long", "offset": 1, "limit": 2}, call)
    assert told == {"path": "long", "content": "bc", "size": 6, "next_offset": 3}


@pytest.fixture
def escape(tmp_path):
    """A working folder with links out of it, and the secret beside it."""
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "out").symlink_to(tmp_path)
    (tmp_path / "work" / "file").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "work" / "dangling").symlink_to(tmp_path / "new.txt")
    (tmp_path / "work" / "circle").symlink_to("circle")
    (tmp_path / "work-beside").mkdir()
    (tmp_path / "work" / "sibling").symlink_to(tmp_path / "work-beside")
    return tmp_path / "work"


WAYS_OUT = [
    "../secret.txt",
    "/etc/passwd",
    "out/secret.txt",
    "file",
    "dangling",
    "a/../../secret.txt",
    "circle/x",
    "sibling/x",
    "~/x",
    "a\0b",
]


@pytest.mark.parametrize("path", WAYS_OUT)
async def test_no_file_tool_leaves_the_working_folder(path, escape, call):
    for name, more in (("read-file", {}), ("write-file", {"content": "x"}), ("list-files", {})):
        with pytest.raises(OutsideWorkspace):
            await run(name, escape, {"path": path, **more}, call)
    assert (escape.parent / "secret.txt").read_text() == "secret"
    assert sorted(os.listdir(escape.parent)) == ["secret.txt", "work", "work-beside"]


async def test_links_inside_are_followed_and_links_out_are_only_named(escape, call):
    (escape / "real.txt").write_text("here")
    (escape / "alias").symlink_to("real.txt")
    assert (await run("read-file", escape, {"path": "alias"}, call))["content"] == "here"
    await run("write-file", escape, {"path": "alias", "content": "new"}, call)
    assert (escape / "alias").is_symlink() and (escape / "real.txt").read_text() == "new"
    listed = await run("list-files", escape, {"recursive": True}, call)
    assert {"name": "out", "type": "link"} in listed["entries"]
    assert not any(entry["name"].startswith("out/") for entry in listed["entries"])


@pytest.mark.parametrize("path", [".lousho/sessions/trip/log.jsonl", "a/.LOUSHO/x", "alias/x"])
async def test_the_store_is_no_part_of_the_working_folder(path, tmp_path, call):
    (tmp_path / ".lousho").mkdir()
    (tmp_path / "alias").symlink_to(".lousho")
    for name, more in (("read-file", {}), ("write-file", {"content": "x"}), ("list-files", {})):
        with pytest.raises(OutsideWorkspace, match="store"):
            await run(name, tmp_path, {"path": path, **more}, call)
    listed = await run("list-files", tmp_path, {"recursive": True}, call)
    assert listed["entries"] == [{"name": "alias", "type": "link"}]


async def test_a_working_folder_that_is_a_link_itself_works(tmp_path, call):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    await run("write-file", tmp_path / "link", {"path": "a.txt", "content": "x"}, call)
    assert (tmp_path / "real" / "a.txt").read_text() == "x"


async def test_what_is_no_file_is_not_read_and_does_not_hang(tmp_path, call):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="no regular file"):
        await run("read-file", tmp_path, {"path": "pipe"}, call)
    with pytest.raises(ValueError, match="no regular file"):
        await run("write-file", tmp_path, {"path": "pipe", "content": "x"}, call)
    with pytest.raises((ValueError, OSError)):
        await run("read-file", tmp_path, {"path": "."}, call)
    with pytest.raises(ValueError, match="working folder"):
        await run("write-file", tmp_path, {"path": ".", "content": "x"}, call)
    with pytest.raises(FileNotFoundError):
        await run("read-file", tmp_path, {"path": "none/there.txt"}, call)


async def test_shell_runs_in_the_working_folder_and_tells_how_it_ended(tmp_path, call, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "sk-123")
    told = await run("shell", tmp_path, {"command": "pwd; echo oops >&2; echo key=$SOME_API_KEY; exit 3"}, call, hidden=["SOME_API_KEY"])
    assert told == {"exit_code": 3, "stdout": f"{tmp_path}\nkey=\n", "stderr": "oops\n"}
    assert call.spawned


async def test_long_shell_output_keeps_its_beginning_and_end(tmp_path, call):
    told = await run("shell", tmp_path, {"command": "seq 1 100000"}, call)
    assert told["stdout"].startswith("1\n2\n") and told["stdout"].endswith("99999\n100000\n")
    assert "characters left out" in told["stdout"] and len(told["stdout"]) < 110_000


async def test_a_question_is_for_a_person_and_never_runs(tmp_path, call):
    tool = BUILTINS["ask-question"](tmp_path)
    args, issues = tool.validate({"question": "Sea or hills?", "options": ["sea", "hills"], "allow_free_text": False})
    assert issues == ()
    assert tool.question(args) == Question("Sea or hills?", ("sea", "hills"), allow_free_text=False)
    free, _ = tool.validate({"question": "Key?", "allow_free_text": False, "secret": True})
    assert tool.question(free) == Question("Key?", allow_free_text=True, secret=True)  # nothing to choose from
    with pytest.raises(RuntimeError):
        await tool.call(args, call.context)
    assert BUILTINS["shell"](tmp_path).question({"command": "x"}) is None


class Handler(BaseHTTPRequestHandler):
    def _answer(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("location", "/echo")
            self.end_headers()
            return
        if self.path == "/slow":
            self.server.release.wait(10)
        data = b"x" * 10_000 if self.path == "/long" else b"\x00\xff" if self.path == "/bytes" else None
        kind = "application/octet-stream" if self.path == "/bytes" else "application/json; charset=utf-8"
        data = data or json.dumps({"method": self.command, "body": body.decode(), "x": self.headers.get("x-own")}).encode()
        self.send_response(404 if self.path == "/none" else 200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_POST = do_HEAD = do_DELETE = _answer

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.release = threading.Event()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.release.set()
    made.shutdown()
    made.server_close()


async def test_http_sends_and_tells_status_headers_and_body(tmp_path, call, server):
    base = f"http://127.0.0.1:{server.server_port}"
    told = await run("http", tmp_path, {"url": base + "/echo", "method": "POST", "json": {"a": 1}, "headers": {"x-own": "y"}}, call)
    assert told["status"] == 200 and told["headers"]["content-type"].startswith("application/json")
    assert json.loads(told["body"]) == {"method": "POST", "body": '{"a":1}', "x": "y"}
    assert (await run("http", tmp_path, {"url": base + "/none"}, call))["status"] == 404
    assert (await run("http", tmp_path, {"url": base + "/moved"}, call))["url"].endswith("/echo")
    assert (await run("http", tmp_path, {"url": base + "/bytes"}, call))["body"] == b"\x00\xff"
    assert (await run("http", tmp_path, {"url": base + "/echo", "method": "HEAD"}, call))["body"] == ""


async def test_http_has_limits(tmp_path, call, server, monkeypatch):
    base = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(http_module, "MAX_BYTES", 1000)
    told = await run("http", tmp_path, {"url": base + "/long"}, call)
    assert (len(told["body"]), told["cut_at_bytes"]) == (1000, 1000)
    with pytest.raises(TimeoutError, match=r"within 0\.2 s"):
        await run("http", tmp_path, {"url": base + "/slow"}, call, timeout_ms=200)
    with pytest.raises(ConnectionError, match="failed"):
        await run("http", tmp_path, {"url": "http://127.0.0.1:1/"}, call)
    with pytest.raises(ValueError, match="not both"):
        await run("http", tmp_path, {"url": base, "body": "x", "json": 1}, call)
    assert BUILTINS["http"](tmp_path).validate({"url": "file:///etc/passwd"})[1][0].path == "url"
