"""The fixed texts that reach a model or a caller when no tool or person could speak.

Each can be replaced where an agent or a harness is defined; tests compare with these
constants, never with a copy of their words.
"""

from __future__ import annotations

INTERRUPTED_TOOL_RESULT = (
    "This call was started, but the process running it stopped before its outcome was recorded. "
    "It may or may not have taken effect. Check before you repeat it."
)

TRUNCATED_TOOL_RESULT = (
    "This call was not run: the answer that asked for it was cut off at the output limit, "
    "so its arguments may be incomplete. Ask again with a shorter answer."
)

HOST_STOPPED_MESSAGE = "The host that ran this agent stopped before the agent had ended."

CONTINUE_NOTE = "Your last answer was cut off. Go on exactly where it stopped, without repeating what is already there."

CANCELLED_TOOL_RESULT = "This call was cancelled because the run was aborted; it was not run to an end."

NOT_RUN_TOOL_RESULT = "This call was not run: it had not been started when the run was continued from stored data."

REJECTED_TOOL_RESULT = "The reviewer rejected this call; it was not run."

DECLINED_ANSWER_RESULT = "The person declined to answer."

NOT_SIGNED_IN_RESULT = "The person did not sign in, so this call was not run to an end."

BLOCKED_TOOL_RESULT = "This call was not run: a guardrail stopped the run."

OVER_BUDGET_TOOL_RESULT = "This call was not run: the run had come to its limit."

ENDED_TOOL_RESULT = "This call was not run: the run was ended before the call had been started."

OUT_OF_TIME = "the time for this input is up"

TIMED_OUT = "timeout"
"""The code of a run whose time was up."""

ATTEMPTS_EXHAUSTED = "attempts_exhausted"
"""The code of a run that its host did not survive as often as it may be tried."""

WITHHELD_ANSWER = "[This answer was withheld by a guardrail.]"

MASKED_ANSWER = "[secret]"
"""What is kept in place of a secret that a person typed."""

EXPIRED_TOOL_RESULT = "The approval for this call expired before it was decided, so it was not run."

EDITED_TOOL_NOTE = "A reviewer changed the arguments of this call before approving it."

LEAD_ABORTED_MESSAGE = "The lead of this agent was aborted, and the agent with it."

SHUTDOWN_REASON = "shutdown"
"""Why a tool is stopped when its host goes down and another will go on."""

TIMEOUT_REASON = "timeout"
"""Why a tool is stopped when the time of its run is up."""

RUN_CANCEL_REASON = "cancelled"
"""Why a tool is stopped when the user aborts the run."""
