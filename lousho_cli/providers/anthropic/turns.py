"""A transcript as this wire has it: a user's turn, then the model's, and so on.

Whatever stands side by side is one turn. A user's turn has results first, in call order, then what was said; the
model's has its thinking first, unchanged, where it was signed. What a server would refuse is left out: blank text,
thinking without a signature, half of a server's own tool call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from lousho_cli.domain.messages import Message, Reasoning
from lousho_cli.providers.anthropic.calls import CallIds
from lousho_cli.providers.anthropic.native import WIRE, Block, unpack
from lousho_cli.providers.anthropic.parts import content_blocks, result_block, text_block
from lousho_cli.providers.wire.calls import argument_object, wire_word

OPENING = "Go on."
"""What a user is taken to have said where a transcript does not begin with a user's turn."""

_THINKING = frozenset({"thinking", "redacted_thinking"})


class Turn(msgspec.Struct):
    """What one side says until the other does. ``results`` are those of calls, in call order; ``said`` is everything else."""

    role: str
    said: list[Block] = []
    results: list[Block] = []

    def on_wire(self) -> dict[str, Any]:
        return {"role": self.role, "content": self.results + self.said}


def turns_of(messages: Iterable[Message]) -> list[Turn]:
    """The turns of a transcript without its system messages. Begins with a user's; no turn is empty."""
    turns = [Turn("user")]
    ids = CallIds()
    for message in messages:
        if message.role == "assistant":
            ids.begin(message.tool_calls)
            turns.append(Turn("assistant", answer_blocks(message, ids)))
        elif message.role == "tool":
            turns.append(Turn("user", results=[result_block(message, ids.of(message.tool_call_id or ""))]))
        elif message.role == "user":
            turns.append(Turn("user", content_blocks(message.content)))
    _leave_out_halves(turns)
    turns = _joined(turns)
    if not turns[0].said:
        turns[0].said.append(text_block(OPENING))
    return turns


def answer_blocks(message: Message, ids: CallIds) -> list[Block]:
    """An answer as blocks: as the server wrote it where that was kept, else thinking, text, calls."""
    calls = [
        {"type": "tool_use", "id": ids.of(call.id), "name": wire_word(call.name), "input": argument_object(call.arguments)}
        for call in message.tool_calls
    ]
    native = unpack(message)
    if native is not None:
        places = iter(calls)
        return [next(places) | block if block["type"] == "tool_use" else block for block in native]
    # Thinking that another wire signed means nothing here.
    thinking = () if message.native is not None and message.native.wire != WIRE else message.reasoning
    text = [text_block(message.text)] if message.text.strip() else []
    return [block for thought in thinking if (block := thinking_block(thought))] + text + calls


def thinking_block(thought: Reasoning) -> Block | None:
    """Thinking as it is sent back; None for what is not signed, which nobody may send."""
    if thought.redacted:
        return {"type": "redacted_thinking", "data": thought.redacted}
    if thought.signature:
        return {"type": "thinking", "thinking": thought.text, "signature": thought.signature}
    return None


def may_think(turns: Sequence[Turn]) -> bool:
    """Whether thinking may be asked for: not while the model is using tools in an answer that began without it.

    Such an answer is of another model or of a time when thinking was off. Until the user says something, results and
    what follows them belong to the answer that asked for them.
    """
    first: Turn | None = None
    for turn in reversed(turns):
        if turn.role == "user" and turn.said:
            break
        if turn.role == "assistant":
            first = turn
    return first is None or first.said[0]["type"] in _THINKING


def _leave_out_halves(turns: Sequence[Turn]) -> None:
    """Takes out a server's tool call that never gets its result, and a result whose call is gone.

    Until the user says something the model may still go on with its own answer, and the result come in what it says
    next: behind results of our own calls, or at the end of a transcript that is sent to be gone on with.
    """
    waiting: dict[str, tuple[int, int]] = {}
    whole: set[tuple[int, int]] = set()
    known: set[str] = set()
    for at, turn in enumerate(turns):
        if turn.role == "user" and turn.said:
            waiting.clear()
        for place, block in enumerate(turn.said):
            half = _server_id(block)
            if half is not None and half[0] == "_tool_use":
                waiting[half[1]] = at, place
            elif half is not None and half[1] in waiting:
                whole |= {waiting.pop(half[1]), (at, place)}
                known.add(half[1])
    whole.update(waiting.values())
    known.update(waiting)
    for at, turn in enumerate(turns):
        kept = [block for place, block in enumerate(turn.said) if (at, place) in whole or _server_id(block) is None]
        turn.said = [_called_directly(block, known) for block in kept]


def _server_id(block: Block) -> tuple[str, str] | None:
    """Which half of a server's tool call a block is, and of which call; None for any other block."""
    kind = block["type"]
    if kind.endswith("_tool_use"):
        return "_tool_use", block.get("id", "")
    if kind.endswith("_tool_result"):
        return "_tool_result", block.get("tool_use_id", "")
    return None


def _called_directly(block: Block, known: set[str]) -> Block:
    """A call that no longer says which server's tool made it, if that one is gone."""
    if "caller" not in block or msgspec.json.decode(block["caller"]).get("tool_id") in {None, *known}:
        return block
    return {key: value for key, value in block.items() if key != "caller"}


def _joined(turns: Iterable[Turn]) -> list[Turn]:
    """Turns whose ends a server takes, without empty ones, neighbours of one side joined."""
    joined: list[Turn] = []
    for turn in turns:
        if turn.role == "assistant":
            while turn.said and turn.said[-1]["type"] in _THINKING:  # thinking that led to nothing can not be the end of an answer
                turn.said.pop()
        if joined and joined[-1].role == turn.role:
            joined[-1].said += turn.said
            joined[-1].results += turn.results
        elif turn.said or turn.results or not joined:
            joined.append(turn)
    last = joined[-1]
    if last.role == "assistant" and last.said[-1]["type"] == "text":
        last.said[-1] = last.said[-1] | {"text": last.said[-1]["text"].rstrip()}
    return joined
