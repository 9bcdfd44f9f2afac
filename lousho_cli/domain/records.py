"""What can be written to a log. Everything lousho knows of a session is a fold of these.

A batch is what must be true together: it is one line of a file, one row of a table,
and it is all or nothing. So an input stands beside the message it became, a turn
beside its mark, a pause beside its mark, an end beside the input it settles.

Rules of this file: a record is frozen; a default is left out when written; a result
stands once, in ``ToolFinished``; a type starting with ``lousho.`` is ours, any other
is a user's and is kept as it came. A record is never changed after a release, only
given further fields with defaults.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

from lousho_cli.domain.agent import AgentDrift, Fingerprint
from lousho_cli.domain.agent_records import AgentEnded as AgentEnded
from lousho_cli.domain.agent_records import AgentStarted as AgentStarted
from lousho_cli.domain.approvals import Question, WaitKind
from lousho_cli.domain.checkpoint import Status
from lousho_cli.domain.input_records import Appended as Appended
from lousho_cli.domain.input_records import InputApplied as InputApplied
from lousho_cli.domain.input_records import InputMoved as InputMoved
from lousho_cli.domain.input_records import InputReceived as InputReceived
from lousho_cli.domain.input_records import InputRejected as InputRejected
from lousho_cli.domain.input_records import InputSettled as InputSettled
from lousho_cli.domain.input_records import InputTakenBack as InputTakenBack
from lousho_cli.domain.input_records import Outcome as Outcome
from lousho_cli.domain.messages import Message, Reasoning
from lousho_cli.domain.state import State
from lousho_cli.domain.stops import Stop
from lousho_cli.domain.usage import CallUsage
from lousho_cli.domain.wait_records import AskAnswered as AskAnswered
from lousho_cli.domain.wait_records import AskOpened as AskOpened
from lousho_cli.domain.wait_records import WaitAnswered as WaitAnswered
from lousho_cli.domain.wait_records import WaitOpened as WaitOpened
from lousho_cli.domain.wait_records import WaitPutBack as WaitPutBack
from lousho_cli.domain.wait_records import WaitTaken as WaitTaken

FORMAT = 1
"""The newest log format this version reads and writes."""

DEFAULT_RING = 50
"""How many marks a ring keeps where nobody said otherwise."""

RESERVED = "lousho."
"""Types that start so are ours."""

Replay = Literal["safe", "never"]
PermissionSource = Literal["rule", "mode", "hook"]


class _Record(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    pass


class Created(_Record, frozen=True, gc=False, tag="lousho.created"):
    """A session begins. ``path`` leads from the store's parent folder to the agent file; ``parent`` started it as a background agent."""

    agent: str
    path: str | None = None
    harness: str | None = None
    tenant: str | None = None
    format: int = FORMAT
    parent: str | None = None


class Forked(_Record, frozen=True, gc=False, tag="lousho.forked"):
    """A session begins as a copy. ``state`` is all it ever needs of its parent."""

    parent: str
    seq: int
    step: int
    state: State
    patch: tuple[str, ...] = ()
    format: int = FORMAT


class Base(_Record, frozen=True, gc=False, tag="lousho.base"):
    """The state that begins a log whose earlier records are gone, or were never a log."""

    state: State
    format: int = FORMAT


class Cleared(_Record, frozen=True, gc=False, tag="lousho.cleared"):
    """The checkpoint was deleted and its ring kept; the next message starts over."""


class Claimed(_Record, frozen=True, gc=False, tag="lousho.claimed"):
    """A host took the log. The line's epoch is the claim's."""

    host: str
    format: int = FORMAT


class AbortAsked(_Record, frozen=True, gc=False, tag="lousho.abort_asked"):
    """Somebody asked the run to stop."""

    by: str | None = None


