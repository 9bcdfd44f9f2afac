"""The process that is killed, and the one that goes on where it stopped. A script, for real processes.

    python victim.py run STORE EFFECTS      a turn with five calls, one gated; approves it; a final answer
    python victim.py end STORE EFFECTS      goes on from whatever is there to the same end
    python victim.py fork STORE EFFECTS     a fork from step 1 under the id ``copy``, driven to its end
    python victim.py crowd STORE EFFECTS    twenty sessions of five steps at once, or what is left of them

STORE is a folder, or a database where it ends in ``.db``.
EFFECTS is a file outside the store: one line when a tool starts and one when it ends, one for each model
call. stdout is what a caller was told: ``saved SEQ``, ``approval ID``, ``paused ID``, ``done``.
``--replay never`` makes every tool one that must not run twice; ``--apart`` keeps approvals in a store of
their own, beside the other; ``--counted`` has the main thread write and sync however long that takes: on a busy machine
a store leaves it to another, whose calls count apart. An SDKError ends it with code 1 and
``error CODE``; anything else is a traceback, as it would be for a caller.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from lousho_cli.core.transcript import check
from lousho_cli.domain.agent import Agent
from lousho_cli.domain.events import Event
from lousho_cli.domain.records import Batch
from lousho_cli.errors import SDKError
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.approvals import resume_after_approval
from lousho_cli.ports.provider import ModelRequest, ProviderEvent
from lousho_cli.ports.sessions import read_session
from lousho_cli.ports.tool import Issue, ToolContext
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.stores.file import sync
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.sqlite import writer
from lousho_cli.stores.sqlite.store import SqliteStore
from lousho_cli.tools.worker import workers

SESSION = "trip"
INPUT = "Go."
CALLS = [("c1", "note"), ("c2", "threaded"), ("c3", "book"), ("c4", "threaded"), ("c5", "note")]
SAID = "something long, so that the log is longer than the part of it that is cut " * 4
BEHIND = {"c1": "c2"}
"""A call that ends only once another has its result in the log: so there are results behind an unanswered call."""

CROWD, CROWD_STEPS = 20, 5

SCRIPT = [
    {"text": "Five things.", "tool_calls": [{"id": call, "name": name, "args": {"of": call}} for call, name in CALLS]},
    {"text": "All five are done."},
]
CROWD_SCRIPT = [
    *({"text": f"Step {n}.", "tool_calls": [{"id": f"s{n}", "name": "note", "args": {}}]} for n in range(1, CROWD_STEPS)),
    {"text": "The last step."},
]


class Effects:
    """A file that everything done in the world leaves a line in. Written with ``writev``: ``write`` is the store's alone."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def line(self, *words: object) -> None:
        os.writev(self._file, [(" ".join(map(str, words)) + "\n").encode()])


class Effect:
    """A tool that leaves a line when it starts and one when it ends."""

    description = "Does something in the world."
    schema: Mapping[str, Any] = {"type": "object"}

    def __init__(self, name: str, effects: Effects, replay: Any, recorded: Mapping[str, asyncio.Event]) -> None:
        self.name, self.replay, self.needs_approval = name, replay, name == "book"
        self._effects, self._recorded = effects, recorded

    def validate(self, args: Any) -> tuple[Any, tuple[Issue, ...]]:
        return args, ()

    def question(self, args: Any) -> None:
        return None

    async def call(self, args: Any, context: ToolContext) -> Any:
        if self.name == "threaded":
            return await workers().run(lambda: self._do(context), brief=False)
        self._effects.line("start", context.session_id, context.tool_call_id)
        await asyncio.sleep(0)
        if context.tool_call_id in BEHIND:
            await self._recorded[BEHIND[context.tool_call_id]].wait()
        self._effects.line("end", context.session_id, context.tool_call_id)
        return {"did": context.tool_call_id, "and said": SAID}

    def _do(self, context: ToolContext) -> Any:
        self._effects.line("start", context.session_id, context.tool_call_id)
        self._effects.line("end", context.session_id, context.tool_call_id)
        return {"did": context.tool_call_id, "and said": SAID}

    async def reap(self, pid: int, started: str) -> bool:
        return False


class Model:
    """The scripted model, which refuses what a real provider would refuse."""

    def __init__(self, script: Sequence[Any], effects: Effects, session: str) -> None:
        self._inner = ScriptedProvider(script)
        self._effects, self._session = effects, session
        self.name, self.model = self._inner.name, self._inner.model

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        problem = check(request.messages)
        assert problem is None, f"an invalid transcript came to the provider: {problem}"
        self._effects.line("model", self._session, request.turns)
        async for event in self._inner.stream(request):
            yield event


