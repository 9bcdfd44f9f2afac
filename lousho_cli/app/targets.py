"""What a person may mean by an agent on the command line.

An agent file, a folder that holds one, ``module.py`` or ``module.py:name``, or a built-in demo. With
nothing said: the agent file of the working folder, else the demo ``trip``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import msgspec

from lousho_cli.app.agent_files import agent_from, load_agent_file
from lousho_cli.app.agent_spec import AgentFile
from lousho_cli.app.demos import DEMOS, demo
from lousho_cli.app.documents import INVALID, NOT_FOUND
from lousho_cli.app.suggestions import TYPED, nearest
from lousho_cli.errors import ConfigurationError

FILE_NAMES = ("agent.yaml", "agent.yml", "agent.json")
"""What an agent file in a folder is called, in the order they are looked for."""

DEFAULT_DEMO = "trip"

_LOOKS_LIKE_ONE = re.compile(r"\.(yaml|yml|json|py|py:[A-Za-z_]\w*)$")
_MODULE = re.compile(r"(?P<file>.+\.py)(:(?P<name>[A-Za-z_]\w*))?")


class Target(msgspec.Struct, frozen=True):
    """An agent and how it was found. ``notice`` is what to tell the person, "" for nothing."""

    agent: AgentFile
    kind: Literal["file", "folder", "module", "demo"]
    notice: str = ""


def is_target(text: str, cwd: Path) -> bool:
    """Whether the only positional of ``run`` names an agent; else it is input.

    It does when it is an existing file or folder, ends in ``.yaml .yml .json .py`` or ``.py:ATTR``, or names a demo.
    """
    return bool(text) and (text in DEMOS or bool(_LOOKS_LIKE_ONE.search(text)) or _exists(cwd / text))


def resolve_target(text: str | None, cwd: Path) -> Target:
    """The agent that is meant.

    Args:
        text: what the person said, None for nothing.
        cwd: the working folder.

    Raises:
        ConfigurationError: there is no such agent, or it is not valid.
    """
    if text is None:
        return _default(cwd)
    module = _MODULE.fullmatch(text)
    if module and not (cwd / text).is_dir():
        return Target(_from_module(cwd / module["file"], module["name"]), "module")
    path = cwd / text
    if not _exists(path):
        if text in DEMOS:
            return Target(demo(text, cwd), "demo")
        if _LOOKS_LIKE_ONE.search(text):
            return Target(load_agent_file(path), "file")  # says that it is not there
        near = nearest(text, DEMOS, TYPED)
        told = f"Did you mean the demo {near}?" if near else f"Give an agent file, a folder, or a demo: {', '.join(DEMOS)}."
        raise ConfigurationError(f"there is no agent {text!r}", field="target", code=NOT_FOUND, hint=told)
    if not path.is_dir():
        return Target(load_agent_file(path), "file")
    found = _file_in(path)
    if found is not None:
        return Target(load_agent_file(found), "folder")
    if text in DEMOS:  # a folder that only happens to be called like a demo
        return Target(demo(text, cwd), "demo")
    raise ConfigurationError(
        f"{path} holds no agent file", field="target", code=NOT_FOUND, hint=f"It would be called {' or '.join(FILE_NAMES)}."
    )


def _default(cwd: Path) -> Target:
    found = _file_in(cwd)
    if found is not None:
        return Target(load_agent_file(found), "folder")
    return Target(demo(DEFAULT_DEMO, cwd), "demo", f"No agent.yaml here: running the built-in demo {DEFAULT_DEMO}.")


def _file_in(folder: Path) -> Path | None:
    return next((folder / name for name in FILE_NAMES if (folder / name).is_file()), None)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a sentence is often too long for a name, and may hold anything
        return False


def _from_module(path: Path, name: str | None) -> AgentFile:
    from lousho_cli.app.python_targets import attribute_of, load_module

    module = load_module(path, "target")
    found = attribute_of(module, name or "agent", "target")
    if isinstance(found, AgentFile):
        return msgspec.structs.replace(found, path=path.absolute(), attribute=name or "agent")
    driven = _driven_by_its_program(found)
    if driven:
        raise ConfigurationError(
            f"{path.name}:{name or 'agent'} is {driven}",
            field="target",
            code=INVALID,
            hint="Name an agent beside it: a dictionary with name, prompt, provider and tools, which may be the same objects.",
        )
    parts = found if isinstance(found, dict) else _parts_of(found)
    if parts is None:
        raise ConfigurationError(
            f"{path.name}:{name or 'agent'} is no agent",
            field="target",
            code=INVALID,
            hint="An agent is a dictionary, or an object, with name, prompt, provider and tools.",
        )
    return agent_from(parts, folder=path.absolute().parent, path=path.absolute(), attribute=name or "agent")


def _driven_by_its_program(value: Any) -> str:
    """What it is, of what the program that makes it drives; "" for anything else."""
    from lousho_cli.executor.create_agent import DurableAgent
    from lousho_cli.host.harness import Harness

    if isinstance(value, Harness):
        return "a harness, which the program that makes it drives: host.open(harness, ID), then send"
    if isinstance(value, DurableAgent):
        return "made by create_agent, and the program that makes it drives it: agent.send(TEXT, SESSION)"
    return ""


def _parts_of(value: Any) -> dict[str, Any] | None:
    """An object with the fields of an agent file as a dictionary; None when it has no name."""
    if not isinstance(getattr(value, "name", None), str):
        return None
    names = ("name", "prompt", "provider", "tools", "policy", "durability", "notify", "workspace", "subagents", "mcp_servers")
    parts = {name: getattr(value, name) for name in names if getattr(value, name, None) is not None}
    if "prompt" not in parts and hasattr(value, "instructions"):
        parts["prompt"] = value.instructions
    return parts
