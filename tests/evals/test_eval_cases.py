"""Cassettes of evals under what people have met: secrets, equal requests, other spellings, changed prompts, compressed streams."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from lousho_cli import CassetteMismatchError, OpenAIProvider, cassette

KEY = "plain-words-of-a-key-0123456789"
ASSISTANT = "sk-proj-" + "a1B2c3D4" * 4
TOKEN = "ghp_" + "x7Y8z9A0" * 5
COOKIE, ORG = "session-cookie-of-the-server", "org-id-of-the-account"


class Server(ThreadingHTTPServer):
    """Speaks chat completions, compressed, with all that a server may send beside."""

    daemon_threads = True
    tells = f" Your token is {TOKEN}."

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        pieces = [f"It is sunny, {word}." for word in ("warm", "and", "dry")] + [self.server.tells]
        chunks = [{"choices": [{"index": 0, "delta": {"content": piece}}], "service_token": TOKEN, "organization": ORG} for piece in pieces]
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 5, "completion_tokens": 7}}
        said = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in [*chunks, end]) + "data: [DONE]\n\n"
        body = gzip.compress(said.encode())
        self.send_response(200)
        for name, value in {
            "content-type": "text/event-stream",
            "content-encoding": "gzip",
            "content-length": str(len(body)),
            "set-cookie": f"id={COOKIE}",
            "openai-organization": ORG,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.shutdown()
    running.server_close()


def _stored(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.rglob("__cassettes__/**/*") if path.is_file())


@pytest.mark.parametrize("key", [KEY, ASSISTANT])
def test_case_071_a_key_in_the_prompt_is_not_stored_and_still_hits(evals: Any, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    evals.agent()
    evals.eval({"input": f"My key is {key}, keep it"})
    assert evals.lousho("eval", "--record").code == 0
    assert "[REDACTED]" in _stored(evals.folder)
    assert key not in _stored(evals.folder)
    played = evals.lousho("eval", "--replay", "--json")
    assert (played.code, played.data["cases"][0]["source"]) == (0, "replayed")


def test_case_072_nothing_of_headers_cookies_and_tokens_is_stored(evals: Any, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    evals.write("live.yaml", json.dumps({"name": "a", "prompt": "b", "provider": {"type": "openai", "model": "m", "base_url": server.url}}))
    evals.eval({"expect": {"reply": "sunny"}}, agent="live.yaml")
    assert evals.lousho("eval", "--record").code == 0
    stored = _stored(evals.folder)
    assert "sunny" in stored
    assert not [secret for secret in (TOKEN, COOKIE, ORG, KEY) if secret in stored]
    assert evals.lousho("eval", "--replay").code == 0


async def test_case_074_equal_requests_get_their_own_answers_and_no_more(bench: Any, tape: Path) -> None:
    recording = cassette(bench.Model("1", "2"), tape, "record")
    assert [await bench.said(recording, "the same") for _ in range(2)] == ["1", "2"]
    for match in ("sequence", "request"):
        playing = cassette(None, tape, "replay", match)
        assert [await bench.said(playing, "the same") for _ in range(2)] == ["1", "2"]
        with pytest.raises(CassetteMismatchError, match="one more than the cassette"):
            await bench.said(playing, "the same")


def test_case_075_another_order_of_keys_and_other_blanks_are_a_hit(evals: Any) -> None:
    evals.agent({"tool_calls": [{"name": "weather", "args": {"city": "Lisbon", "at": "noon"}, "id": "call_1"}]}, {"text": "Sunny."})
    evals.eval()
    evals.lousho("eval", "--record")
    [path] = evals.folder.rglob("__cassettes__/*/*.json")
    whole = json.loads(path.read_text())
    args = whole["entries"][1]["request"]["messages"][2]["toolCalls"][0]
    assert json.loads(args["args"]) == {"city": "Lisbon", "at": "noon"}
    args["args"] = '{ "at":"noon",\n "city" : "Lisbon" }'
    path.write_text(json.dumps(_turned(whole), indent=7))
    assert evals.lousho("eval", "--replay").code == 0


def _turned(value: Any) -> Any:
    """The same JSON with the keys of every object the other way round."""
    if isinstance(value, dict):
        return {key: _turned(value[key]) for key in reversed(value)}
    return [_turned(item) for item in value] if isinstance(value, list) else value


def test_case_076_a_changed_prompt_is_a_miss_that_names_the_case_and_asks_nobody(evals: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    evals.agent(prompt="Be brief and kind.")
    evals.eval({"name": "one"}, {"name": "two"})
    evals.lousho("eval", "--record")
    evals.agent(prompt="Be brief and rude.")
    tried: list[Any] = []
    for place, name in ((socket.socket, "connect"), (socket.socket, "connect_ex"), (socket, "getaddrinfo")):
        monkeypatch.setattr(place, name, lambda *args, **more: tried.append(args))
    ran = evals.lousho("eval", "--replay", "--json")
    assert ran.code == 10
    assert [case["case"] for case in ran.data["cases"]] == ["one", "two"]
    for case in ran.data["cases"]:
        assert case["result"] == "failed"
        [miss] = case["assertions"]
        told = miss["detail"]
        assert 'messages[0].content is "Be brief and rude.", recorded was "Be brief and kind."' in told
        key, entry, recorded = (
            told.partition("(its key is ")[2].partition(")")[0].replace(", nearest is entry ", " ").replace(", ", " ").split()
        )
        assert (entry, len(key), len(recorded)) == ("1", 12, 12)
        assert key != recorded
        assert f"Record it: lousho eval --record trip.eval.yaml::{case['case']}" in told
    assert not tried


async def test_case_078_a_compressed_stream_is_the_same_live_recorded_and_played(
    bench: Any, tape: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.tells = "Take a hat."
    asked = bench.request("How is it?", model="m")
    seen = []
    for provider in (OpenAIProvider("m", base_url=server.url), OpenAIProvider("m", base_url=server.url)):
        asking = cassette(provider, tape, "record") if seen else provider
        seen.append(await bench.events(asking, asked))
        await asking.aclose()
    live, recorded = seen
    played = await bench.events(cassette(None, tape, "replay"), asked)
    assert recorded == live
    assert len(live) == 5
    assert played == live
