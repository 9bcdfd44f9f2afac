"""The token counts of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lousho_cli.domain.usage import CallUsage


class Counts:
    """What an answer says of its tokens, over several events. Each repeats the counts so far: they are never added up."""

    def __init__(self) -> None:
        self._most: dict[str, int] = {}

    def add(self, usage: Any) -> None:
        if not isinstance(usage, Mapping):
            return
        details = usage.get("output_tokens_details")
        for source in (usage, details) if isinstance(details, Mapping) else (usage,):
            for key, value in source.items():
                if type(value) is int and value >= self._most.get(key, 0):
                    self._most[key] = value

    def usage(self) -> CallUsage | None:
        """The counts; None when nothing was said. Our input counts what was read from a cache or written to one, theirs does not."""
        read, written = self._most.get("cache_read_input_tokens"), self._most.get("cache_creation_input_tokens")
        fresh = self._most.get("input_tokens")
        found = CallUsage(
            input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
            output_tokens=self._most.get("output_tokens"),
            cached_input_tokens=read,
            reasoning_tokens=self._most.get("thinking_tokens"),
            cache_write_tokens=written,
        )
        return None if found == CallUsage() else found