class RunStarted(_Record, frozen=True, gc=False, tag="lousho.run_started"):
    """A run begins: steps, usage and calls count from zero.

    ``offered`` names the tools the model is offered; ``replay`` is the default for a call
    that was cut; ``instructions`` is the system message of a session's first run; ``model`` the agent's
    own, None where it takes the provider's; ``deadline`` when its time is up, stamped once.
    """

    input_id: str
    fingerprint: Fingerprint | None = None
    offered: tuple[str, ...] = ()
    model: str | None = None
    replay: Replay = "safe"
    max_steps: int | None = None
    instructions: str | None = None
    agent_id: str = ""
    config: Any = None
    deadline: str | None = None


class RunResumed(_Record, frozen=True, gc=False, tag="lousho.run_resumed"):
    """An unfinished run goes on, as attempt ``attempt``, perhaps with a changed agent."""

    attempt: int
    fingerprint: Fingerprint | None = None
    offered: tuple[str, ...] | None = None
    model: str | None = None
    max_steps: int | None = None
    deadline: str | None = None


class RunHeld(_Record, frozen=True, gc=False, tag="lousho.run_held"):
    """A host found work that it could not go on with: drift, a missing tool, a hook that failed. It is neither run nor settled."""

    error: str
    code: str | None = None


class RunHandedOver(_Record, frozen=True, gc=False, tag="lousho.run_handed_over"):
    """The owner stops on purpose and another is to go on: that one's is the same attempt."""


class Turn(_Record, frozen=True, gc=False, tag="lousho.turn"):
    """A whole answer of the model. It counts as a step; it is never asked for again."""

    message: Message
    finish_reason: str = "stop"
    model: str = ""
    usage: CallUsage | None = None
    estimate: tuple[int, int] | None = None


class Splice(_Record, frozen=True, gc=False, tag="lousho.splice"):
    """The transcript becomes its first ``keep`` messages and ``add``. Only for repair, patches, and an answer that is gone on with."""

    keep: int
    add: tuple[Message, ...] = ()
    why: str = ""


class Partial(_Record, frozen=True, gc=False, tag="lousho.partial"):
    """Text of an answer that is still being written, for who looks on and for who goes on with it. The turn supersedes it.

    ``reasoning``: the blocks of it that came to their end since the one before.
    """

    text: str
    reasoning: tuple[Reasoning, ...] = ()


class ToolStarted(_Record, frozen=True, gc=False, tag="lousho.tool_started"):
    """A call is about to run."""

    id: str


class ToolSpawned(_Record, frozen=True, gc=False, tag="lousho.tool_spawned"):
    """The process of a command tool: its id and start time tell it from a later one with the same id."""

    id: str
    pid: int
    started: str


class PermissionDecided(_Record, frozen=True, gc=False, tag="lousho.permission_decided"):
    """A rule, the mode or a hook decided on a call; beside what follows from it. For who reads the log."""

    id: str
    action: Literal["allow", "ask", "deny"]
    source: PermissionSource
    reason: str = ""


class ToolAsked(_Record, frozen=True, gc=False, tag="lousho.tool_asked"):
    """A call that had begun found that it needs a person; it runs again, with these arguments, once one has answered."""

    id: str
    kind: WaitKind
    question: Question
    args: Any = None


class ToolFinished(_Record, frozen=True, gc=False, tag="lousho.tool_finished"):
    """The result of a call, the JSON text the model gets.

    ``altered``: it held what JSON can not. ``replaced_by``: the hook that put it in place of the tool's own.
    """

    id: str
    content: str
    is_error: bool = False
    altered: bool = False
    replaced_by: str | None = None


class ModelRetry(_Record, frozen=True, gc=False, tag="lousho.model_retry"):
    """A model call failed and will be tried again; written before the wait.

    ``category``: of the error. ``limit``: how often it may be tried again, None where only the caller's own code knows.
    ``continued``: the text that had come is kept, by the splice in front of this, and the model goes on with it.
    """

    count: int
    error: str
    wait_ms: int = 0
    category: str = ""
    limit: int | None = None
    continued: bool = False


class BusinessState(_Record, frozen=True, gc=False, tag="lousho.business_state"):
    """The caller's own state; opaque. ``altered``: it held what JSON can not."""

    value: Any
    altered: bool = False


