"""Whether this installation can work: Python, packages, the store, the agent here, keys (set or not and where, never the value)."""

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
from lousho_cli.app.agent_spec import AgentFile, ProviderSpec
from lousho_cli.app.config import load_settings
from lousho_cli.app.config_files import layers
from lousho_cli.app.places import is_ours
from lousho_cli.app.provider_types import key_variables
from lousho_cli.app.providers import build_provider
from lousho_cli.app.secrets import mask_url
from lousho_cli.app.sync import run_now
from lousho_cli.app.targets import resolve_target
from lousho_cli.app.wiring import current_folder, describe_store, locate_store, open_to_look
from lousho_cli.errors import SDKError
from lousho_cli.providers.known_prices import INSTALL, PACKAGE, KnownPrices, prices_installed
from lousho_cli.providers.wire.keys import look_up
from lousho_cli.providers.wire.settings import Settings

PACKAGES = ("typer", "rich", "textual", "markdown-it-py", "pydantic", "httpx", "msgspec", "PyYAML", "jsonschema", "platformdirs")


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
    yield from _prices()
    yield _config()
    yield from _store(flag)
    yield from _keys()


def _prices() -> Iterator[Check]:
    """The extra with known prices, and whether the model that is configured has one."""
    if not prices_installed():
        yield Check(PACKAGE, "info", f"not installed: costs are known only where the agent file gives a price; {INSTALL}")
        return
    yield Check(PACKAGE, "ok", version(PACKAGE))
    try:
        model = load_settings().model
        if model:
            yield Check("price", "info", f"of {model}: {'known' if _has_price(model) else 'not known'}")
    except SDKError as error:
        yield Check("price", "info", str(error))


def _has_price(model: str) -> bool:
    anyone = AgentFile("doctor", "", ProviderSpec("openai", model), current_folder(), current_folder())
    provider = build_provider(anyone, model)
    price_of = KnownPrices().for_provider(provider)
    return price_of is not None and price_of(provider.model or "") is not None


def _config() -> Check:
    try:
        files = [str(file) for _, file, _ in layers(current_folder())]
        load_settings()  # a file that can be read may still say what cannot be meant
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
        said = describe_store(store)
        yield Check("store", "ok", f"{where}: {said}" if said else where)
        folder = place.folder or (place.file.parent if place.file else None)
        if folder is not None:
            yield _writable(folder)
    except (SDKError, OSError) as error:
        yield Check("store", "fail", mask_url(str(error)))


def _keys() -> Iterator[Check]:
    """The agent of the folder, whom it asks, and where each key is: never the key."""
    settings: Settings | None = None
    try:
        target = resolve_target(None, current_folder())
        if target.kind != "demo":
            provider = build_provider(target.agent)
            yield Check("agent", "ok", target.agent.name)
            settings = getattr(provider, "settings", None)
            where = f" at {settings.where}" if settings else ""
            yield Check("provider", "ok", f"{provider.name}{where}, model {provider.model}")
    except SDKError as error:
        yield Check("agent", "fail", mask_url(str(error)))
    needed = _needed(settings) if settings else ()
    own = (*settings.keys, *settings.bearer, *settings.headers_env.values()) if settings else ()
    names = tuple(dict.fromkeys((*own, *key_variables())))
    told = run_now(lambda: look_up(names))
    for group in needed:
        if not any(told[name].startswith("set") for name in group):
            yield Check("key", "fail", f"the agent here needs {' or '.join(group)}: {told[group[0]]}")
    for name in names:
        yield Check(name, "info", told[name])


def _needed(settings: Settings) -> tuple[tuple[str, ...], ...]:
    """The variables a call can not do without, of each group one."""
    keys = ((*settings.keys, *settings.bearer),) if settings.needs_key else ()
    return (*keys, *((name,) for name in settings.headers_env.values()))


def _existing(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def _writable(folder: Path) -> Check:
    if not os.access(folder, os.W_OK | os.X_OK):
        return Check("store folder", "fail", f"{folder} can not be written")
    return Check("store folder", "ok", f"{folder} can be written" + ("" if is_ours(folder) else ", it belongs to another user"))
