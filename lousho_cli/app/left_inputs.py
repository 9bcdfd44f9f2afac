"""``run --leave``: an input that is stored and left. Nothing runs here: whoever takes work, such as a worker, goes on with it."""

from __future__ import annotations

import socket

import msgspec

from lousho_cli.app.agents import AgentChoice, stored_path
from lousho_cli.app.driving import Tell, store_flag
from lousho_cli.app.results import RunDone
from lousho_cli.app.run_ends import done_of_session
from lousho_cli.app.running import Meant, RunOrder, free_ids, meant, slug
from lousho_cli.app.wiring import locate_store, open_store
from lousho_cli.core.admit import same_input
from lousho_cli.core.entering import entered
from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import user
from lousho_cli.errors import ConfigurationError, InputRejectedError, SessionBusyError, StorageError
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.host.posting import input_post
from lousho_cli.ports.log_store import LogStore
from lousho_cli.ports.sessions import read_session


class Left(msgspec.Struct, frozen=True):
    """An input that was left. done: its session as it stands. next: the command that looks on."""

    done: RunDone
    input_id: str
    next: str


async def leave(order: RunOrder, tell: Tell) -> Left:
    """Stores an input, for a new session together with its beginning, and comes back.

    Raises:
        ConfigurationError: no such agent, an agent file that is not valid, no input; a flag about how to run; a store in memory.
        NotFoundError: ``last``, and there is no session.
        InputRejectedError: the id was used for other content, or the input will never be taken.
        StorageError: it can not be written.
    """
    _require_no_wishes(order)
    found = await meant(order, tell)
    store = open_store(order.store, create=True)
    assert store is not None, "a store that may be created is always there"
    post = input_post(SYSTEM_CLOCK, order.flags.by, (user(found.text),), order.input_id, "queue", {})
    session_id = await _left_in(store, found, post, order)
    done = done_of_session(session_id, await read_session(store, session_id))
    return Left(done, post.id, f"lousho follow {session_id}{store_flag(AgentChoice(store=order.store))}")


def _require_no_wishes(order: RunOrder) -> None:
    flags = order.flags
    if order.queue or flags.yes or any((flags.max_steps, flags.model, flags.on_drift, flags.interrupted, flags.cassette)):
        detail = "--leave only stores the input: how it is run is up to whoever takes it"
        raise ConfigurationError(detail, code="LOUSHO_USAGE", hint="Say it in the agent file, or to lousho worker.")
    if locate_store(order.store).url == "memory:":
        raise ConfigurationError(
            "a store in memory ends with this process, so nobody could take the input",
            code="LOUSHO_USAGE",
            hint="Name another with --store.",
        )


async def _left_in(store: LogStore, found: Meant, post: Post, order: RunOrder) -> str:
    """Leaves it in the session that is meant, and gives its id."""
    if found.session_id is not None:
        known = found.before.inputs.get(post.id) if found.before is not None else None
        if known is not None and not same_input(known, (user(found.text),), post.by):
            hint = "Use a new id for other content."
            raise InputRejectedError(f"input {post.id} was used before, with other content", code="LOUSHO_INPUT_CONFLICT", hint=hint)
        if found.before is not None or not await _begun(store, found.session_id, found, post, order):
            await store.post(found.session_id, post)
        return found.session_id
    async for candidate in free_ids(store, slug(found.file.name)):
        if await _begun(store, candidate, found, post, order):
            return candidate
    raise StorageError("no free session id was found")


async def _begun(store: LogStore, session_id: str, found: Meant, post: Post, order: RunOrder) -> bool:
    """Begins a session with its first input, all or nothing; False where there is one, or somebody is just beginning it."""
    host, now = socket.gethostname(), SYSTEM_CLOCK.now()
    try:
        claim = await store.claim(session_id, host)
    except SessionBusyError:
        return False
    try:
        if (await store.read(session_id)).head:
            return False
        created = r.Created(found.file.name, stored_path(found.file, order.store))
        records = entered(fold(()), post, now)
        batch = r.Batch(1, claim.epoch, now, (r.Claimed(host), created, *records))
        await store.append(claim, (batch,))
        await store.save_head(claim, head_of(fold((batch,))))
        return True
    finally:
        await store.release(claim)
