"""The built-in demos: agents that need no network and no key. One file each."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import cast

from lousho_cli.app.agent_spec import AgentFile
from lousho_cli.app.documents import NOT_FOUND
from lousho_cli.errors import ConfigurationError

DEMOS = ("trip", "booking")
"""Their names, which are their modules' too."""


def demo(name: str, cwd: Path) -> AgentFile:
    """A demo, working in ``cwd``.

    Raises:
        ConfigurationError: there is no demo of this name.
    """
    if name not in DEMOS:
        raise ConfigurationError(f"there is no demo {name!r}", field="target", code=NOT_FOUND, hint=f"There are {' and '.join(DEMOS)}.")
    return cast("AgentFile", import_module(f"{__name__}.{name}").agent(cwd))
