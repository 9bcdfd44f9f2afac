"""Every error a caller can meet, as one tree.

    SDKError                            code, detail, hint; the root
    ├── ConfigurationError              a wrong option, agent file or id      .field
    │   └── RangeError                  a number out of its range             also a ValueError
    ├── NotFoundError                   session, step or approval             .kept
    │   └── AmbiguousError              several match                         .kept
    ├── SessionAwaitingApprovalError    a person must decide first            .session_id .approval_id
    ├── SessionBusyError                another owner drives it               .owner
    │   └── OwnershipLostError          it was ours, it is another's now
    ├── AgentDriftError                 the agent changed and the mode is error
    │   └── ResumeToolMissingError      a pending call names a tool that is gone
    ├── InputRejectedError              an input id with other content, a closed queue .receipt
    ├── CommandFailedError              a command raised on another host
    ├── HookError                       a hook or a guardrail failed          .hook
    ├── GuardrailTrippedError           a guardrail that throws blocked       .name .kind .reason .tool_name
    ├── BudgetExceededError             a limit was reached that throws       .limit .value .max
    ├── ProviderError                   a model call failed                   .category .retryable .retry_after_ms
    ├── McpServerError                  an MCP server can not be started      .server
    ├── CassetteError                   recorded model calls can not be used  .path
    │   └── CassetteMismatchError       a call is not the one recorded        .call .at
    ├── StorageError                    the store cannot be read or written   .retryable
    │   ├── DamagedLogError             a hole in the middle of a log
    │   ├── LogVersionError             written by a newer version
    │   └── NotAStoreError              the path is something else
    └── AbortedError                    the signal fired before anything could start

    PropagatingToolError                raised by a tool to stop the run; on purpose without a code
    AskPerson                           raised by a tool that needs a person to go on; without a code
    └── SignInRequired                  it needs a person to sign in somewhere
    NoAnswerError                       raised in a tool that asked and got no answer; without a code

A code is stable: callers branch on it. The detail says what happened, the hint
what to do. None of them ever holds a key, a header or a whole response body.
"""

from __future__ import annotations

from collections.abc import Sequence


class SDKError(Exception):
    """The root of every error that lousho raises on purpose.

    Args:
        detail: what happened, one sentence without a final code.
        code: stable name, ``LOUSHO_…``; the class's own when not given.
        hint: what to do about it, one sentence; may be empty.
    """

    default_code = "LOUSHO_GENERIC_ERROR"

    def __init__(self, detail: str, *, code: str | None = None, hint: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code or self.default_code
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.detail} [{self.code}]"
        return f"{text} {self.hint}" if self.hint else text

    def __reduce__(self) -> tuple[object, ...]:
        # Subclasses take further arguments; a pickled error keeps its attributes instead of calling them again.
        return (_rebuild, (type(self), self.args, self.__dict__))


def _rebuild(kind: type[SDKError], args: tuple[object, ...], state: dict[str, object]) -> SDKError:
    error = kind.__new__(kind)
    Exception.__init__(error, *args)
    error.__dict__.update(state)
    return error


class ConfigurationError(SDKError):
    """A wrong option, agent file, id or patch. ``field`` names it by path."""

    default_code = "LOUSHO_CONFIG_INVALID"

    def __init__(self, detail: str, *, field: str = "", code: str | None = None, hint: str = "") -> None:
        super().__init__(detail, code=code, hint=hint)
        self.field = field


class RangeError(ConfigurationError, ValueError):
    """A number out of its range."""


class NotFoundError(SDKError):
    """A session, step or approval that is not there. ``kept`` lists what is; ``session_id`` is the session that was looked into, if any."""

    default_code = "LOUSHO_NOT_FOUND"

    def __init__(
        self, detail: str, *, kept: Sequence[str] = (), code: str | None = None, hint: str = "", session_id: str | None = None
    ) -> None:
        super().__init__(detail, code=code, hint=hint)
        self.kept = tuple(kept)
        self.session_id = session_id


class AmbiguousError(NotFoundError):
    """Several sessions or approvals match. ``kept`` lists the candidates."""

    default_code = "LOUSHO_AMBIGUOUS"


class SessionAwaitingApprovalError(SDKError):
    """The session waits for a person; nothing ran and nothing was written."""

    default_code = "LOUSHO_SESSION_AWAITING_APPROVAL"

    def __init__(self, session_id: str, approval_id: str, kind: str = "tool") -> None:
        super().__init__(
            f"session {session_id} waits for a decision on {approval_id}",
            hint=f"Decide it first: lousho approve {approval_id} (or reject, or answer).",
        )
        self.session_id = session_id
        self.approval_id = approval_id
        self.kind = kind


