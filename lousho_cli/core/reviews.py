"""What a person's approval adds to a call's result: the note that goes to the model, and that arguments were changed.

The model's own text of the call stays in the transcript, so without this it would take the result
of an edited call for that of the one it asked for.
"""

from __future__ import annotations

from lousho_cli.domain.approvals import ApprovalDecision
from lousho_cli.domain.plain import json_text
from lousho_cli.domain.texts import EDITED_TOOL_NOTE


def reviewed(content: str, decision: ApprovalDecision | None, *, is_error: bool = False) -> str:
    """The JSON text the model gets: ``content`` as it is, unless the reviewer left a note or changed the arguments.

    Then a result becomes ``{"result": …, "review": …}``, and an error gets a ``review`` beside its other keys.
    """
    if decision is None or not decision.approved or (decision.note is None and decision.args is None):
        return content
    review: dict[str, object] = {} if decision.note is None else {"note": decision.note}
    if decision.args is not None:
        review |= {"edited": EDITED_TOOL_NOTE, "arguments": decision.args}
    said = json_text(review)[0]
    if is_error and content.startswith("{") and content.endswith("}") and content != "{}":
        return f'{content[:-1]},"review":{said}}}'
    return f'{{"result":{content},"review":{said}}}'
