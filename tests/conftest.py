"""What tests of several folders need: the real Workers KV, started once for a whole session."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

MINIFLARE = "3.20250718.2"  # the newest that runs on Node 18, which Debian 12 has
FRONT = Path(__file__).parent / "stores" / "kv" / "miniflare_front.mjs"


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
def kv_front() -> Iterator[KVFront]:
    """The front, running. Skips by name where there is no Node."""
    folder = _installed()
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


def _installed() -> Path:
    """The folder that miniflare lies in, installed where it is not there yet."""
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("the real Workers KV needs Node (node and npm)")
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lousho-tests" / f"miniflare-{MINIFLARE}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several workers of one session come at once
        if not _is_there(folder):
            (folder / "package.json").write_text("{}")  # else npm takes that of a folder above
            command = ["npm", "install", "--save-exact", "--no-audit", "--no-fund", "--loglevel=error", f"miniflare@{MINIFLARE}"]
            ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
            if not _is_there(folder):
                told = f"miniflare could not be installed: {ran.stderr[-500:]}"
                pytest.fail(told) if os.environ.get("CI") else pytest.skip(told)
    return folder


def _is_there(folder: Path) -> bool:
    package = folder / "node_modules" / "miniflare" / "package.json"
    return package.exists() and json.loads(package.read_text())["version"] == MINIFLARE


@pytest.fixture
async def workerd(kv_front: KVFront) -> AsyncIterator[Any]:
    """A client of one namespace of the real KV. Tests share it, so each uses keys of its own."""
    client = kv_front.client()
    yield client
    await client.aclose()
