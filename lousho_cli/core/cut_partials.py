"""What was written of an answer that never came to its end, from the records behind the last checkpoint."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Reasoning


class CutAnswer(msgspec.Struct, frozen=True):
    """Its text so far, and the blocks of reasoning that had ended."""

    text: str = ""
    reasoning: tuple[Reasoning, ...] = ()


def cut_answer(batches: Iterable[r.Batch]) -> CutAnswer:
    """The answer of the lead that was being written last, empty where none was. Sub-agents' own are not looked at."""
    found = CutAnswer()
    for batch in batches:
        for record in batch.records:
            if isinstance(record, r.Partial):
                found = CutAnswer(found.text + record.text, (*found.reasoning, *record.reasoning))
            elif isinstance(record, _ANEW):
                found = CutAnswer()
    return found


_ANEW = (r.Turn, r.Splice, r.ModelRetry, r.RunStarted, r.RunResumed, r.InputApplied, r.InputSettled, r.Cleared, r.Base, r.Forked)
"""Records behind which no part of an earlier answer counts: it is whole, kept already, asked for anew, or another's."""
