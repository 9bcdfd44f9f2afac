"""Who may steer a turn that runs: its own sender, unless the harness says otherwise."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from lousho_cli.core.effects import MayJoin
from lousho_cli.domain.messages import Message
from lousho_cli.domain.session import InputState
from lousho_cli.errors import ConfigurationError

CanJoin = Callable[[str | None, str | None, tuple[Message, ...]], Any]
"""Whether an input may steer the turn that runs: who sent it, who began the turn, its messages. Sync; asked again each time."""

log_to = logging.getLogger("lousho")


def joining_rule(can_join: CanJoin | None) -> MayJoin:
    """The rule of a harness. A function that fails lets nobody in.

    Raises:
        ConfigurationError: it is no function.
    """
    if can_join is None:
        return lambda _input_id, state, began: state.by == began
    if not callable(can_join):
        raise ConfigurationError("can_join is no function", field="can_join")

    def may_join(input_id: str, state: InputState, began: str | None) -> bool:
        try:
            return can_join(state.by, began, state.messages) is True
        except Exception:
            log_to.exception("can_join failed on input %s, so it waits for a turn of its own", input_id)
            return False

    return may_join
