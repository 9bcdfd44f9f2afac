"""What a chunk says about tokens, in the several places and words that servers have for it."""

from __future__ import annotations

from typing import Any

from lousho_cli.domain.usage import CallUsage


def usage_of(chunk: dict[str, Any], choice: dict[str, Any], groq: Any) -> CallUsage | None:
    """The usage in a chunk, in its choice (Moonshot) or under ``x_groq``; None when nothing is said."""
    for place in (chunk, choice, groq):
        usage = place.get("usage") if isinstance(place, dict) else None
        if isinstance(usage, dict):
            return _usage_in(usage)
    return None


def _usage_in(usage: dict[str, Any]) -> CallUsage | None:
    prompt, completion = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    cached = (_count(prompt, "cached_tokens"), _count(usage, "prompt_cache_hit_tokens"), _count(usage, "cached_tokens"))
    cost = usage.get("cost")
    found = CallUsage(
        input_tokens=_count(usage, "prompt_tokens"),
        output_tokens=_output(usage),
        cached_input_tokens=next((count for count in cached if count is not None), None),
        reasoning_tokens=_count(completion, "reasoning_tokens"),
        cost_usd=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
        cache_write_tokens=_count(prompt, "cache_write_tokens"),
    )
    return None if found == CallUsage() else found


def _output(usage: dict[str, Any]) -> int | None:
    """The tokens of the answer, reasoning included: Gemini and xAI count it only in the total."""
    given, answered, total = (_count(usage, f"{name}_tokens") for name in ("prompt", "completion", "total"))
    if given is None or answered is None or total is None:
        return answered
    return max(answered, total - given)


def _count(source: Any, key: str) -> int | None:
    value = source.get(key) if isinstance(source, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
