"""Names in Python files given by path: ``tools.py:book_table``.

A file is loaded once, under a module name of its own, with its folder behind everything else on
the import path, so that it may import its neighbours and never hides a module of the system.
What goes wrong in it is told with its line, never as a traceback.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
import traceback
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from lousho_cli.app.documents import INVALID, NOT_FOUND, meant_beside
from lousho_cli.app.suggestions import nearest
from lousho_cli.errors import ConfigurationError


def load_attribute(address: str, folder: Path, field: str) -> Any:
    """What ``file.py:name`` names.

    Args:
        address: the file, from ``folder``, and the name in it.
        field: what to name in an error.

    Raises:
        ConfigurationError: no such file or name, or the file can not be run; the detail has the line.
    """
    file, _, name = address.rpartition(":")
    return attribute_of(load_module(folder / file, field), name, field)


def attribute_of(module: ModuleType, name: str, field: str) -> Any:
    """The object of this name in a module.

    Raises:
        ConfigurationError: there is none; the nearest name is given.
    """
    try:
        return getattr(module, name)
    except AttributeError:
        near = nearest(name, [known for known in vars(module) if not known.startswith("_")])
        told = f"; did you mean {near}?" if near else ""
        hint = f"Name what is in it after a colon: {_shown(module)}:NAME."
        raise ConfigurationError(f"{field}: {_shown(module)} has no {name}{told}", field=field, code=INVALID, hint=hint) from None


def load_module(path: Path, field: str) -> ModuleType:
    """The module in a file, loaded at most once in this process.

    Raises:
        ConfigurationError: there is no such file, or it can not be run.
    """
    path = path.absolute()
    if not path.is_file():
        hint = "Check the path; what stands in an agent file starts from the folder of that file."
        told = f"{field}: {path} does not exist{meant_beside(path, ('.py',))}"
        raise ConfigurationError(told, field=field, code=NOT_FOUND, hint=hint)
    name = f"lousho_agent_{path.stem}_{sha256(os.fsencode(path.resolve())).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigurationError(f"{field}: {path.name} is no Python file", field=field, code=INVALID, hint="Its name must end in .py.")
    module = importlib.util.module_from_spec(spec)
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    sys.modules[name] = module  # before it runs: dataclasses and pydantic look a class's module up
    try:
        # From its source each time: a compiled file left torn by a crash or a full disk must not keep an agent from running.
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102 - running the user's own file is what was asked for
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a user's file does when it is run
        del sys.modules[name]
        hint = f"Mend the file; this shows more: {Path(sys.executable).name} {shlex.quote(path.name)}"
        raise ConfigurationError(f"{field}: {path.name} {_what_happened(error, path)}", field=field, code=INVALID, hint=hint) from None
    return module


def _shown(module: ModuleType) -> str:
    return Path(module.__file__).name if module.__file__ else module.__name__


def _what_happened(error: BaseException, path: Path) -> str:
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"line {error.lineno}: {error.msg}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    said = " ".join(str(error).split())[:500]
    told = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return f"line {lines[-1]}: {told}" if lines else f"can not be loaded: {told}"
