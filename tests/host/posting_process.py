"""A host in a process of its own that sends inputs to one thread as fast as it can, waits until each has ended, and leaves.

Whatever it owns then it hands over, perhaps in the middle of a turn, to one of those that look for it again and again.

    python posting_process.py KIND PLACE NAME HOW_MANY

It begins once a line comes on stdin, and says the outcomes as one JSON line. Each turn calls one tool, which notes the turn in ``ran.txt``.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.host.harness import define_harness
from lousho_cli.host.host import create_harness_host
from lousho_cli.ports.provider import Answer
from lousho_cli.tools.define import define_tool
from tests.host.host_process import open_store


class Noting:
    """Has a tool note the last thing a user said, and then says it too."""

    name, model = "noting", "noting"

    async def stream(self, request: Any) -> Any:
        last = request.messages[-1]
        said = next(message.text for message in reversed(request.messages) if message.role == "user")
        if last.role == "user":
            yield Answer(Message("assistant", "", (ToolCall(f"c-{said}", "note", json.dumps({"said": said})),)), "tool_calls")
        else:
            yield Answer(Message("assistant", f"Noted {said}."), "stop")


def noting(place: Path) -> Any:
    @define_tool(replay="safe")
    def note(said: str) -> str:
        """Note."""
        with (place / "ran.txt").open("a") as file:
            file.write(f"{said}\n")
        return "noted"

    return define_harness("acme/noting", Noting(), tools=[note])


async def look_again_and_again(host: Any) -> None:
    while True:
        await host.recover()
        await asyncio.sleep(0.02)


async def main(kind: str, place: Path, name: str, how_many: int) -> None:
    host = create_harness_host({"log": open_store(kind, place)})
    print(json.dumps("here"), flush=True)
    sys.stdin.readline()
    session = await host.open(noting(place), "t")
    ids = [f"{name}-{number:02}" for number in range(how_many)]
    looking = asyncio.ensure_future(look_again_and_again(host))
    for one in ids:
        await session.send(one, input_id=one)
    print(json.dumps([[one, (ended := await session.settled(one)).outcome, ended.text] for one in ids]), flush=True)
    looking.cancel()
    await host.close(recoverable=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
