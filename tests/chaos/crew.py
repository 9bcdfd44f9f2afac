"""The processes that are tormented: workers, and a person who decides. Each stands in a place of its own, behind a proxy of its own.

Who is killed is replaced in the same place. All that the processes say is kept, a file for each place and stream.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from cutting_proxy import CuttingProxy
from warm_process import Popen

HERE = Path(__file__).parent
AGENTS = HERE / "agents"
ROOT = HERE.parents[1]


class Proxy(CuttingProxy):
    """One that also does something to who sends certain words, once: before the server hears them."""

    _words: bytes | None = None
    _act: Callable[[], None]

    def at(self, words: str, act: Callable[[], None]) -> None:
        """Calls ``act``, on another thread, when ``words`` are next sent; what was asked for before is forgotten."""
        self._act, self._words = act, words.encode()

    def forget(self) -> bool:
        """Forgets what was asked for; whether it had not happened."""
        words, self._words = self._words, None
        return words is not None

    def _marked(self, data: bytes) -> bool | None:
        words = self._words
        if words is not None and words in data:
            self._words = None
            self._act()
        return super()._marked(data)


class Place:
    """A place for one process, on its way to the server by way of a proxy."""

    def __init__(self, name: str, words: Sequence[str], url: str, folder: Path, environ: dict[str, str]) -> None:
        self.name, self.out, self.err = name, folder / f"{name}.out", folder / f"{name}.err"
        port = int(url.partition("127.0.0.1:")[2].partition("/")[0])
        self.proxy = Proxy(port)
        self._words, self._environ = [word.replace("URL", self.proxy.url(url)) for word in words], environ
        self.pids: set[int] = set()
        self.codes: list[int] = []
        self.start()

    def start(self) -> None:
        """Puts a new process here."""
        with self.out.open("ab") as out, self.err.open("ab") as err:
            self.process = Popen(
                [sys.executable, *self._words], stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=self._environ, cwd=HERE
            )
        self.pids.add(self.process.pid)

    def kill(self) -> None:
        self.process.kill()
        self.ended()

    def ended(self) -> None:
        """Notes with which code the process ended."""
        self.codes.append(self.process.wait(60))

    def remove(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.proxy.close()


class Crew:
    """Workers, and one person.

    Args:
        url: of the store, without the proxies. folder: for what they say and what the tools witness.
        lease_s: how long a worker keeps a session without renewing. pace: the seconds that most calls stay below.
        hold: while it is there, no call comes to its end.
    """

    def __init__(self, url: str, folder: Path, workers: int, lease_s: int, pace: float, hold: Path | None = None) -> None:
        self.witness = folder / "witness"
        known = {name: value for name, value in os.environ.items() if not name.startswith(("LOUSHO_", "COV"))}
        environ = known | {"CHAOS_WITNESS": str(self.witness), "CHAOS_PACE": str(pace), "CHAOS_HOLD": str(hold or "")}
        environ |= {"PYTHONPATH": str(ROOT), "HOME": str(folder)}
        work = ["-m", "lousho_cli", "worker", "--store", "URL", "--agents", str(AGENTS), "--lease", f"{lease_s}s", "--json"]
        decide = [str(HERE / "person_process.py"), "URL"]
        self.workers = [Place(f"worker-{number}", work, url, folder, environ) for number in range(workers)]
        self.person = Place("person", decide, url, folder, environ)

    @property
    def places(self) -> list[Place]:
        return [*self.workers, self.person]

    def told(self, word: str) -> list[str]:
        """What the person told that it had done: the ids of approvals that were ``decided``, the sessions to which it ``sent``."""
        lines = [line.split() for line in self.person.out.read_text().splitlines()]
        return [line[1] for line in lines if line[0] == word and len(line) == 2]

    def end(self) -> None:
        """Tells all to end, and waits until they have."""
        for place in self.places:
            place.process.terminate()
        for place in self.places:
            place.ended()

    def remove(self) -> None:
        """Leaves no process and no proxy behind, whatever happened."""
        for place in self.places:
            place.remove()
