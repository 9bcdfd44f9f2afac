"""What waits for its turn in a log."""

from __future__ import annotations

import msgspec

from lousho_cli.core.entering import messages_of
from lousho_cli.core.fold_inputs import resets
from lousho_cli.domain.heads import Post
from lousho_cli.host.receipts import Waiting
from lousho_cli.ports.log_store import LogStore
from lousho_cli.ports.sessions import read_session


async def waiting_inputs(store: LogStore, thread_id: str) -> tuple[Waiting, ...]:
    """The inputs that wait in a log, in the order in which they run, and behind them those that its owner has not seen yet."""
    session = await read_session(store, thread_id)
    steering = session.joining
    order = (*steering, *(i for i in session.waiting if i not in steering))
    known = [(i, session.inputs[i]) for i in order if session.inputs[i].messages and not resets(session.inputs[i])]
    listed = [Waiting(i, "steer" if state.joins else "queue", state.messages, state.by) for i, state in known]
    left = [post for post in await store.inbox(thread_id) if post.kind == "input" and post.id not in session.inputs]
    return (*listed, *(waiting for post in left if (waiting := _left(post)) is not None))


def _left(post: Post) -> Waiting | None:
    try:
        messages = messages_of(post)
    except msgspec.ValidationError:
        return None
    return Waiting(post.id, "queue", messages, post.by) if messages else None
