"""Where the system gives no further thread, what a person asked for has failed and says so: it is not said to run for ever."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from lousho_cli.errors import SDKError
from lousho_cli.tui.acting import Actor
from lousho_cli.tui.deeds import Deed
from lousho_cli.tui.reading import Reader


async def test_what_can_not_begin_has_failed(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def act(deed: Deed) -> None:
        """Never begins."""

    actor, reader = Actor(None, (), lambda deed: None), Reader(str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        deed = actor.do(Deed("resume trip", "lousho resume trip", "trip"), act)
        assert (deed.state, "can't start new thread" in deed.ended, actor.running) == ("failed", True, [])
        with pytest.raises(SDKError) as raised:
            await actor.ask(lambda: act(deed))
        assert raised.value.code == "LOUSHO_NO_THREAD"
        with pytest.raises(SDKError, match="can't start new thread"):
            await reader.sessions()
    await reader.sessions()  # it is asked again, and does not wait for a thread that never was
