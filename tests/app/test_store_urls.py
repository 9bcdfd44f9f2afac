"""A store URL is a path unless it begins with a known word and a colon; another word is refused."""

from __future__ import annotations

import pytest

from lousho_cli.app.store_urls import kind_of, kv_parts
from lousho_cli.errors import ConfigurationError


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        (".lousho", "path"),
        ("/var/store", "path"),
        ("./sqlite:odd", "path"),
        ("a/b:c", "path"),
        ("sqlite:runs.db", "sqlite"),
        ("postgresql://u:p@h/db", "postgresql"),
        ("memory:", "memory"),
        ("kv:account/space", "kv"),
    ],
)
def test_the_kind_of_a_url(url: str, kind: str) -> None:
    assert kind_of(url) == kind


@pytest.mark.parametrize("url", ["mysql://h/db", "s3:bucket", "C:\\store", "", "  ", "a\0b"])
def test_another_word_or_nothing_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError):
        kind_of(url)


@pytest.mark.parametrize(("url", "parts"), [("kv:a/n", ("a", "n", "")), ("KV:a/n/", ("a", "n", "")), ("kv:a/n/app/", ("a", "n", "app/"))])
def test_the_parts_of_a_kv_url(url: str, parts: tuple[str, str, str]) -> None:
    assert kv_parts(url) == parts


@pytest.mark.parametrize("url", ["kv:", "kv:a", "kv:a/", "kv:/n"])
def test_a_kv_url_without_account_or_namespace_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError):
        kv_parts(url)
