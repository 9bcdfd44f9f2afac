from __future__ import annotations

import pytest

from lousho_cli.app.documents import read_document
from lousho_cli.errors import ConfigurationError


def read(folder, text, name="a.yaml"):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_document(folder / name)


def test_yaml_says_what_json_says(tmp_path):
    text = "a: no\nb: 010\nc: 2024-05-01\nd: 1:30\ne: [1, -2, 1.5, 1e3, true, ~, null, '']\nf: on\ng:\n1: x\n"
    assert read(tmp_path, text) == {
        "a": "no",
        "b": "010",
        "c": "2024-05-01",
        "d": "1:30",
        "e": [1, -2, 1.5, 1000.0, True, None, None, ""],
        "f": "on",
        "g": None,
        "1": "x",
    }
    assert read(tmp_path, "a: 2712345678901234567890") == {"a": 2712345678901234567890}


def test_anchors_and_merge_keys_work(tmp_path):
    assert read(tmp_path, "a: &x { n: 1, m: 2 }\nb: { <<: *x, m: 3 }") == {"a": {"n": 1, "m": 2}, "b": {"n": 1, "m": 3}}


def test_json_with_a_byte_order_mark(tmp_path):
    assert read(tmp_path, b'\xef\xbb\xbf{"a": "\xc3\xbc"}', "a.json") == {"a": "ü"}


@pytest.mark.parametrize(
    ("name", "text", "words", "code"),
    [
        ("a.yaml", "a: 1\na: 2", "line 2, column 1: a stands twice", "INVALID"),
        ("a.json", '{"b": {"a": 1, "a": 2}}', "a stands twice", "INVALID"),
        ("a.yaml", "a: [1", "line 2, column 1", "INVALID"),
        ("a.json", '{"a":', "line 1, column 6", "INVALID"),
        ("a.yaml", "a: !!python/object:os.system x", "python/object", "INVALID"),
        ("a.yaml", "? [a]\n: 1", "key must be text", "INVALID"),
        ("a.yaml", b"a: \xff", "not UTF-8", "INVALID"),
        ("a.yaml", "a: \x01", "can not be read", "INVALID"),
        ("a.json", "[" * 200_000, "nested too deeply", "INVALID"),
        ("a.json", '{"a": ' + "1" * 5000 + "}", "can not be read", "INVALID"),
        ("a.toml", "a = 1", "is not a kind of file", "UNSUPPORTED_FORMAT"),
        ("a", "a: 1", "is not a kind of file", "UNSUPPORTED_FORMAT"),
    ],
)
def test_what_can_not_be_read_is_told_with_its_place(tmp_path, name, text, words, code):
    with pytest.raises(ConfigurationError, match=words) as refused:
        read(tmp_path, text, name)
    assert refused.value.code == f"LOUSHO_SPEC_{code}"


def test_a_missing_file_and_a_folder(tmp_path):
    (tmp_path / "f.yaml").mkdir()
    for name, words in (("none.yaml", "does not exist"), ("f.yaml", "is no file"), ("x" * 300 + ".yaml", "read|exist")):
        with pytest.raises(ConfigurationError, match=words) as refused:
            read_document(tmp_path / name)
        assert refused.value.code == "LOUSHO_SPEC_NOT_FOUND"
