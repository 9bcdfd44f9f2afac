"""What providers demand of a transcript, said apart from the library's own words for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lousho_cli.domain.messages import Message
from lousho_cli.domain.session import Session


def openai_takes(messages: Sequence[Message]) -> bool:
    """Every call is answered once by the tool messages right behind its message, and no other tool message is there."""
    at = 0
    while at < len(messages):
        message = messages[at]
        at += 1
        if message.role == "tool":
            return False
        wanted = [call.id for call in message.tool_calls]
        answers = [answer.tool_call_id for answer in messages[at : at + len(wanted)] if answer.role == "tool"]
        if sorted(wanted) != sorted(str(answer) for answer in answers):
            return False
        at += len(wanted)
    return True


def anthropic_takes(messages: Sequence[Message]) -> bool:
    """The same where results are blocks of the next user message: in it, before its text, once each, and ids never come again."""
    turns: list[tuple[str, list[Any]]] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks: list[Any] = [("use", call.id) for call in message.tool_calls]
        blocks += [("result", message.tool_call_id)] if message.role == "tool" else [("text", message.text)]
        if turns and turns[-1][0] == role == "user":
            turns[-1][1].extend(blocks)
        else:
            turns.append((role, blocks))
    used = [block[1] for _, blocks in turns for block in blocks if block[0] == "use"]
    if len(set(used)) < len(used) or turns[0][0] != "user" or turns[-1][0] != "user":
        return False
    for (_, before), (role, blocks) in zip([("user", []), *turns[:-1]], turns, strict=True):
        wanted = [block[1] for block in before if block[0] == "use"] if role == "user" else []
        if [block[1] for block in blocks[: len(wanted)] if block[0] == "result"] != wanted:
            return False
        if sum(block[0] == "result" for block in blocks) != len(wanted):
            return False
    return True


def paired(session: Session) -> bool:
    """The transcript pairs up, but for the last turn while it is open: then its results stand in call order."""
    messages = list(session.messages)
    if session.turn is None:
        return openai_takes(messages) and not session.held
    at = max(index for index, message in enumerate(messages) if message.role == "assistant")
    ids = [call.id for call in messages[at].tool_calls]
    behind = [message.tool_call_id for message in messages[at + 1 :]]
    return openai_takes(messages[:at]) and behind == ids[: len(behind)] and len(behind) < len(ids)


def results(session: Session) -> dict[str, str]:
    early = session.turn.results if session.turn else {}
    in_order = {message.tool_call_id or "": message.text for message in session.messages if message.role == "tool"}
    return in_order | {call_id: message.text for call_id, message in early.items()}
