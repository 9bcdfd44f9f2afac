"""Keeping a secret that a model asked for, so that a tool it is handed to can take it, once."""

from __future__ import annotations

import msgspec

from lousho_cli.app.own_credentials import OwnCredentials, way_of_secrets
from lousho_cli.app.preparing import Prepared
from lousho_cli.domain.approvals import ApprovalDecision
from lousho_cli.domain.secret_references import shown_reference
from lousho_cli.errors import ConfigurationError, StorageError
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.executor.secret_answers import put_aside
from lousho_cli.ports.log_store import LogStore
from lousho_cli.stores.credentials_memory import MemoryCredentials


async def keep_secret(
    store: LogStore, decision: ApprovalDecision, secret: str, prepared: Prepared | None, *, goes_on: bool
) -> tuple[ApprovalDecision, Prepared | None]:
    """The decision with the reference to a secret, and the agent whose tools can take it.

    Where none of its tools could, it is kept nowhere. Else for 24 hours beside the sessions, where the store does that, or in the
    keyring; without one by this process, where that goes on with the run, for as long as it does. Where it is kept nowhere the model
    is told no more than that it was typed.
    """
    if prepared is not None and not _may_take(prepared):
        return decision, prepared
    reference_id, by = SYSTEM_CLOCK.new_id(), decision.by
    try:
        reference = await put_aside(reference_id, secret, by, way_of_secrets(store), SYSTEM_CLOCK)
    except (ConfigurationError, StorageError):
        if prepared is None or not goes_on:
            return decision, prepared
        held = MemoryCredentials()
        reference = await put_aside(reference_id, secret, by, held, SYSTEM_CLOCK)
        prepared = msgspec.structs.replace(prepared, settings={**prepared.settings, "credentials": OwnCredentials(held)})
    return msgspec.structs.replace(decision, note=shown_reference(reference)), prepared


def _may_take(prepared: Prepared) -> bool:
    """Whether a tool may take a secret: a command that says so, a Python function with the context of its call, or what a sub-agent has."""
    takes = (getattr(tool, "secrets", ()) or getattr(tool, "takes_context", False) for tool in prepared.tools)
    return bool(prepared.file.subagents) or any(takes)
