"""Changes as people type them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lousho_cli.app.json_input import parse_json
from lousho_cli.app.patches import read_patch
from lousho_cli.errors import ConfigurationError


def test_flags_stand_in_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(json.dumps({"business_state": 1, "append_input": "file"}))
    change = read_patch(tmp_path, "p.json", None, "null", ["c=@r.json"][:0], "")
    assert change == {"business_state": None, "append_input": ""}


def test_a_result_may_hold_equals_signs_and_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text('"a=b"')
    for given in ('c="a=b"', "c=@r.json"):
        assert read_patch(tmp_path, None, None, None, [given], None) == {"tool_result": {"tool_call_id": "c", "result": "a=b"}}


@pytest.mark.parametrize("text", ["", "rain", "NaN", "{'a': 1}", "[1,]", "1 2"])
def test_what_is_no_json_is_refused_by_its_flag(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_json(text, "--business-state")
    assert caught.value.field == "--business-state"


def test_files_that_can_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for name in ("missing", "bytes", "."):
        with pytest.raises(ConfigurationError):
            read_patch(tmp_path, None, name, None, (), None)