def tell(*words: object) -> None:
    os.writev(1, [(" ".join(map(str, words)) + "\n").encode()])


class Acknowledging:
    """Makes a store tell of everything it has acknowledged as durable."""

    async def append(self, claim: Any, batches: Sequence[Batch], *, durable: bool = True) -> None:
        await super().append(claim, batches, durable=durable)  # type: ignore[misc]
        if durable and batches:
            tell("saved", batches[-1].seq, claim.log_id)

    async def flush(self, claim: Any) -> None:
        seq = claim.head
        await super().flush(claim)  # type: ignore[misc]
        tell("saved", seq, claim.log_id)


class Files(Acknowledging, FileStore):
    pass


class Rows(Acknowledging, SqliteStore):
    pass


def opened(path: str) -> FileStore | SqliteStore:
    """The store at a path: a database where that says so, else a folder."""
    return Rows(path) if path.endswith(".db") else Files(path)


class Person:
    """Somebody who starts a session, approves what waits, and sees it through."""

    def __init__(
        self, store: FileStore | SqliteStore, effects: Effects, options: Any, session: str = SESSION, script: Sequence[Any] = SCRIPT
    ) -> None:
        self.store, self.session = store, session
        self.approvals = FileStore(f"{options.store}-approvals").approvals if options.apart else store.approvals
        self._model = Model(script, effects, session)
        self._recorded: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._tools = [Effect(name, effects, options.replay, self._recorded) for name in ("note", "threaded", "book")]

    async def send(self, what: Any = INPUT) -> None:
        result = await AgentExecutor.execute(
            Agent("victim", prompt="You do things."),
            what,
            self._model,
            self._tools,
            session_id=self.session,
            checkpoint_store=self.store.checkpoints,
            approval_store=self.approvals,
            on_event=self._told,
        )
        self._ended(result)

    async def approve(self, approval_id: str) -> None:
        options = {"on_event": self._told}
        decision = {"id": approval_id, "approved": True, "by": "somebody"}
        self._ended(await resume_after_approval(decision, self.store.approvals, self._tools, self._model, options, self.store.checkpoints))

    async def go_on(self, what: Any = INPUT) -> None:
        """Whatever is there, to its end."""
        session = await read_session(self.store, self.session)
        for call in session.turn.results if session.turn else ():
            self._recorded[call].set()
        while not session.ended:
            if session.wait is None:
                await self.send(what)
            elif await self.approvals.load(session.wait.id) is None:
                await self.send([])  # it was taken by a process that died: the call is gated again
            else:
                await self.approve(session.wait.id)
            session = await read_session(self.store, self.session)

    def _told(self, event: Event) -> None:
        if event.type == "step.saved":
            tell("saved", event.cursor, self.session)
        elif event.type in ("tool.done", "tool.error"):
            self._recorded[event.id].set()
        elif event.type == "approval.requested":
            tell("approval", event.approval.id)

    def _ended(self, result: Any) -> None:
        if result.approval_id:
            tell("paused", result.approval_id)
        else:
            tell("done", self.session)


async def run(store: FileStore | SqliteStore, effects: Effects, options: Any) -> None:
    person = Person(store, effects, options)
    await person.send()
    waits = (await person.approvals.list())[0]
    await person.approve(waits.id)


async def end(store: FileStore | SqliteStore, effects: Effects, options: Any) -> None:
    await Person(store, effects, options).go_on()


async def fork(store: FileStore | SqliteStore, effects: Effects, options: Any) -> None:
    if not (await read_session(store, "copy")).exists:
        forked = await AgentExecutor.fork(SESSION, 1, store.checkpoints, new_session_id="copy")
        tell("forked", forked.session_id)
    await Person(store, effects, options, "copy").go_on([])


async def crowd(store: FileStore | SqliteStore, effects: Effects, options: Any) -> None:
    people = [Person(store, effects, options, f"s{n:02}", CROWD_SCRIPT) for n in range(CROWD)]
    random.shuffle(people)
    await asyncio.gather(*(person.go_on() for person in people))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["run", "end", "fork", "crowd"])
    parser.add_argument("store")
    parser.add_argument("effects")
    parser.add_argument("--replay", default="safe")
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("--counted", action="store_true")
    options = parser.parse_args()
    if options.counted:
        sync.INLINE_BELOW_S = writer.INLINE_BELOW_S = math.inf
    work = {"run": run, "end": end, "fork": fork, "crowd": crowd}[options.what]
    try:
        asyncio.run(work(opened(options.store), Effects(options.effects), options))
    except SDKError as error:
        tell("error", error.code)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
