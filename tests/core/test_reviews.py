"""What an approval adds to a result."""

from __future__ import annotations

import json

from lousho_cli.core.reviews import reviewed
from lousho_cli.domain.approvals import ApprovalDecision
from lousho_cli.domain.texts import EDITED_TOOL_NOTE


def test_a_plain_approval_leaves_the_result_as_it_is() -> None:
    assert reviewed('{"ok":true}', ApprovalDecision("a", True)) == '{"ok":true}'
    assert reviewed('{"ok":true}', None) == '{"ok":true}'


def test_a_note_goes_to_the_model_beside_the_result() -> None:
    said = json.loads(reviewed('{"ok":true}', ApprovalDecision("a", True, note="only today")))
    assert said == {"result": {"ok": True}, "review": {"note": "only today"}}


def test_an_edit_says_so_and_shows_the_arguments_that_ran() -> None:
    said = json.loads(reviewed('"done"', ApprovalDecision("a", True, args={"amount": 10})))
    assert said == {"result": "done", "review": {"edited": EDITED_TOOL_NOTE, "arguments": {"amount": 10}}}


def test_an_error_keeps_its_shape() -> None:
    said = json.loads(reviewed('{"error":"X","kind":"execution"}', ApprovalDecision("a", True, note="try"), is_error=True))
    assert said == {"error": "X", "kind": "execution", "review": {"note": "try"}}


def test_a_rejection_has_a_result_of_its_own() -> None:
    assert reviewed("{}", ApprovalDecision("a", False, note="no")) == "{}"
