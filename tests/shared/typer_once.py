"""Has Typer read the signature of each command once for a process instead of at each call of ``main``.

A person's process reads only the command it was asked for; a test that calls commands in its own process reads each of them, over and
over. What is read depends on the functions alone. Each call gets commands and parameters of its own, so what one does to them no other
one sees.
"""

from __future__ import annotations

import copy
from typing import Any

import typer.main


def read_commands_once() -> None:
    read = typer.main.get_command_from_info
    known: dict[Any, Any] = {}

    def once(command_info: Any, **options: Any) -> Any:
        key = (command_info.callback, command_info.name, command_info.cls)
        if key not in known:
            known[key] = read(command_info, **options)
        command = copy.copy(known[key])
        command.params = [copy.copy(one) for one in command.params]
        return command

    typer.main.get_command_from_info = once
