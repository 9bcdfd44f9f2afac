"""Whether this installation can work: Python, packages, the store, provider keys (set or not, never the value)."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import msgspec

from lousho_cli import __version__
from lousho_cli.app.config_files import layers
from lousho_cli.app.places import is_ours
from lousho_cli.app.secrets import mask_url
from lousho_cli.app.sync import run_now
from lousho_cli.app.wiring import current_folder, locate_store, open_to_look
from lousho_cli.errors import SDKError

PACKAGES = ("typer", "rich", "pydantic", "httpx", "httpx-sse", "msgspec", "PyYAML", "jsonschema", "platformdirs")
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY")


class Check(msgspec.Struct, frozen=True):
    """One thing that was looked at. ``fail`` needs to be put right, ``info`` is only told."""

    name: str
    state: Literal["ok", "fail", "info"]
    detail: str


def examine(flag: str | None = None) -> tuple[Check, ...]:
    """Looks at the installation. Never raises for what it finds; writes nothing.

    Args:
        flag: what ``--store`` said.
    """
    return tuple(_checks(flag))


def _checks(flag: str | None) -> Iterator[Check]:
    supported = sys.version_info >= (3, 11)
    yield Check("python", "ok" if supported else "fail", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    yield Check("lousho", "ok", __version__)
    for name in PACKAGES:
        try:
            yield Check(name, "ok", version(name))
        except PackageNotFoundError:
            yield Check(name, "fail", "not installed")
    yield _config()
    yield from _store(flag)
    for name in KEYS:
        yield Check(name, "info", "set" if os.environ.get(name) else "not set")


def _config() -> Check:
    try:
        files = [str(file) for _, file, _ in layers(current_folder())]
    except SDKError as error:
        return Check("config", "fail", str(error))
    return Check("config", "ok", ", ".join(files) or "no file")


def _store(flag: str | None) -> Iterator[Check]:
    try:
        place = locate_store(flag)
        where = f"{mask_url(place.url)} ({place.source})"
        store = open_to_look(flag)
        if store is None:
            yield Check("store", "info", f"{where}: not there yet; the first run creates it")
            yield _writable(_existing(place.folder or (place.file.parent if place.file else current_folder())))
            return
        if place.file is not None:
            run_now(store.heads)  # only who opens it knows that a file is a store, and whole
        yield Check("store", "ok", where)
        folder = place.folder or (place.file.parent if place.file else None)
        if folder is not None:
            yield _writable(folder)
    except (SDKError, OSError) as error:
        yield Check("store", "fail", mask_url(str(error)))


def _existing(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def _writable(folder: Path) -> Check:
    if not os.access(folder, os.W_OK | os.X_OK):
        return Check("store folder", "fail", f"{folder} can not be written")
    return Check("store folder", "ok", f"{folder} can be written" + ("" if is_ours(folder) else ", it belongs to another user"))
