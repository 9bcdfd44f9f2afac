"""Sessions of real agents with scripted models, to be acted on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from lousho_cli.app.running import RunOrder, run
from lousho_cli.domain import records as r
from lousho_cli.stores.file.store import FileStore
from lousho_cli.tui.deeds import Deed
from tests.tui.conftest import Seen

PAYER = """
name: payer
prompt: You pay bills.
provider:
  type: scripted
  turns:
    - { text: "Let me look.", tool_calls: [{ name: look, args: {}, id: c_look }, { name: pay, args: { to: Ana, amount: 12 }, id: c_pay }] }
    - - { when: { result: { c_pay: "unpaid" } }, text: "It is not paid." }
      - { text: "Paid." }
    - { text: "You said more." }
tools:
  - { name: look, command: ["sh", "-c", "echo looked >> ran.txt; echo '\\"seen\\"'"], replay: safe }
  - name: pay
    command: ["sh", "-c", "echo paid >> ran.txt; echo '\\"paid\\"'"]
    replay: never
    input:
      type: object
      properties: { to: { type: string }, amount: { type: integer, minimum: 1 } }
      required: [to, amount]
      additionalProperties: false
"""

GATED = PAYER.replace("    replay: never\n", "    replay: never\n    needs_approval: true\n")


async def begin(target: str, session: str, text: str | None = None) -> None:
    """Runs an agent to its end or its pause, as ``lousho run`` does."""
    await run(RunOrder(target, text, session=session), lambda _: None, lambda _: None)


def records(folder: Path, session: str) -> list[r.Record]:
    """Everything in the log of a session."""
    read = FileStore(folder / ".lousho").read(session)
    try:
        read.send(None)
    except StopIteration as end:
        return [record for batch in end.value.batches for record in batch.records]
    raise AssertionError("reading a file never waits")


def of(kind: Any, found: list[r.Record]) -> list[Any]:
    return [record for record in found if isinstance(record, kind)]


def text_of(folder: Path, session: str) -> str:
    """The last answer of a session."""
    turns = of(r.Turn, records(folder, session))
    return str(turns[-1].message.content)


def ran(folder: Path) -> list[str]:
    """What the tools did, in order."""
    file = folder / "ran.txt"
    return file.read_text().split() if file.exists() else []


async def done(seen: Seen, fact: Callable[[Deed], Any] = lambda deed: deed.state != "runs") -> Deed:
    """The newest deed, once it has come to its end."""
    await seen.until(lambda: seen.app.actor.deeds and fact(seen.app.actor.deeds[-1]))
    deed = seen.app.actor.deeds[-1]
    await seen.until(lambda: deed.shown)
    await seen.pilot.pause()
    return deed


def words(seen: Seen) -> str:
    """The screen as words with one blank between them, however wide it is."""
    return " ".join(seen.text.split())


def notices(seen: Seen) -> str:
    """What the program told the person for a while."""
    return "\n".join(notice.message for notice in seen.app._notifications)
