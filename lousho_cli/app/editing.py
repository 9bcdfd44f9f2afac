"""Arguments of a call that waits, as a person edits them: are they JSON, does the tool take them, which digest would be approved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from lousho_cli.app.agents import AgentChoice, find_agent
from lousho_cli.app.json_input import parse_json
from lousho_cli.app.loading import load
from lousho_cli.app.pending import find_waiting
from lousho_cli.app.preparing import RunFlags, preparing
from lousho_cli.app.wiring import open_store
from lousho_cli.core.answering import waiting
from lousho_cli.core.gate import validated
from lousho_cli.core.sub_agents import tools_at
from lousho_cli.domain.approvals import digest_of
from lousho_cli.errors import ConfigurationError

Check = Callable[[Any], tuple[Any, tuple[str, ...]]]
"""Arguments as their tool takes them, and what is wrong with them, a sentence each."""


class Edit(msgspec.Struct, frozen=True):
    """What a person has typed. problems: why it can not be approved; where there are none, ``digest`` is that of what would run."""

    value: Any = None
    digest: str = ""
    problems: tuple[str, ...] = ()


def unchecked(args: Any) -> tuple[Any, tuple[str, ...]]:
    """The check while the tool is not known (yet): everything passes."""
    return args, ()


def edit_of(text: str, check: Check = unchecked, *, anything: bool = False) -> Edit:
    """A text as the arguments that it would be; with ``anything`` as any JSON value."""
    try:
        value = parse_json(text, "this")
    except ConfigurationError as error:
        return Edit(problems=(error.detail,))
    if not isinstance(value, dict) and not anything:
        return Edit(value, problems=("arguments are one JSON object",))
    taken, problems = check(value)
    return Edit(value, digest_of(value if problems else taken), problems)


async def check_for(approval_id: str, choice: AgentChoice) -> Check:
    """What tells whether the tool of a call that waits takes other arguments. Loads its agent; a tool that is gone takes anything.

    Raises:
        NotFoundError: nothing waits under this id.
        ConfigurationError: its agent can not be found or used.
    """
    store = open_store(choice.store, create=False)
    found = await find_waiting(store, approval_id)
    assert store is not None, "something waits in it"
    session = (await load(store, found.session_id)).session
    file = find_agent(found.session_id, session.agent, session.path, choice)
    wait = waiting(session, found.wait.id)
    async with preparing(file, RunFlags(), session) as prepared:
        tool = tools_at(prepared.facts.tools, wait).get(wait.tool_name) if wait is not None else None
    if tool is None:
        return unchecked

    def check(args: Any) -> tuple[Any, tuple[str, ...]]:
        taken, issues = validated(args, tool)
        return taken, tuple(f"{issue.path}: {issue.message}" for issue in issues)

    return check
