"""An HTTP server that fails as it is told, answer by answer, and else passes on to the real KV."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


class FailingFront:
    """``failures`` are used up in order: a status with headers and a message, or None for a connection that is cut."""

    def __init__(self, real: str) -> None:
        self.failures: list[tuple[int, dict[str, str], str] | None] = []
        self.asked: list[str] = []
        self._real = urlsplit(real)
        front = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: Any) -> None:
                return

            def do_GET(self) -> None:
                front.answer(self)

            do_PUT = do_DELETE = do_GET

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._server.server_port}{self._real.path}"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("content-length", 0)))
        self.asked.append(request.command)
        if not self.failures:
            connection = http.client.HTTPConnection(self._real.netloc)
            connection.request(request.command, request.path, body, {"authorization": request.headers["authorization"]})
            answer = connection.getresponse()
            self._send(request, answer.status, {}, answer.read())
            connection.close()
            return
        failure = self.failures.pop(0)
        if failure is None:
            request.close_connection = True
            request.connection.close()
            return
        status, headers, message = failure
        said = (
            message
            if message[:1] == "<"
            else json.dumps({"success": False, "errors": [{"code": 10000, "message": message}], "result": None})
        )
        self._send(request, status, headers, said.encode())

    def _send(self, request: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes) -> None:
        request.send_response(status)
        for name, value in {**headers, "content-length": str(len(body))}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(body)

    @contextmanager
    def running(self) -> Iterator[FailingFront]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()
