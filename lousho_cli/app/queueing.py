"""An input for a session that somebody else drives: left for its owner, and followed to its end.

The input is durable once it is left. Whoever drives the session takes it up; when nobody does any
more, we do.
"""

from __future__ import annotations

import asyncio

import msgspec

from lousho_cli.app.driving import Job, Ran, drive, ran_of
from lousho_cli.app.signals import Caught, watching
from lousho_cli.app.streaming import InputFollower
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import user
from lousho_cli.errors import SessionBusyError
from lousho_cli.executor.abort import AbortController, AbortSignal
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.executor.results import RunResult, result_of
from lousho_cli.host.session import HostSession
from lousho_cli.ports.sessions import read_session


async def queue(job: Job, text: str, input_id: str | None) -> Ran:
    """Leaves an input for the owner of a session, and comes back when its turn ended or waits for a person.

    Raises:
        InputRejectedError: the id was used for other content, or the input will never be taken.
    """
    input_id = input_id or SYSTEM_CLOCK.new_id()
    post = Post(id=input_id, kind="input", at=SYSTEM_CLOCK.now(), by=job.flags.by, body=[msgspec.to_builtins(user(text))])
    await job.store.post(job.session_id, post)
    job.tell(f"queued as input {input_id}: it is kept, and whoever drives the session takes it up")
    follower = InputFollower(job.store, job.session_id, input_id, job.listener)
    while True:
        with watching(controller := AbortController(), job.tell) as caught:
            rests = await _follow(job, follower, controller.signal)
        if rests:
            return await _ran(job, follower, input_id, caught)
        try:
            return await drive(job, lambda session: _take_up(job, session, text, input_id))
        except SessionBusyError:
            continue  # somebody else was quicker, and will take it up


async def _follow(job: Job, follower: InputFollower, signal: AbortSignal) -> bool:
    """Follows until the input rests or a signal comes; False when nobody drives the session any more."""
    leave = asyncio.ensure_future(signal.wait())
    try:
        while not await follower.advance() and not signal.aborted:
            if await job.store.owner(job.session_id) is None:
                return await follower.advance() or signal.aborted  # what its owner wrote before it left
            news = asyncio.ensure_future(follower.wait())
            await asyncio.wait({news, leave}, return_when=asyncio.FIRST_COMPLETED)
            news.cancel()
    finally:
        leave.cancel()
    return True


async def _take_up(job: Job, session: HostSession, text: str, input_id: str) -> RunResult:
    """Drives what waits, the turn first that its owner left open; one that failed or was aborted has ended, and stays so."""
    ended = (await read_session(job.store, job.session_id)).outcome in ("failed", "aborted")
    return await (session.execute(text, input_id=input_id) if ended else session.resume())


async def _ran(job: Job, follower: InputFollower, input_id: str, caught: Caught) -> Ran:
    session = follower.session
    known = session.inputs.get(input_id)
    if session.awaiting and (known is None or known.status != "settled"):
        job.tell("the input is kept, and is taken up once that is decided")
    return await ran_of(job, result_of(job.session_id, session), None, caught)