class SessionBusyError(SDKError):
    """Another owner drives the session. ``owner`` says who and since when, in words."""

    default_code = "LOUSHO_SESSION_BUSY"

    def __init__(self, session_id: str, owner: str, *, code: str | None = None, hint: str = "") -> None:
        super().__init__(
            f"session {session_id} is driven by {owner}",
            code=code,
            hint=hint or f'Wait, look in with: lousho follow {session_id}, or leave an input: lousho run -s {session_id} "…" --queue',
        )
        self.session_id = session_id
        self.owner = owner


class OwnershipLostError(SessionBusyError):
    """The session was ours and another owner took it; what we had not written is not counted."""

    default_code = "LOUSHO_OWNERSHIP_LOST"


class WrongHostError(SDKError):
    """A tool works in a folder of another host, which lives. ``host_id`` is that one's; the model is told, and nothing ran."""

    default_code = "LOUSHO_WRONG_HOST"

    def __init__(self, host_id: str) -> None:
        super().__init__(
            f"LOUSHO_WRONG_HOST: this tool works in a folder of the host {host_id}, and the thread runs on another one now",
            hint="Go on with the thread on that host.",
        )
        self.host_id = host_id


class AgentDriftError(SDKError):
    """The agent differs from the one the run was saved with, and drift is an error. Nothing ran or changed."""

    default_code = "LOUSHO_AGENT_DRIFT"


class ResumeToolMissingError(AgentDriftError):
    """A call that still has to run names a tool the agent no longer has. ``tools`` names them."""

    default_code = "LOUSHO_RESUME_TOOL_MISSING"

    def __init__(self, tools: Sequence[str]) -> None:
        names = ", ".join(tools)
        super().__init__(
            f"the run has a pending call to {names}, which the agent no longer has",
            hint="Put the tool back, or reject or fork the call.",
        )
        self.tools = tuple(tools)


class InputRejectedError(SDKError):
    """An input that can not be taken: its id was used for other content, or nobody will ever read it.

    ``receipt``: what a host told its sender, where a host refused it.
    """

    default_code = "LOUSHO_INPUT_REJECTED"

    def __init__(self, detail: str, *, code: str | None = None, hint: str = "", receipt: object = None) -> None:
        super().__init__(detail, code=code, hint=hint)
        self.receipt = receipt


class CommandFailedError(SDKError):
    """A command of a harness raised on the host that carried it out; ``code`` is that of what it raised, where it had one."""

    default_code = "LOUSHO_COMMAND_FAILED"


class HookError(SDKError):
    """A hook or a guardrail raised, or gave what can not be used. ``hook`` names it; ``__cause__`` is what it raised."""

    default_code = "LOUSHO_HOOK_FAILED"

    def __init__(self, hook: str, why: str) -> None:
        super().__init__(f"{hook} {why}", hint="The run stands where it stood before. Mend it and go on.")
        self.hook = hook


class GuardrailTrippedError(SDKError):
    """A guardrail blocked, and it is one that throws. ``kind`` is what it looked at: input, tool or output."""

    default_code = "LOUSHO_GUARDRAIL_TRIPPED"

    def __init__(self, name: str, kind: str, reason: str = "", tool_name: str | None = None) -> None:
        of = f" of {tool_name}" if tool_name else ""
        super().__init__(f"the guardrail {name} blocked the {kind}{of}: {reason}".rstrip(": "))
        self.name, self.kind, self.reason, self.tool_name = name, kind, reason, tool_name


class BudgetExceededError(SDKError):
    """A run came to a limit whose ``on_exceeded`` is ``throw``. ``value`` is what it used, None where that is not known."""

    default_code = "LOUSHO_BUDGET_EXCEEDED"

    def __init__(self, limit: str, value: float | None, most: float) -> None:
        used = "what it used is not known" if value is None else f"it used {value:g}"
        super().__init__(f"the run came to its limit {limit} of {most:g}: {used}", hint="Go on with a higher limit.")
        self.limit, self.value, self.max = limit, value, most


