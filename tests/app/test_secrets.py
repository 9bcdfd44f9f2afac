"""Secrets are found by the name of their variable or their place in a URL, and never shown."""

from __future__ import annotations

import pytest

from lousho_cli.app.secrets import hider, mask_url


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("postgresql://anna:hunter22@db/lousho", "postgresql://anna:[secret]@db/lousho"),
        ("postgresql://db/lousho", "postgresql://db/lousho"),
        ("http://h/v1?api_key=abc123&x=1", "http://h/v1?api_key=[secret]&x=1"),
        ("http://h/v1?x=1&token=abc#frag", "http://h/v1?x=1&token=[secret]#frag"),
        ("http://h:8080/v1", "http://h:8080/v1"),
        (".lousho", ".lousho"),
    ],
)
def test_urls_keep_all_but_their_secrets(text: str, masked: str) -> None:
    assert mask_url(text) == masked


def test_the_value_of_a_secret_variable_is_taken_out_of_any_text() -> None:
    hide = hider({"OPENAI_API_KEY": "sk-longenough", "GH_TOKEN": "tok-123456", "HOME": "/home/anna", "PIN_SECRET": "abc"})
    assert hide("key sk-longenough and tok-123456 in /home/anna, abc") == "key [secret] and [secret] in /home/anna, abc"


def test_a_longer_secret_is_taken_out_before_one_that_it_holds() -> None:
    hide = hider({"A_KEY": "secret", "B_KEY": "secretlonger"})
    assert hide("secretlonger") == "[secret]"
