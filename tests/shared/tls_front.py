"""TLS in front of a server that has none, as the server itself would do it: the client asks in plain for it, and then speaks within it."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import pytest

_ASKED = bytes.fromhex("0000000804d2162f")


class Authority:
    """Who signs certificates. ``file``: its own, for those who trust it."""

    def __init__(self, folder: Path) -> None:
        self._program = shutil.which("openssl")
        if self._program is None:
            pytest.skip("openssl is not installed")
        folder.mkdir()
        self._folder, self.file = folder, folder / "ca.pem"
        self._make("ca", "-addext", "basicConstraints=critical,CA:TRUE")

    def certificate(self, host: str) -> tuple[Path, Path]:
        """A certificate for a host, and its key."""
        signed = ("-CA", str(self.file), "-CAkey", str(self._folder / "ca.key"))
        self._make(host, *signed, "-addext", f"subjectAltName=DNS:{host}", "-addext", "basicConstraints=critical,CA:FALSE")
        return self._folder / f"{host}.pem", self._folder / f"{host}.key"

    def _make(self, name: str, *more: str) -> None:
        key, file = self._folder / f"{name}.key", self._folder / f"{name}.pem"
        new = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
        command = [str(self._program), *new, "-subj", f"/CN={name}", "-keyout", str(key), "-out", str(file), *more]
        subprocess.run(command, check=True, capture_output=True)


class TlsFront:
    """Leads ``port`` to a server on loopback; nothing but TLS comes in."""

    def __init__(self, server_port: int, certificate: tuple[Path, Path]) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(*certificate)
        self._server_port = server_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.let_in = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with plain, suppress(OSError):
            if plain.recv(8, socket.MSG_WAITALL) != _ASKED:
                return
            plain.sendall(b"S")
            with self._context.wrap_socket(plain, server_side=True) as client:
                self.let_in += 1
                with socket.create_connection(("127.0.0.1", self._server_port)) as server:
                    threading.Thread(target=_pass, args=(server, client), daemon=True).start()
                    _pass(client, server)


def _pass(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for one in (source, target):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
