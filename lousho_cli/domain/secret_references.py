"""What stands in a transcript in the place of a secret that a person typed: that there was one, and where it is kept, if it is."""

from __future__ import annotations

import re

from lousho_cli.domain.texts import MASKED_ANSWER

ANSWER_PREFIX = "harness:answer:"
"""What the id of a kept secret answer begins with."""

_REFERENCE = re.compile(re.escape(ANSWER_PREFIX) + r"[^\s\[\]]{1,200}")


def shown_reference(reference: str) -> str:
    """How a model, and whoever reads along, sees a secret that is kept under ``reference``."""
    return f"{MASKED_ANSWER} {reference}"


def reference_in(text: object) -> str | None:
    """The reference that a text is, as it is shown or alone; None where it is something else."""
    bare = text.strip().removeprefix(MASKED_ANSWER).strip() if isinstance(text, str) else ""
    return bare if _REFERENCE.fullmatch(bare) else None
