"""Secrets are never shown. Pure: finds them by the name they have in the environment, or by where they stand in a URL."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lousho_cli.core.masking import masked_urls, values_masker

MASK = "[secret]"

_LEAST = 6  # a shorter value would take ordinary words out of every text


def mask_url(text: str) -> str:
    """``text`` without the passwords and keys of the URLs in it."""
    return masked_urls(text, MASK)


def hider(environ: Mapping[str, str]) -> Callable[[str], str]:
    """A function that takes out of a text the secrets of this environment and those in URLs."""
    hide_values = values_masker(environ, MASK, _LEAST)
    return lambda text: mask_url(hide_values(text))
