"""A TCP proxy in front of a server, which cuts connections at chosen points: before a statement arrives, or behind what it did."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class CuttingProxy:
    """Leads ``port`` to a server on loopback. All its connections are cut by ``cut_all``, or one of them by what it says.

    begins: False for one that nobody can connect to, as to a server that was not started, before ``begin``.
    """

    def __init__(self, server_port: int, *, begins: bool = True) -> None:
        self._server_port = server_port
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._marks: list[tuple[bytes, bool]] = []
        self.cuts = 0
        self.silent = False
        self._refuses = False
        if begins:
            self.begin()

    def begin(self) -> None:
        """Takes connections from now on."""
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, server_url: str) -> str:
        """An address of the server, by way of here."""
        return server_url.replace(f":{self._server_port}/", f":{self.port}/")

    def cut_at(self, mark: str, *, done: bool) -> None:
        """Cuts the next connection that sends ``mark``: once the server has answered, and the answer is lost, or before it hears."""
        with self._lock:
            self._marks.append((mark.encode(), done))

    def cut_all(self) -> None:
        """Cuts every connection there is."""
        with self._lock:
            some = list(self._open)
        for one in some:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def refuse(self, refuses: bool = True) -> None:
        """Takes no more connections, until it is told to again."""
        self._refuses = refuses
        if refuses:
            self.cut_all()

    def close(self) -> None:
        self._refuses = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut_all()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._refuses:
                client.close()
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self._server_port))
            except OSError:
                client.close()
                continue
            with self._lock:
                self._open |= {client, server}
                refused = self._refuses  # told so since: who cuts what is open may have looked already
            if refused:
                self._drop(client, server)
                continue
            pair = _Pair(self, client, server)
            threading.Thread(target=pair.to_server, daemon=True).start()
            threading.Thread(target=pair.to_client, daemon=True).start()

    def _marked(self, data: bytes) -> bool | None:
        """Whether what was said is a point to cut at, and if so whether behind its answer."""
        with self._lock:
            for mark in self._marks:
                if mark[0] in data:
                    self._marks.remove(mark)
                    self.cuts += 1
                    return mark[1]
        return None

    def _drop(self, *sockets: socket.socket) -> None:
        with self._lock:
            self._open -= set(sockets)
        for one in sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            with suppress(OSError):
                one.close()


class _Pair:
    """One connection, from both sides."""

    def __init__(self, proxy: CuttingProxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy, self._client, self._server = proxy, client, server
        self._swallow = threading.Event()

    def to_server(self) -> None:
        with suppress(OSError):
            while data := self._client.recv(65536):
                point = self._proxy._marked(data)
                if point is False:
                    break
                if point:
                    self._swallow.set()
                while self._proxy.silent:
                    threading.Event().wait(0.02)
                self._server.sendall(data)
            if self._swallow.is_set():
                return  # who reads the answer ends it
        self._proxy._drop(self._client, self._server)

    def to_client(self) -> None:
        with suppress(OSError):
            while data := self._server.recv(65536):
                if self._swallow.is_set():
                    break  # it answers once it is done
                while self._proxy.silent:
                    threading.Event().wait(0.02)
                self._client.sendall(data)
        self._proxy._drop(self._client, self._server)
