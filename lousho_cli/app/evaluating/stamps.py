"""What a case stands on: its eval file, its cassette, the files of its agent, and the Python modules beside them.

A run that is gone on with runs a case again where one of them was written since.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from lousho_cli.app.agent_spec import AgentFile, ProviderSpec
from lousho_cli.app.evaluating.files import is_eval_file

Stamp = tuple[int, int]
"""What tells one writing of a file from the next: when, and of what size; zeros where it is gone."""


class Stamps:
    """The stamps of one run. Each is that of the file as it was first asked about, whatever becomes of the file meanwhile."""

    def __init__(self) -> None:
        self._first: dict[str, Stamp] = {}

    def of(self, path: Path, agent: AgentFile) -> dict[str, Stamp]:
        """Of what the cases of an eval stand on. ``path`` is its file."""
        files = dict.fromkeys([path.absolute(), *files_of(agent)])
        files |= dict.fromkeys(_modules_below({file.parent for file in files}))
        return {name: self._first.setdefault(name, stamp_of(Path(name))) for name in map(str, files)}


def stamp_of(path: Path) -> Stamp:
    """The stamp of a file as it is now."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def are_as_they_were(stamps: Mapping[str, Stamp]) -> bool:
    """Whether none of some files was written since."""
    return all(stamp_of(Path(name)) == stamp for name, stamp in stamps.items())


def files_of(agent: AgentFile) -> Iterator[Path]:
    """The files that an agent and its sub-agents are written in, those that its commands name included."""
    if agent.path is not None:
        yield agent.path.absolute()
    if isinstance(agent.provider, ProviderSpec) and agent.provider.turns_file is not None:
        yield agent.provider.turns_file.absolute()
    for entry in agent.tools:
        if entry.kind == "python":
            yield (agent.folder / entry.target.rpartition(":")[0]).absolute()
        named = (agent.folder / word for word in entry.command)
        yield from (file.absolute() for file in named if os.path.isfile(file))
    for sub_agent in agent.subagents:
        yield from files_of(sub_agent.file)


def _modules_below(folders: set[Path]) -> Iterator[Path]:
    """The modules that were loaded from some folders. Those of other evals are no part of this one, nor what is installed there."""
    begins = tuple(f"{folder}/" for folder in folders)
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.startswith(begins) and "/site-packages/" not in file and not is_eval_file(Path(file)):
            yield Path(file)
