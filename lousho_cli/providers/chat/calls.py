"""Tool calls put together from fragments.

By the book a fragment names its call by ``index`` and only the first has id and name. Servers
that imitate the wire send every call as index 0, no index, no id, the same id twice, or the
arguments as an object. Each fragment belongs to the call it can only belong to, else to a new one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lousho_cli.domain.messages import ToolCall
from lousho_cli.providers.chat.extras import signatures_in
from lousho_cli.providers.wire.calls import argument_text, unique_id
from lousho_cli.providers.wire.surrogates import Joiner, whole


class _Call:
    """A call so far. ``batch`` is the number of the delta list that last added to it."""

    __slots__ = ("batch", "extra", "id", "index", "joiner", "name", "pieces")

    def __init__(self, index: int | None, call_id: str, batch: int) -> None:
        self.index, self.id, self.batch = index, call_id, batch
        self.name = ""
        self.extra: dict[str, Any] = {}
        self.joiner = Joiner()
        self.pieces: list[str] = []

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)

    @property
    def complete(self) -> bool:
        """Whether its arguments are a whole JSON object already."""
        if not self.pieces or not self.pieces[-1].rstrip().endswith("}"):
            return False
        try:
            json.loads(self.arguments)
        except (ValueError, RecursionError):
            return False
        return True


class CallFragments:
    """Lists of fragments in, whole calls out."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._batch = 0

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, fragments: Iterable[Any]) -> None:
        """Takes the ``tool_calls`` of one delta, or of a whole message."""
        self._batch += 1
        for fragment in fragments:
            if isinstance(fragment, Mapping):
                self._add_one(fragment)

    def _add_one(self, fragment: Mapping[str, Any]) -> None:
        function = fragment.get("function")
        function = function if isinstance(function, Mapping) else {}
        name = str(function.get("name") or "")
        call_id = str(fragment.get("id") or "")
        arguments = argument_text(function.get("arguments"))
        index = fragment.get("index")
        index = index if isinstance(index, int) else None
        call = self._owner(index, call_id, name)
        if call is not None and name and call.complete:
            if call.batch != self._batch and call.name == name and arguments in ("", call.arguments):
                return  # the whole call once more, as some servers send it at the end
            call = None
        if call is None:
            call = _Call(index, call_id, self._batch)
            self._calls.append(call)
        call.batch = self._batch
        call.id = call.id or call_id
        if name and name != call.name:
            call.name += name
        if arguments := call.joiner.push(arguments):
            call.pieces.append(arguments)
        if "extra_content" in fragment:
            call.extra |= signatures_in(fragment["extra_content"])

    def _owner(self, index: int | None, call_id: str, name: str) -> _Call | None:
        """The call a fragment belongs to; None for a new one."""
        if index is not None:
            call = next((call for call in reversed(self._calls) if call.index == index), None)
        elif call_id:
            call = next((call for call in reversed(self._calls) if call.id == call_id), None)
        else:
            call = self._calls[-1] if self._calls else None
        if call is None or not name:
            return call
        if call.batch == self._batch or (call_id and call.id and call_id != call.id):
            return None  # named again in the same list, or under another id: the index lies
        return call

    def whole(self, new_id: Callable[[], str]) -> tuple[ToolCall, ...]:
        """The calls in the order they began, each with an id of its own, and ``{}`` for arguments that are blank.

        Raises:
            ValueError: a call without a name, which nothing can run.
        """
        taken: set[str] = set()
        calls = []
        for call in self._calls:
            if not call.name:
                raise ValueError("a tool call without a name")
            call_id = unique_id(whole(call.id) or f"call_{new_id()}", taken)
            taken.add(call_id)
            arguments = call.arguments
            calls.append(ToolCall(id=call_id, name=whole(call.name), arguments=arguments if arguments.strip() else "{}"))
        return tuple(calls)

    def extras(self) -> tuple[dict[str, Any], ...]:
        """What each call had besides, to be sent back; nothing where none had anything."""
        return tuple(call.extra for call in self._calls) if any(call.extra for call in self._calls) else ()
