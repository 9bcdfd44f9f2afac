"""What the tests of chaos share: the modules beside this file, and a server that may be killed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pg_server import Server

sys.path.append(str(Path(__file__).parent))


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    # The system itself is not killed, so what it was given is as good as on the disk. What nobody waits for it gets late: a server
    # that is killed surely loses that.
    running = Server("wal_writer_delay=10s", safe=False)
    yield running
    running.remove()