class SettingChanged(_Record, frozen=True, gc=False, tag="lousho.setting_changed"):
    """A setting or a config value of the session has a new value; None takes it away. It holds for the runs that begin later."""

    name: str
    value: Any = None


class StepDone(_Record, frozen=True, gc=False, tag="lousho.step_done"):
    """A named step within a call came to its end. Should the call run again, the step gives this value and does not."""

    id: str
    name: str
    value: Any = None


class WakeSet(_Record, frozen=True, gc=False, tag="lousho.wake_set"):
    """The session is to be taken up at a time; one that is None takes it back. ``messages`` become the input ``id`` then."""

    at: str | None
    id: str = ""
    messages: tuple[Message, ...] = ()
    by: str | None = None


class CommandEnded(_Record, frozen=True, gc=False, tag="lousho.command_ended"):
    """The owner carried out what it was asked for: ``id`` names the post. ``error`` instead of a value where it failed."""

    id: str
    value: Any = None
    error: str | None = None
    code: str | None = None


class Mark(_Record, frozen=True, gc=False, tag="lousho.mark"):
    """A checkpoint is here. ``limit`` is the ring's size in force; the newest ``limit`` marks are kept.

    ``stop``: what stopped the run here, before it had its answer.
    """

    step: int
    status: Status = "in-progress"
    finish_reason: str | None = None
    approval_id: str | None = None
    limit: int = DEFAULT_RING
    stop: Stop | None = None


class Note(_Record, frozen=True, gc=False, tag="lousho.note"):
    """Something a person should know when looking back: ``drift`` that was let pass, a repair, a takeover."""

    kind: str
    text: str
    drift: AgentDrift | None = None


Own = (
    Created
    | Forked
    | Base
    | Cleared
    | Claimed
    | InputReceived
    | InputApplied
    | InputMoved
    | InputTakenBack
    | InputRejected
    | InputSettled
    | Appended
    | AgentStarted
    | AgentEnded
    | AbortAsked
    | RunStarted
    | RunResumed
    | RunHeld
    | RunHandedOver
    | Turn
    | Splice
    | Partial
    | ToolStarted
    | ToolSpawned
    | PermissionDecided
    | ToolAsked
    | ToolFinished
    | WaitOpened
    | WaitTaken
    | WaitAnswered
    | WaitPutBack
    | AskOpened
    | AskAnswered
    | ModelRetry
    | BusinessState
    | SettingChanged
    | StepDone
    | WakeSet
    | CommandEnded
    | Mark
    | Note
)
"""What the records of one agent can be, a lead or a sub-agent."""


class Within(_Record, frozen=True, gc=False, tag="lousho.within"):
    """Records of a sub-agent. ``calls`` leads to it: the ids of the calls that started each enclosing one, outermost first.

    To the sub-agent they are what they would be to a lead: it is a session inside the session.
    """

    calls: tuple[str, ...]
    records: tuple[Own, ...]


Record = Own | Within


KNOWN = frozenset(kind.__struct_config__.tag for kind in get_args(Record))
"""The types this version knows."""


class Foreign(msgspec.Struct, frozen=True, gc=False):
    """A record that is not one of ours as we know them, kept as it came.

    ``reserved``: of a type that a newer version must have made. ``damaged``: of a type we know, in a shape it
    never had, as a record only ever gains fields with defaults. Neither: a user's own.
    """

    type: str
    raw: bytes

    @property
    def reserved(self) -> bool:
        return self.type.startswith(RESERVED) and self.type not in KNOWN

    @property
    def damaged(self) -> bool:
        return self.type in KNOWN


class Batch(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What was written together.

    Args:
        seq: place in the log, dense from 1.
        epoch: that of the owner who wrote it.
        at: UTC time, ISO 8601 with milliseconds; for people, never for order.
        sync: the last seq known to be synced when this was written; None means ``seq - 1``.
        records: at least one. A ``Foreign`` may stand among them; the type leaves it out, as it is what is decoded into.
    """

    seq: int
    epoch: int
    at: str
    records: tuple[Record, ...]
    sync: int | None = None
