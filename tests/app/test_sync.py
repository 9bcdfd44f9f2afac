"""A coroutine that never waits runs without an event loop; one that does gets its loop."""

from __future__ import annotations

import asyncio

import pytest

from lousho_cli.app.sync import run_now


async def _plain() -> int:
    return 7


async def _nested() -> int:
    return await _plain() + 1


async def _waiting() -> int:
    await asyncio.sleep(0.001)
    return 9


async def _yielding() -> int:
    await asyncio.sleep(0)
    return 10


def test_what_never_waits_needs_no_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asyncio, "run", None)
    assert run_now(_nested) == 8


def test_what_waits_is_begun_again_under_a_loop() -> None:
    assert run_now(_waiting) == 9
    assert run_now(_yielding) == 10


def test_an_error_comes_out_as_it_is() -> None:
    async def fails() -> int:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        run_now(fails)
