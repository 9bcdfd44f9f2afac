"""lousho: run AI agents durably and look into what they did.

The public API, re-exported lazily (PEP 562), so that ``import lousho_cli`` costs
nothing and a name loads only what it needs. May import from every package below.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers read it; importing typing would double the cost of this module
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

_HOME = {
    "AbortController": "lousho_cli.executor.abort",
    "AbortSignal": "lousho_cli.executor.abort",
    "Agent": "lousho_cli.domain.agent",
    "AgentExecutor": "lousho_cli.executor.agent_executor",
    "resume_after_approval": "lousho_cli.executor.approvals",
    "get_checkpoint_history": "lousho_cli.executor.histories",
    "RunResult": "lousho_cli.executor.results",
    "Event": "lousho_cli.domain.events",
    "EventStream": "lousho_cli.executor.streams",
    "session_events": "lousho_cli.executor.log_events",
    "ToolRegistry": "lousho_cli.executor.registry",
    "compare_trajectories": "lousho_cli.core.compare",
    "RetryDecision": "lousho_cli.core.retry",
    "retry_transient_errors": "lousho_cli.core.retry",
    "Checkpoint": "lousho_cli.domain.checkpoint",
    "CheckpointHistoryEntry": "lousho_cli.domain.checkpoint",
    "ApprovalDecision": "lousho_cli.domain.approvals",
    "PendingApproval": "lousho_cli.domain.approvals",
    "Price": "lousho_cli.domain.prices",
    "known_prices": "lousho_cli.providers.known_prices",
    "Rule": "lousho_cli.core.permissions",
    "Hook": "lousho_cli.executor.hooks",
    "Guardrail": "lousho_cli.executor.guardrails",
    "ModelRequest": "lousho_cli.ports.provider",
    "Answer": "lousho_cli.ports.provider",
    "ExecutionSnapshot": "lousho_cli.domain.approvals",
    "Message": "lousho_cli.domain.messages",
    "ToolCall": "lousho_cli.domain.messages",
    "HOST_STOPPED_MESSAGE": "lousho_cli.domain.texts",
    "LEAD_ABORTED_MESSAGE": "lousho_cli.domain.texts",
    "CONTINUE_NOTE": "lousho_cli.domain.texts",
    "INTERRUPTED_TOOL_RESULT": "lousho_cli.domain.texts",
    "SHUTDOWN_REASON": "lousho_cli.domain.texts",
    "RUN_CANCEL_REASON": "lousho_cli.domain.texts",
    "TRUNCATED_TOOL_RESULT": "lousho_cli.domain.texts",
    "CloudflareKV": "lousho_cli.stores.kv.rest",
    "FileApprovalStore": "lousho_cli.stores.checkpoint_files",
    "FileCheckpointStore": "lousho_cli.stores.checkpoint_files",
    "FileStore": "lousho_cli.stores.file.store",
    "SqliteStore": "lousho_cli.stores.sqlite.store",
    "PostgresStore": "lousho_cli.stores.postgres.store",
    "PostgresCredentials": "lousho_cli.stores.postgres.credentials",
    "KVApprovalStore": "lousho_cli.stores.kv.approvals",
    "KVCheckpointStore": "lousho_cli.stores.kv.checkpoints",
    "KVStore": "lousho_cli.stores.kv.store",
    "LocalStorageApprovalStore": "lousho_cli.stores.local_storage",
    "LocalStorageCheckpointStore": "lousho_cli.stores.local_storage",
    "MemoryStore": "lousho_cli.stores.memory",
    "memory_store": "lousho_cli.stores.memory",
    "ScriptedProvider": "lousho_cli.providers.scripted",
    "create_harness_host": "lousho_cli.host.host",
    "HarnessHost": "lousho_cli.host.host",
    "Resumed": "lousho_cli.host.host",
    "HostSession": "lousho_cli.host.session",
    "define_harness": "lousho_cli.host.harness",
    "Harness": "lousho_cli.host.harness",
    "memory_persistence": "lousho_cli.host.persistence",
    "Receipt": "lousho_cli.host.receipts",
    "Settlement": "lousho_cli.host.receipts",
    "Waiting": "lousho_cli.host.receipts",
    "ForkedThread": "lousho_cli.host.forking",
    "AgentStatus": "lousho_cli.host.background",
    "AgentResult": "lousho_cli.host.background",
    "AgentGroup": "lousho_cli.host.background",
    "BackgroundLimits": "lousho_cli.core.background",
    "CommandContext": "lousho_cli.host.commands",
    "Ownership": "lousho_cli.host.options",
    "SnapshotTiming": "lousho_cli.host.options",
    "Observer": "lousho_cli.host.observing",
    "TurnEnd": "lousho_cli.host.observing",
    "RecoverInfo": "lousho_cli.host.recover_hook",
    "InputInfo": "lousho_cli.host.recover_hook",
    "ThreadView": "lousho_cli.host.recover_hook",
    "InterruptedTool": "lousho_cli.core.recovery",
    "CutCall": "lousho_cli.core.gate",
    "OpenAIProvider": "lousho_cli.providers.chat.provider",
    "OpenAIResponsesProvider": "lousho_cli.providers.responses.provider",
    "AnthropicProvider": "lousho_cli.providers.anthropic.provider",
    "create_agent": "lousho_cli.executor.create_agent",
    "DurableAgent": "lousho_cli.executor.create_agent",
    "AgentSession": "lousho_cli.executor.agent_sessions",
    "PendingTurn": "lousho_cli.executor.unfinished",
    "InputQueue": "lousho_cli.executor.input_queue",
    "SubAgent": "lousho_cli.executor.sub_agents",
    "cassette": "lousho_cli.evals.cassette",
    "CassetteProvider": "lousho_cli.evals.cassette",
    "define_eval": "lousho_cli.evals.definition",
    "Eval": "lousho_cli.evals.definition",
    "EvalContext": "lousho_cli.evals.context",
    "AgentContext": "lousho_cli.executor.dynamic",
    "define_tool": "lousho_cli.tools.define",
    "function_tool": "lousho_cli.tools.function",
    "mcp_tools": "lousho_cli.tools.mcp.opening",
    "ToolContext": "lousho_cli.ports.tool",
    "SDKError": "lousho_cli.errors",
    "ConfigurationError": "lousho_cli.errors",
    "RangeError": "lousho_cli.errors",
    "NotFoundError": "lousho_cli.errors",
    "SessionAwaitingApprovalError": "lousho_cli.errors",
    "SessionBusyError": "lousho_cli.errors",
    "OwnershipLostError": "lousho_cli.errors",
    "AgentDriftError": "lousho_cli.errors",
    "ResumeToolMissingError": "lousho_cli.errors",
    "InputRejectedError": "lousho_cli.errors",
    "CommandFailedError": "lousho_cli.errors",
    "ProviderError": "lousho_cli.errors",
    "McpServerError": "lousho_cli.errors",
    "StorageError": "lousho_cli.errors",
    "CassetteError": "lousho_cli.errors",
    "CassetteMismatchError": "lousho_cli.errors",
    "DamagedLogError": "lousho_cli.errors",
    "LogVersionError": "lousho_cli.errors",
    "PropagatingToolError": "lousho_cli.errors",
    "HookError": "lousho_cli.errors",
    "GuardrailTrippedError": "lousho_cli.errors",
    "BudgetExceededError": "lousho_cli.errors",
    "AskPerson": "lousho_cli.errors",
    "SignInRequired": "lousho_cli.errors",
    "NoAnswerError": "lousho_cli.errors",
    "Credential": "lousho_cli.ports.credentials",
    "MemoryCredentials": "lousho_cli.stores.credentials_memory",
    "KeyringCredentials": "lousho_cli.stores.credentials_keyring",
}

__all__ = ["__version__", *sorted(_HOME)]  # noqa: PLE0604 - the table above is the list


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
