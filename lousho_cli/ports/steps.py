"""Named steps within a call, as a tool sees them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from lousho_cli.errors import ConfigurationError


class Steps:
    """Steps of a call that stands in no log: they only run. A call of a run gets ``executor.steps.CallSteps``."""

    def idempotency_key(self, name: str) -> str:
        """A key for what a step does outside, ``{log_id}:{call id}:{name}``: the same in every attempt, other in a fork."""
        return name

    async def do(self, name: str, function: Callable[..., Any]) -> Any:
        """Does a step once, and keeps what it gave: a call that runs again gets that, and the function does not run.

        What it gave is in the log before this returns. A crash in between runs the step again, so hand its key on to
        systems that know such keys. On a store that keeps no log nothing of it survives the process.

        Args:
            name: tells the step apart from the others of the call.
            function: sync or async; one that takes a parameter gets the step's idempotency key.

        Returns:
            what it gave, as plain JSON data.

        Raises:
            ConfigurationError: the name was used in this call before, or what it gave is nothing JSON can hold.
            what ``function`` raises; nothing is kept then.
        """
        return await performed(function, self.idempotency_key(name))

    async def ask(
        self,
        name: str,
        message: str,
        *,
        schema: Mapping[str, Any] | None = None,
        options: Sequence[str] = (),
        secret: bool = False,
        expires_in_ms: int | None = None,
    ) -> Any:
        """Asks a person, and waits here for the answer; the host keeps the thread meanwhile.

        Anybody may answer, here, on another host or in another terminal. A call that runs again gets the answer that was
        given, or waits for it under the same id. A secret is kept nowhere, so it is asked for again. The time it takes is the
        run's own: where that has a limit, it counts.

        Args:
            name: as in ``do``; message: what the person is asked.
            schema: JSON Schema of the answer; without one it is text. options: the only answers there are.
            secret: it is typed hidden, and the log says ``[secret]`` in its place.
            expires_in_ms: how long a person may take; None for ever.

        Raises:
            NoAnswerError: the person declined, the time was up, or this run asks nobody.
            ConfigurationError: the name was used before, the schema is none, or nobody could answer: the run is in no log.
        """
        raise ConfigurationError("nobody could answer: this call stands in no log", field="step")

    def stage(self, records: Sequence[Mapping[str, Any]]) -> None:
        """See ``ToolContext.append``."""
        raise ConfigurationError("this call stands in no log", field="records")


async def performed(function: Callable[..., Any], key: str) -> Any:
    """What a step's function gives; it gets the key where it has a place for it."""
    result = function(key) if _takes_one(function) else function()
    return await result if isinstance(result, Awaitable) else result


def _takes_one(function: Callable[..., Any]) -> bool:
    from inspect import signature

    try:
        signature(function).bind()
    except ValueError:
        return False  # one of Python's own that does not say what it takes
    except TypeError:
        return True
    return False
