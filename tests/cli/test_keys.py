"""Keys and other secrets of a provider, on the way from the environment to the server: nowhere else are they ever found."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

SECRETS = {"MY_KEY": "sk-key-of-mine-1", "TEAM_KEY": "team-key-of-mine-2"}


class Model(BaseHTTPRequestHandler):
    """Answers the first request, and from then on repeats the secrets it was sent in a refusal."""

    asked: list[dict[str, str]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.asked.append({name.lower(): value for name, value in self.headers.items()})
        first = len(self.asked) == 1
        said = (
            {"choices": [{"message": {"content": "Hello."}, "finish_reason": "stop"}]} if first else {"error": " ".join(SECRETS.values())}
        )
        body = json.dumps(said).encode()
        self.send_response(200 if first else 400)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    Model.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def test_case_203_a_key_is_sent_and_stands_in_no_record_and_no_error(
    lousho: Any, folder: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    provider = (
        f"{{ type: vllm, model: m, base_url: 'http://127.0.0.1:{port}/v1', api_key_env: MY_KEY, headers_env: {{ x-team: TEAM_KEY }} }}"
    )
    (folder / "agent.yaml").write_text(f"name: garden\nprompt: p\nprovider: {provider}\n")
    good, bad = lousho("run", "hi", "--json"), lousho("run", "hi", "--json", "-s", "other")
    assert (good.code, good.data["text"], bad.code) == (0, "Hello.", 1)
    assert [(asked["authorization"], asked["x-team"]) for asked in Model.asked] == [
        (f"Bearer {SECRETS['MY_KEY']}", SECRETS["TEAM_KEY"])
    ] * 2
    written = b"".join(path.read_bytes() for path in (folder / ".lousho").rglob("*") if path.is_file())
    assert b"Hello." in written
    for text in (good.out, good.err, bad.out, bad.err, written.decode(), lousho("doctor").out):
        assert "of-mine" not in text
