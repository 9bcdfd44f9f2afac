"""``inputs``: what was sent to a session and waits for its turn, and taking one of them back. Who drives the session does that itself."""

from __future__ import annotations

import time
from typing import Literal

import msgspec

from lousho_cli.app.loading import load, require_writable
from lousho_cli.app.people import login_name
from lousho_cli.app.sessions import find_session
from lousho_cli.app.wiring import open_store
from lousho_cli.errors import NotFoundError, OwnershipLostError, SessionBusyError
from lousho_cli.host.waiting import waiting_inputs
from lousho_cli.ports.log_store import LogStore
from lousho_cli.ports.sessions import read_session

SILENT_AFTER_S = 5.0
"""An owner that has not taken a wish up for so long is silent; a living one looks every 20 ms."""

_WATCH_MS = 100


class WaitingInput(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An input that waits. ``delivery``: for a turn of its own, or to steer the one that runs. ``by``: who sent it, where that is known."""

    id: str
    delivery: Literal["queue", "steer"]
    text: str
    by: str | None = None


class Inputs(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The inputs of a session that wait, in the order in which they run. ``dropped``: the one that was just taken back."""

    session: str
    waiting: tuple[WaitingInput, ...]
    dropped: str | None = None


async def inputs(store_flag: str | None, name: str) -> Inputs:
    """What waits in a session.

    Args:
        name: an id, or the beginning of one.

    Raises:
        NotFoundError, AmbiguousError: there is no such session, or several.
        StorageError: it can not be read.
    """
    store, session_id = await find_session(open_store(store_flag, create=False), name)
    return Inputs(session=session_id, waiting=await _waiting(store, session_id))


async def drop(store_flag: str | None, name: str, input_id: str) -> Inputs:
    """Takes an input back that waits, and comes back when the log says so: it never runs, and ends aborted.

    Raises:
        NotFoundError: there is no such session, or the input does not wait there: unknown, begun or ended; ``kept`` lists what waits.
        SessionBusyError: who drives the session does not answer; the wish is left for it.
        StorageError: it can not be written.
    """
    store, session_id = await find_session(open_store(store_flag, create=False), name)
    require_writable(await load(store, session_id))
    if any(one.id == input_id for one in await _waiting(store, session_id)):
        while not await _asked_or_taken_back(store, session_id, input_id):
            pass
        known = (await read_session(store, session_id)).inputs.get(input_id)
        if known is not None and known.outcome == "aborted" and known.operation is None:
            return Inputs(session=session_id, waiting=await _waiting(store, session_id), dropped=input_id)
    kept = tuple(one.id for one in await _waiting(store, session_id))
    hint = f"What waits: {', '.join(kept)}." if kept else "Nothing waits there; stop a turn that has begun with: lousho abort " + session_id
    raise NotFoundError(f"no input {input_id} waits in session {session_id}", code="LOUSHO_INPUT_NOT_WAITING", kept=kept, hint=hint)


async def _asked_or_taken_back(store: LogStore, session_id: str, input_id: str) -> bool:
    """Whether it waits no more; False where who drove the session left before it saw the wish."""
    from lousho_cli.executor.taking_back import take_back_input

    try:
        await take_back_input(store, session_id, input_id, by=login_name())
        return True
    except OwnershipLostError:
        raise
    except SessionBusyError as busy:
        return await _asked(store, session_id, input_id, busy)


async def _asked(store: LogStore, session_id: str, input_id: str, busy: SessionBusyError) -> bool:
    from lousho_cli.executor.taking_back import taking_back

    post, asked = taking_back(input_id, login_name()), time.monotonic()
    await store.post(session_id, post)
    while True:
        driven = await store.owner(session_id) is not None
        session = await read_session(store, session_id)
        known = session.inputs.get(input_id)
        if not driven or (known is not None and known.status != "received"):
            await store.discard(session_id, [post.id])
            return driven
        if time.monotonic() - asked >= SILENT_AFTER_S and any(one.id == post.id for one in await store.inbox(session_id)):
            raise SessionBusyError(session_id, busy.owner, hint="It does not answer; the wish is kept, and counts once it sees it.")
        await store.watch(session_id, session.seq, _WATCH_MS)


async def _waiting(store: LogStore, session_id: str) -> tuple[WaitingInput, ...]:
    found = await waiting_inputs(store, session_id)
    texts = ["\n".join(message.text for message in one.messages) for one in found]
    return tuple(WaitingInput(id=one.input_id, delivery=one.delivery, text=text, by=one.by) for one, text in zip(found, texts, strict=True))
