"""Starts the program: on a terminal, for one picture, or for a browser's window."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from textual.pilot import Pilot

from lousho_cli.app.signals import SIGNALLED
from lousho_cli.errors import StorageError
from lousho_cli.tui.collecting import only_what_is_new
from lousho_cli.tui.own_terminal import own_terminal
from lousho_cli.tui.picture import svg_of
from lousho_cli.tui.program import Lousho
from lousho_cli.tui.reading import Reader


def run(flag: str | None, session: str | None, told: Callable[[str], None], agents: Sequence[str] = ()) -> int:
    """Shows the program until the person leaves it; gives the exit code.

    Args:
        flag: the store, as ``--store`` says it.
        session: what to open, an id or an address.
        agents: where agents are found by name, as ``--agents`` says it.
        told: gets what is to be said once the terminal is given back, such as the command that goes on with what was stopped.

    Raises:
        Exception: a fault in the program itself. The terminal is as it was before.
    """
    with own_terminal():
        app = program(flag, session, agents)
        code = asyncio.run(_until_left(app))
    app.actor.close(told)
    if app.failure is not None:
        raise app.failure
    return code


def program(flag: str | None, session: str | None = None, agents: Sequence[str] = ()) -> Lousho:
    """The program with the newest sessions read, so that its first frame shows them."""
    reader = Reader(flag)
    return Lousho(reader, session, sessions=reader.first(), agents=agents)


async def _until_left(app: Lousho) -> int:
    ended_by: list[int] = []

    def end(number: int) -> None:
        ended_by.append(number)
        app.exit()

    with _signals(end), only_what_is_new():
        await app.run_async()
    return SIGNALLED + ended_by[0] if ended_by else 0


@contextmanager
def _signals(end: Callable[[int], None]) -> Iterator[None]:
    """A signal that would kill the process leaves the program instead, so that the terminal is given back as it was."""
    loop = asyncio.get_running_loop()
    caught = [number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    for number in caught:
        loop.add_signal_handler(number, end, number)
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)


def picture(flag: str | None, session: str | None, file: Path, size: tuple[int, int]) -> None:
    """Writes one frame as SVG, once everything in it is read. Needs no terminal.

    Args:
        size: columns and rows.

    Raises:
        StorageError: the file can not be written.
    """
    app = Lousho(Reader(flag), session, follow=False)
    app.theme = "dark"
    svg = ""

    async def look(pilot: Pilot[object]) -> None:
        nonlocal svg
        for _ in range(3):  # what one worker reads has the next pane begin another
            await app.workers.wait_for_complete()
            await pilot.pause()
        svg = svg_of(app)
        app.exit()

    asyncio.run(app.run_async(headless=True, size=size, auto_pilot=look))
    if app.failure is not None:
        raise app.failure
    try:
        file.write_text(svg, encoding="utf-8")
    except OSError as error:
        hint = "Check the folder, its permissions and the free space."
        raise StorageError(f"{file}: {(error.strerror or str(error)).lower()}", hint=hint) from error
