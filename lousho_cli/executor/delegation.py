"""Driving sub-agents: a call of the lead that is a run of its own, inside the same log.

Driving one is driving: the same ``Driver``, on the part of the log that is the sub-agent's. What its rest
means to the lead is said by ``core.delegation``. While it waits for a person it has no result; deciding
sees that it waits and pauses the lead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lousho_cli.core import tool_errors
from lousho_cli.core.decide import RunCall
from lousho_cli.core.delegation import begins, result_of
from lousho_cli.domain import records as r
from lousho_cli.errors import (
    BudgetExceededError,
    CassetteError,
    GuardrailTrippedError,
    HookError,
    OwnershipLostError,
    PropagatingToolError,
    ProviderError,
    SDKError,
    StorageError,
)
from lousho_cli.executor.abort import AbortController
from lousho_cli.executor.perform import Fatal
from lousho_cli.executor.sub_agents import SubAgentTool
from lousho_cli.executor.sub_log import part_of

if TYPE_CHECKING:
    from lousho_cli.executor.drive import Driver


class Delegation:
    """The sub-agents that one driver has going."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._controllers: dict[str, AbortController] = {}

    async def run(self, effect: RunCall) -> r.ToolFinished | Fatal | None:
        """Drives one sub-agent to its rest. None: it waits for a person, or was stopped for another process to go on."""
        lead, call = self._driver, effect.call
        tool = lead.agent.tools[call.name]
        assert isinstance(tool, SubAgentTool), "only a sub-agent is driven"
        log = part_of(lead.log, call.id)
        controller = self._controllers[call.id] = AbortController()
        forget = lead.signal.on_abort(lambda: controller.abort(lead.signal.reason))
        child = lead.within(log, tool, controller)
        try:
            session = await child.drive(begins(log.session, tool.facts, call, effect.args, log.clock.now()))
        except (OwnershipLostError, StorageError):
            raise
        except PropagatingToolError as error:
            return Fatal(call, error)
        except SDKError as error:
            return _failed(effect, error)
        finally:
            forget()
            del self._controllers[call.id]
        return result_of(call, session)

    def stop(self) -> None:
        """Lets each end what it is doing and begin nothing more; it goes on when the run does."""
        for controller in list(self._controllers.values()):
            controller.stop()


def _failed(effect: RunCall, error: SDKError) -> r.ToolFinished | Fatal:
    """What may pass, such as an overloaded model, and what stops a run, stop this one, which keeps what was done; else the lead is told."""
    stops = isinstance(error, HookError | GuardrailTrippedError | BudgetExceededError | CassetteError)
    if stops or (isinstance(error, ProviderError) and error.retryable):
        return Fatal(effect.call, error)
    return r.ToolFinished(effect.call.id, tool_errors.execution(effect.call, type(error).__name__, error.detail), is_error=True)
