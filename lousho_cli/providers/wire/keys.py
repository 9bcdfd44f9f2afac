"""Where a key comes from: a variable of the environment, else the system's keyring. Nothing else of the package reads either.

In the keyring a key stands under the service ``lousho`` and the name of its variable, so ``keyring set lousho
OPENAI_API_KEY`` keeps one. The package ``keyring`` is imported when a variable is not set, and never before.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from importlib.util import find_spec
from typing import Literal, TypeVar

import msgspec

from lousho_cli.errors import ProviderError

SERVICE = "lousho"
KEYRING_WAIT_S = 30.0
"""How long a keyring may take: a person may have to unlock it."""
LOOK_WAIT_S = 3.0
"""How long it may take where a key is only looked for."""

_T = TypeVar("_T")


class Found(msgspec.Struct, frozen=True):
    """A key and where it was; ``name`` is its variable."""

    name: str
    value: str
    source: Literal["environment", "keyring"]


def in_environment(names: Sequence[str]) -> Found | None:
    """The first of the variables that is set to more than blanks."""
    for name in names:
        if value := os.environ.get(name, "").strip():
            return Found(name, value, "environment")
    return None


async def find_key(names: Sequence[str], *, wait_s: float = KEYRING_WAIT_S) -> Found | None:
    """The first key there is, the environment before the keyring. None where neither has one, or no keyring is there.

    Raises:
        ProviderError: the keyring is locked, broken, or did not answer in time.
    """
    found = in_environment(names)
    if found is not None or not names or find_spec("keyring") is None:
        return found
    try:
        async with asyncio.timeout(wait_s):
            return await _on_a_thread(lambda: _in_keyring(names))
    except TimeoutError:
        raise _unreadable(names, f"it did not answer within {wait_s:g} s") from None


async def look_up(names: Sequence[str], *, wait_s: float = LOOK_WAIT_S) -> dict[str, str]:
    """For each variable where its key is: ``set``, ``set (in the keyring)``, ``not set``, or why the keyring did not say."""
    told, broken = {}, ""
    for name in names:
        try:
            found = in_environment((name,)) or (None if broken else await find_key((name,), wait_s=wait_s))
        except ProviderError as error:
            found, broken = None, f"not set; {error.detail.rpartition(', and ')[2]}"
        place = "set" if found and found.source == "environment" else "set (in the keyring)"
        told[name] = place if found else broken or "not set"
    return told


def _in_keyring(names: Sequence[str]) -> Found | None:
    try:
        import keyring
        from keyring.errors import NoKeyringError

        try:
            for name in names:
                if value := (keyring.get_password(SERVICE, name) or "").strip():
                    return Found(name, value, "keyring")
        except NoKeyringError:
            return None
    except Exception as error:  # noqa: BLE001  # a backend is anybody's code; its text may hold anything, so only its kind is told
        raise _unreadable(names, type(error).__name__) from None
    return None


def _unreadable(names: Sequence[str], why: str) -> ProviderError:
    return ProviderError(
        f"no key: {names[0]} is not set, and the keyring could not be asked ({why})",
        category="auth-failure",
        code="LOUSHO_PROVIDER_KEY_MISSING",
        hint=f"Unlock the keyring, or set {names[0]} in the environment.",
    )


async def _on_a_thread(work: Callable[[], _T]) -> _T:
    """Runs ``work`` on a thread that nobody waits for at exit: a keyring may hang for ever."""
    future: Future[_T] = Future()
    future.set_running_or_notify_cancel()  # from here on, who stops waiting does not take the result's place

    def run() -> None:
        try:
            future.set_result(work())
        except ProviderError as error:
            future.set_exception(error)

    threading.Thread(target=run, name="lousho-keyring", daemon=True).start()
    return await asyncio.wrap_future(future)
