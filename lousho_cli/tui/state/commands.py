"""The command line that does the same as an action of the program. Pure."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from lousho_cli.app.secrets import mask_url

if TYPE_CHECKING:
    from lousho_cli.app.agents import AgentChoice
    from lousho_cli.app.deciding import DecisionOrder
    from lousho_cli.app.forking import ForkOrder
    from lousho_cli.app.resuming import ResumeOrder


def command(*words: str, choice: AgentChoice, said: str | None = None) -> str:
    """``lousho`` and its words as a shell takes them, with what finds the same store and agent again. A password in a store's address is
    masked, and has to be put in again.

    Args:
        said: a last word that is text of the person's, which may look like an option.
    """
    found = [*words]
    if said is not None and not said.startswith("-"):
        found.append(said)
    found += ["--agent", choice.agent] if choice.agent else []
    for place in choice.agents:
        found += ["--agents", place]
    found += ["--store", mask_url(choice.store)] if choice.store else []
    if said is not None and said.startswith("-"):
        found += ["--", said]
    return shlex.join(["lousho", *found])


def decide_command(order: DecisionOrder, *, secret: bool = False) -> str:
    """``approve``, ``reject`` or ``answer``. A secret is never among the words: the command asks for it, hidden."""
    words: list[str] = [order.verb, order.id]
    if order.edited:
        words += ["--edit", _json(order.edited[0])]
    answers = order.verb == "answer"
    if order.note and not answers:
        words.append(f"--{'reason' if order.verb == 'reject' else 'note'}={order.note}")
    words += [] if order.resume else ["--no-resume"]
    return command(*words, choice=order.choice, said=order.note if answers and not secret else None)


def fork_command(order: ForkOrder) -> str:
    """``fork`` with its patch."""
    words = ["fork", order.source]
    result = order.patch.get("tool_result")
    if result is not None:
        words += ["--tool-result", f"{result['tool_call_id']}={_json(result['result'])}"]
    if "append_input" in order.patch:
        words.append(f"--append-input={order.patch['append_input']}")
    if "business_state" in order.patch:
        words.append(f"--business-state={_json(order.patch['business_state'])}")
    words += ["--as", order.new_id] if order.new_id else []
    words += ["--run"] if order.run else []
    words += ["--yes"] if order.flags.yes else []
    return command(*words, choice=order.choice)


def resume_command(order: ResumeOrder) -> str:
    """``resume``, with an input where there is one."""
    return command("resume", order.session or "", choice=order.choice, said=order.text or None)


def queue_command(session_id: str, text: str, choice: AgentChoice) -> str:
    """``run --queue``: an input for whoever drives the session."""
    return command("run", "--session", session_id, "--queue", choice=choice, said=text)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
