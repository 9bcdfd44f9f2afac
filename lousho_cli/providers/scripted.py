"""A model whose answers are written down: for demos, tests, benchmarks and evals.

It keeps no state about a session. The entry it plays is the one at the number of whole answers
in the transcript, so it survives any crash, and a changed result changes what follows.

An entry that fails adds no answer, so it is the one that is asked again. It fails every time,
or, with ``times: N``, the first N times in the life of this object: the only thing it counts.
After that its answer is given; when it has none, the next alternative has its turn.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from lousho_cli.core.retry_after import parse_retry_after
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.errors import ConfigurationError, ProviderError
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.provider import Answer, ModelRequest, ProviderEvent, TextDelta
from lousho_cli.providers.script import Entry, ScriptedError, read_script
from lousho_cli.providers.script_match import holds
from lousho_cli.providers.wire.errors import cut_error, status_error

_PIECE_S = 0.1
_FEWEST_PIECES = 4


class ScriptedProvider:
    """Plays a script.

    Args:
        turns: the entries, as ``script.read_script`` takes them.
        model: the name it answers under when the request names none.
        repeat_last: past the end, play the last entry again instead of failing. Its own call ids then get
            the number of the turn behind them, so that each stays unique in the session.
        clock: for delays; default: the event loop's.

    Raises:
        ConfigurationError: the script is wrong; ``field`` is the path of what is.
    """

    name = "scripted"

    def __init__(self, turns: Sequence[Any], model: str | None = "scripted", repeat_last: bool = False, clock: Clock | None = None) -> None:
        if not isinstance(repeat_last, bool):
            raise ConfigurationError("provider.repeat_last must be true or false", field="provider.repeat_last")
        self._script = read_script(turns)
        self._model = model
        self._repeat_last = repeat_last
        self._clock = clock
        self._failed: dict[tuple[int, int], int] = {}

    @property
    def model(self) -> str | None:
        return self._model

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ProviderEvent, None]:
        """Plays the entry at ``request.turns``: its text in one piece, or in several over its delay, then the answer.

        Raises:
            ProviderError: the entry says so, none applies, or the script is over.
        """
        entry, error = self._pick(request)
        if error is not None and error.status is not None:
            await self._sleep(entry.delay)
            raise self._status_error(error)
        cut = error is not None
        text = entry.text[: (len(entry.text) + 1) // 2] if cut else entry.text  # a lost connection is lost half way
        pieces = _pieces(text, entry.delay)
        for piece in pieces:
            await self._sleep(entry.delay / len(pieces))
            if piece:
                yield TextDelta(piece)
        if cut:
            raise cut_error(partial=bool(text))
        yield self._answer(entry, request)

    def _pick(self, request: ModelRequest) -> tuple[Entry, ScriptedError | None]:
        """The entry to play, and how it fails this time."""
        number = request.turns
        if number >= len(self._script):
            if not self._repeat_last:
                raise ProviderError(
                    f"the script has {len(self._script)} entries and is asked for number {number + 1}",
                    category="bad-request",
                    hint="Add an entry, or set repeat_last: true to play the last one again.",
                )
            number = len(self._script) - 1
        for place, entry in enumerate(self._script[number]):
            if entry.when is not None and not holds(entry.when, request.messages):
                continue
            error = entry.error
            if error is None or not self._used_up(error, (number, place)):
                return entry, error
            if not entry.says_nothing:
                return entry, None
        raise ProviderError(
            f"no alternative of entry {number + 1} of the script applies",
            category="bad-request",
            hint=f"Add one without `when` at the end of provider.turns.{number}.",
        )

    def _used_up(self, error: ScriptedError, key: tuple[int, int]) -> bool:
        """Whether the entry has failed as often as it should; else this is one more time."""
        if error.times is None:
            return False
        failed = self._failed.get(key, 0)
        self._failed[key] = failed + 1
        return failed >= error.times

    def _status_error(self, error: ScriptedError) -> ProviderError:
        headers = {} if error.retry_after is None else {"retry-after": error.retry_after}
        wait = parse_retry_after(headers, self._clock.now_ms() if self._clock else time.time_ns() // 1_000_000)
        return status_error(error.status or 0, error.message, retry_after_ms=wait)

    def _answer(self, entry: Entry, request: ModelRequest) -> Answer:
        calls = _with_ids(entry, request.turns, repeated=request.turns >= len(self._script))
        return Answer(
            message=Message(role="assistant", content=entry.text, tool_calls=calls),
            finish_reason=entry.finish_reason or ("tool_calls" if calls else "stop"),
            usage=entry.usage,
            model=request.model or self._model or "",
        )

    async def _sleep(self, seconds: float) -> None:
        if seconds <= 0:
            return
        if self._clock is not None:
            await self._clock.sleep(seconds)
            return
        from asyncio import sleep  # a script without delays needs no event loop

        await sleep(seconds)


def _pieces(text: str, delay: float) -> list[str]:
    """A text in the pieces it is streamed in: one, or with a delay one each tenth of a second and at least four."""
    count = max(1, min(len(text), max(_FEWEST_PIECES, round(delay / _PIECE_S)))) if delay else 1
    return [text[len(text) * n // count : len(text) * (n + 1) // count] for n in range(count)]


def _with_ids(entry: Entry, turn: int, *, repeated: bool) -> tuple[ToolCall, ...]:
    """The calls of an entry; those without an id of their own get one from the numbers of turn and call."""
    calls, taken = [], {call.id for call in entry.tool_calls}
    for number, call in enumerate(entry.tool_calls, 1):
        made = f"call_{turn + 1}_{number}"
        while made in taken:
            made += "_"
        call_id = made if call.id is None else f"{call.id}_{turn + 1}" if repeated else call.id
        calls.append(ToolCall(id=call_id, name=call.name, arguments=call.arguments))
    return tuple(calls)