class ProviderError(SDKError):
    """A model call failed.

    Attributes:
        category: one of rate-limit, overloaded, timeout, context-length-exceeded, auth-failure, refused,
            bad-request, network, server, unknown.
        retryable: whether the same request may succeed later.
        retry_after_ms: what the server asked for, or None.
        partial: True when text, reasoning or a call had already been streamed.
        replayed: True when it was played from a cassette, and so will be what comes next: nobody waits before asking again.
    """

    default_code = "LOUSHO_PROVIDER_REQUEST_FAILED"
    replayed = False

    def __init__(
        self,
        detail: str,
        *,
        category: str = "unknown",
        retryable: bool = False,
        retry_after_ms: int | None = None,
        partial: bool = False,
        code: str | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(detail, code=code, hint=hint)
        self.category = category
        self.retryable = retryable
        self.retry_after_ms = retry_after_ms
        self.partial = partial


class McpServerError(SDKError):
    """An MCP server can not be started or reached, or what it offers can not be used. ``server`` is its name in the agent."""

    default_code = "LOUSHO_MCP_SERVER_FAILED"

    def __init__(self, server: str, why: str, *, hint: str = "") -> None:
        super().__init__(f"the MCP server {server} can not be used: {why}", hint=hint or f"Check mcp_servers.{server}; nothing ran.")
        self.server = server


class CassetteError(SDKError):
    """A file of recorded model calls can not be read or written. ``path`` names it. It is no failed model call: never retried."""

    default_code = "LOUSHO_CASSETTE_INVALID"

    def __init__(self, detail: str, *, path: str, code: str | None = None, hint: str = "") -> None:
        super().__init__(detail, code=code, hint=hint)
        self.path = path


class CassetteMismatchError(CassetteError):
    """A model call is not the one that was recorded, or one more than were.

    Attributes:
        call: its number in this run of the cassette, from 1.
        at: the first place where the two requests differ, such as ``messages[2].content``; "" where none is left to compare.
    """

    default_code = "LOUSHO_CASSETTE_MISMATCH"

    def __init__(self, detail: str, *, path: str, call: int, at: str = "", code: str | None = None, hint: str = "") -> None:
        super().__init__(detail, path=path, code=code, hint=hint)
        self.call = call
        self.at = at


class StorageError(SDKError):
    """The store can not be read or written: a full disk, no permission, a lost connection.

    Attributes:
        retryable: whether the same may succeed a little later: a server is away, or only starting.
    """

    default_code = "LOUSHO_STORAGE_FAILED"
    retryable = False


class DamagedLogError(StorageError):
    """A log has a hole in the middle, so nothing may be written to it until it is repaired."""

    default_code = "LOUSHO_LOG_DAMAGED"


class LogVersionError(StorageError):
    """A log was written by a newer version, so this one must not write to it."""

    default_code = "LOUSHO_LOG_VERSION"


class NotAStoreError(StorageError):
    """The path given as a store is something else: a file, or another user's folder."""

    default_code = "LOUSHO_NOT_A_STORE"


class AbortedError(SDKError):
    """The run was aborted before there was anything to return."""

    default_code = "LOUSHO_ABORTED"


class PropagatingToolError(Exception):
    """Raised by a tool to stop the run instead of telling the model.

    The calls already running are awaited and recorded, no new one starts, and the
    first such error in call order is what the caller gets.
    """


class AskPerson(Exception):
    """Raised by a tool that finds out while it runs that it needs a person.

    The call is put off, not failed: the run pauses once the calls beside it have ended, and after the answer the tool
    runs again from its beginning, with the answer in ``context.answer``. When the person declines, the model is told.

    Args:
        text: what the person is asked.
        options: choices to offer. allow_free_text: whether another answer is welcome, too.
    """

    kind = "question"
    url: str | None = None

    def __init__(self, text: str, *, options: Sequence[str] = (), allow_free_text: bool = True) -> None:
        super().__init__(text)
        self.text = text
        self.options = tuple(options)
        self.allow_free_text = allow_free_text or not self.options


class SignInRequired(AskPerson):
    """Raised by a tool that can not go on until a person has signed in. Approving means: it is done.

    Args:
        url: where to sign in.
        text: what the person is asked; names the address when not given.
    """

    kind = "sign-in"

    def __init__(self, url: str, text: str = "") -> None:
        super().__init__(text or f"Sign in at {url}, then approve.")
        self.url = url


class NoAnswerError(Exception):
    """Raised by ``step.ask`` where no answer comes: the person declined, the time was up, or this run asks nobody.

    Left alone, it becomes the call's result, and the model is told.

    Attributes:
        note: what the person said instead, None for nothing.
        expired: whether it was the time.
    """

    tool_error_kind = "rejected"

    def __init__(self, text: str, *, note: str | None = None, expired: bool = False) -> None:
        super().__init__(text)
        self.note = note
        self.expired = expired
