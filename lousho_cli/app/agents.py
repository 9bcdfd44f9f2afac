"""Finding the agent of a stored session again.

A session stores the agent's name and, where it has a file, the path from the store's parent folder
to it. In order: the file a person names, the name among the places they name, a built-in demo, the path.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from lousho_cli.app.agent_spec import AgentFile
from lousho_cli.app.config import load_settings
from lousho_cli.app.demos import DEMOS, demo
from lousho_cli.app.documents import NOT_FOUND, SUFFIXES
from lousho_cli.app.targets import resolve_target
from lousho_cli.app.wiring import current_folder, locate_store
from lousho_cli.domain.plain import text_of
from lousho_cli.domain.session import Session
from lousho_cli.errors import ConfigurationError

AGENT_NOT_FOUND = "LOUSHO_AGENT_NOT_FOUND"


class AgentChoice(msgspec.Struct, frozen=True):
    """What a person said about where agents are: ``--agent FILE`` and ``--agents PATH``; and ``--store``."""

    agent: str | None = None
    agents: tuple[str, ...] = ()
    store: str | None = None


def store_parent(flag: str | None) -> Path | None:
    """The folder that stored agent paths start from: that of a store's folder or file; None for a store that is neither."""
    place = locate_store(flag)
    inside = place.folder or place.file
    return inside.absolute().parent if inside is not None else None


def stored_path(file: AgentFile, flag: str | None) -> str | None:
    """What a session stores to find ``file`` again; None for a demo, and in a store that is no folder and no file.

    A name that is no text is kept with the mark of one, and so is not found again by itself.
    """
    parent = store_parent(flag)
    if file.path is None or parent is None:
        return None
    path = os.path.relpath(file.path.resolve(), parent.resolve())
    return text_of(f"{path}:{file.attribute}" if file.attribute else path)


def found_again(file: AgentFile, said: str | None, store: str | None, before: Session | None = None) -> AgentChoice:
    """What a later command has to be told to find a session and its agent: nothing of the agent where the store or a setting knows it.

    Args:
        said: the agent as it was named on the command line.
        store: what ``--store`` said.
        before: the session that it goes on with, which keeps the agent it was begun with.
    """
    choice = AgentChoice(store=store)
    if before is not None and before.agent and said is not None:
        stored: tuple[str, str | None] = (before.agent, before.path)
    elif file.path is None or store_parent(store) is not None:
        return choice
    else:
        stored = (file.name, None)
    with suppress(ConfigurationError):
        if _is_same(find_agent("", *stored, choice), file):
            return choice
    return AgentChoice(agent=said or os.path.relpath(str(file.path), current_folder()), store=store)


def _is_same(one: AgentFile, other: AgentFile) -> bool:
    if one.path is None or other.path is None:
        return one.path is other.path and one.name == other.name
    return one.path.resolve() == other.path.resolve() and one.attribute == other.attribute


def find_agent(session_id: str, name: str, path: str | None, choice: AgentChoice) -> AgentFile:
    """The agent of a session.

    Args:
        name, path: as the session stored them.

    Raises:
        ConfigurationError: it is nowhere to be found, or its file is not valid.
    """
    cwd = current_folder()
    if choice.agent is not None:
        return resolve_target(choice.agent, cwd).agent
    require_places(choice, cwd)
    places = choice.agents or tuple(load_settings().agents or ())
    broken: list[str] = []
    for candidate in _candidates(places, cwd):
        try:
            found = resolve_target(str(candidate), cwd).agent
        except ConfigurationError as error:
            broken.append(error.detail)
            continue
        if found.name == name:
            return found
    if path is None and name in DEMOS:
        return demo(name, cwd)
    parent = store_parent(choice.store)
    if path is not None and parent is not None and (parent / _file_of(path)).exists():
        return resolve_target(path, parent).agent
    raise _not_found(session_id, name, path, broken)


def require_places(choice: AgentChoice, cwd: Path) -> None:
    """Lets only a choice pass whose ``agents`` are there: a slip would have each session run with its stored file instead.

    Raises:
        ConfigurationError: one is not.
    """
    for place in choice.agents or ():
        if not (cwd / Path(_file_of(place)).expanduser()).exists():
            hint = "Name a file or a folder that is there."
            raise ConfigurationError(f"--agents {place}: there is no such file or folder", field="--agents", code=NOT_FOUND, hint=hint)


def _file_of(path: str) -> str:
    file, colon, _ = path.rpartition(":")
    return file if colon and file.endswith(".py") else path


def _candidates(places: Sequence[str], cwd: Path) -> Iterator[str]:
    """Agent files among files and folders; of a folder those in it and in the folders in it."""
    for place in places:
        path = cwd / Path(place).expanduser()
        if not path.is_dir():
            yield str(path)
            continue
        for file in (*sorted(path.glob("*")), *sorted(path.glob("*/agent.*"))):
            if file.suffix in SUFFIXES and file.is_file():
                yield str(file)


def _not_found(session_id: str, name: str, path: str | None, broken: Sequence[str]) -> ConfigurationError:
    looked = f"its file {path} is not there" if path else "it was stored without a file"
    also = f"; not read: {'; '.join(broken)}" if broken else ""
    return ConfigurationError(
        f"the agent {name or 'without a name'} of session {session_id} can not be found: {looked}{also}",
        field="agent",
        code=AGENT_NOT_FOUND,
        hint="Name its file with --agent FILE, or where agents are with --agents PATH.",
    )
