"""What is said where the system gives a process no further thread, whoever asked for one."""

from __future__ import annotations

from typing import TypeVar

from lousho_cli.errors import SDKError

E = TypeVar("E", bound=SDKError)


def no_thread(kind: type[E], error: RuntimeError) -> E:
    """What Python said then, as one of our errors: of a store, or of anybody else."""
    hint = "The processes and threads of this user or container are at their limit: end some, or raise it, and go on."
    return kind(f"no thread could be started: {error}", code="LOUSHO_NO_THREAD", hint=hint)
