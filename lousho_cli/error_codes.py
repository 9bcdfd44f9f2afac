"""Every code an error can carry: what it means, what to do, and the exit code of a command that ends with it.

A code is stable: programs branch on it, people look it up. ``docs/errors.md`` is this table as a page.
An exit code of None belongs to a code that only warns.
"""

from __future__ import annotations

from typing import NamedTuple


class ErrorCode(NamedTuple):
    """One row: what it means and what to do, a sentence each; ``exit`` as in ``cli.exits``."""

    meaning: str
    remedy: str
    exit: int | None


ERROR_CODES: dict[str, ErrorCode] = {
    # A session and its runs
    "LOUSHO_SESSION_NOT_FOUND": ErrorCode("No session has this id, or begins so.", "Take one from `lousho list`.", 3),
    "LOUSHO_SESSION_EXISTS": ErrorCode("The id for a new session is taken.", "Choose another id, or leave it out.", 2),
    "LOUSHO_SESSION_ID_INVALID": ErrorCode("The text can not be a session id.", "Use letters, digits, `.`, `_` and `-`.", 2),
    "LOUSHO_SESSION_AWAITING_APPROVAL": ErrorCode(
        "A person must decide before the session can go on; nothing ran.", "Decide it: `lousho pending`, then approve, reject or answer.", 4
    ),
    "LOUSHO_SESSION_BUSY": ErrorCode(
        "Another process drives the session.", "Wait for it, send the input with `--queue`, or look in with `lousho follow`.", 5
    ),
    "LOUSHO_OWNERSHIP_LOST": ErrorCode(
        "Another process took the session from this one; what was acknowledged is kept.", "See who with `lousho list`; go on there.", 5
    ),
    "LOUSHO_CHECKPOINT_NOT_FOUND": ErrorCode(
        "The step is not in the history that is kept.", "Take one of the kept steps the message lists.", 3
    ),
    "LOUSHO_AMBIGUOUS": ErrorCode("Several sessions or approvals fit.", "Give more of the id; the message lists them.", 3),
    "LOUSHO_NOT_FOUND": ErrorCode("What was named is not there.", "The message says what is.", 3),
    "LOUSHO_INPUT_CONFLICT": ErrorCode("The input id was used before, with other content.", "Give the new input an id of its own.", 2),
    "LOUSHO_INPUT_REJECTED": ErrorCode("An input can not be taken: nobody will ever read it.", "Send it as a new message.", 2),
    "LOUSHO_INPUT_NOT_FOUND": ErrorCode("Nobody ever sent an input with this id.", "Use the id of its receipt.", 3),
    "LOUSHO_INPUT_NOT_WAITING": ErrorCode("The input does not wait: unknown, begun, or ended.", "See what does: `lousho inputs`.", 3),
    "LOUSHO_MESSAGE_NOT_FOUND": ErrorCode("The thread has no such message to fork at.", "Look at the transcript of its handle.", 3),
    "LOUSHO_BACKGROUND_AGENT_NOT_FOUND": ErrorCode("The thread has no background agent with this id.", "See the agents of its handle.", 3),
    "LOUSHO_BACKGROUND_LIMIT": ErrorCode(
        "A model wants more agents in the background than there may be; it is told so.", "Raise the limits of the harness.", 2
    ),
    "LOUSHO_COMMAND_FAILED": ErrorCode("A command of a harness raised on the host that carried it out.", "The message says what.", 1),
    "LOUSHO_RECORD_RESERVED": ErrorCode(
        "A record of one's own has a type that starts with `lousho.`.", "Give it a type of your own, such as `acme.note`.", 2
    ),
    "LOUSHO_OTHER_HARNESS": ErrorCode("The thread is one of another harness.", "Open it with the harness it began with.", 2),
    "LOUSHO_OTHER_TENANT": ErrorCode("The thread is another tenant's.", "Open it in its own tenant.", 2),
    "LOUSHO_WRONG_HOST": ErrorCode(
        "A tool works in a folder of another host, which lives; the call did not run.", "Go on with the thread on that host.", None
    ),
    "LOUSHO_RUN_ALREADY_ITERATED": ErrorCode("The events of a run were read before.", "Read them once, or follow the log.", 1),
    "LOUSHO_ABORTED": ErrorCode("The run was aborted before it began.", "Run it again.", 130),
    "LOUSHO_TRANSCRIPT_INVALID": ErrorCode(
        "The transcript is none a model would accept, so nothing was sent.", "Fork from an earlier step, or patch the messages.", 1
    ),
    # Approvals
    "LOUSHO_APPROVAL_NOT_FOUND": ErrorCode("Nothing waits under this id: unknown, or decided.", "See what waits: `lousho pending`.", 3),
    "LOUSHO_APPROVAL_ORPHANED": ErrorCode(
        "The approval a session waited for is gone; its call is put to a person again.", "Decide it under its new id.", None
    ),
    "LOUSHO_APPROVAL_STORE_MISSING": ErrorCode(
        "A call needs a person's approval and there is nowhere to keep it.", "Give an approval store.", 2
    ),
    "LOUSHO_DIGEST_MISMATCH": ErrorCode("The decision was made for another call.", "Look at what waits now, and decide that.", 2),
    "LOUSHO_SECRET_ARGUMENT": ErrorCode("A secret was given on the command line.", "Type it when asked, or pipe it in.", 2),
    # A changed agent
    "LOUSHO_AGENT_DRIFT": ErrorCode(
        "The agent is not the one the run was saved with, and drift is an error. Nothing changed.",
        "Resume with the old agent, or with `--on-drift warn`.",
        6,
    ),
    "LOUSHO_RESUME_TOOL_MISSING": ErrorCode(
        "A call that still has to run names a tool the agent no longer has.", "Put the tool back, or reject or fork the call.", 6
    ),
    # Options and agent files
    "LOUSHO_CONFIG_INVALID": ErrorCode("An option or a value is wrong; the message names it.", "Correct it.", 2),
    "LOUSHO_CONFIG_MISSING_AGENT": ErrorCode("No agent was given.", "Give one.", 2),
    "LOUSHO_CONFIG_MISSING_PROVIDER": ErrorCode("No provider was given.", "Give one.", 2),
    "LOUSHO_CONFIG_MISSING_INPUT": ErrorCode("A new session needs an input, and there is none.", "Give the message to begin with.", 2),
    "LOUSHO_CONFIG_MISSING_CHECKPOINT_STORE": ErrorCode("A session id without a store to keep it in.", "Give a store.", 2),
    "LOUSHO_CONFIG_RESOLVER_FAILED": ErrorCode("A function that gives instructions, tools or a model raised.", "Mend the function.", 2),
    "LOUSHO_HISTORY_LIMIT_INVALID": ErrorCode("The history limit is no whole number from 0.", "Give 0 for none, or leave it out.", 2),
    "LOUSHO_PRICE_UNKNOWN": ErrorCode(
        "A limit in money, with a model whose price is not known.", "Give its price, or limit tokens instead.", 2
    ),
    "LOUSHO_AGENT_NOT_FOUND": ErrorCode("The agent of a session is not where it was.", "Name its file: `--agent FILE`.", 2),
    "LOUSHO_SPEC_NOT_FOUND": ErrorCode("There is no such agent file.", "Check the path.", 2),
    "LOUSHO_SPEC_INVALID": ErrorCode("Fields of an agent file or patch are wrong.", "Compare with `lousho schema agent`.", 2),
    "LOUSHO_SPEC_UNKNOWN_FIELD": ErrorCode("An agent file has a field there is not.", "The message names the nearest right one.", 2),
    "LOUSHO_SPEC_UNSUPPORTED": ErrorCode("An agent file asks for what this version does not have.", "Take it out, or update lousho.", 2),
    "LOUSHO_SPEC_UNSUPPORTED_FORMAT": ErrorCode("A file is neither YAML nor JSON nor Python.", "Save it as one of them.", 2),
    "LOUSHO_SCHEMA_NOT_FOUND": ErrorCode("There is no schema of this name.", "See them all: `lousho schema`.", 3),
    "LOUSHO_IMPORT_CUT": ErrorCode("Only a part of the session was imported.", "Import it again, or delete it.", 2),
    "LOUSHO_IMPORT_NOT_FOUND": ErrorCode("What was to be imported is not there.", "Check the path.", 3),
    "LOUSHO_IMPORT_PARTIAL": ErrorCode("Not all of what was to be imported can be read.", "Import without `--strict` to take the rest.", 1),
    "LOUSHO_IMPORT_UNKNOWN": ErrorCode("What was to be imported is nothing that can be.", "The message says what can.", 2),
    "LOUSHO_USAGE": ErrorCode("The command line is wrong.", "See `lousho COMMAND --help`.", 2),
    # Models and tools
    "LOUSHO_PROVIDER_KEY_MISSING": ErrorCode("The model's key is not set.", "Set the variable the message names.", 1),
    "LOUSHO_PROVIDER_REQUEST_FAILED": ErrorCode(
        "A model call failed; `category` says how.", "Resume once the cause is gone: no step was spent.", 1
    ),
    "LOUSHO_MCP_SERVER_FAILED": ErrorCode(
        "An MCP server can not be started or reached, or its tools can not be used; nothing ran.",
        "Start its command by hand and see; the message has the end of what it said.",
        1,
    ),
    "LOUSHO_EXTRA_MISSING": ErrorCode("The agent needs a part of lousho that is not installed.", "Run the install line of the message.", 2),
    "LOUSHO_HOOK_FAILED": ErrorCode(
        "A hook or a guardrail raised, or gave what can not be used.", "Mend it; resume goes on from there.", 1
    ),
    "LOUSHO_GUARDRAIL_TRIPPED": ErrorCode("A guardrail that throws blocked.", "Change what it blocked, or the guardrail.", 1),
    "LOUSHO_BUDGET_EXCEEDED": ErrorCode("A run came to a limit that throws.", "Go on with a higher limit.", 9),
    "LOUSHO_TOOL_STOPPED_RUN": ErrorCode("A tool stopped the run on purpose.", "See what it said; resume goes on from there.", 1),
    # Recorded model calls
    "LOUSHO_CASSETTE_INVALID": ErrorCode(
        "A cassette is missing, not JSON, of another version, or malformed.", "Mend it where the message says, or record it again.", 1
    ),
    "LOUSHO_CASSETTE_UNWRITABLE": ErrorCode(
        "A cassette can not be written; what was recorded before stands.", "Check the folder, its permissions and the free space.", 1
    ),
    "LOUSHO_CASSETTE_MISMATCH": ErrorCode(
        "A model call is not the one that was recorded; the message names the first difference.", "Undo the change, or record again.", 1
    ),
    "LOUSHO_CASSETTE_EXHAUSTED": ErrorCode("A cassette holds no further model call.", "Undo the change, or record again.", 1),
    # Evals
    "LOUSHO_EVALS_INVALID": ErrorCode("Something in an eval is wrong; each wrong field is named by its path.", "Mend the file.", 2),
    "LOUSHO_EVAL_NO_CASE": ErrorCode("A session can not be told as a case; the message says why.", "Take another step of it.", 2),
    "LOUSHO_EVALS_NOT_FOUND": ErrorCode("There is no such eval, case or tag here.", "The message says what there is.", 2),
    "LOUSHO_EVALS_RUNNER_MISSING": ErrorCode("Evals run on pytest, which is missing.", 'Install it: `pip install "lousho[eval]"`.', 2),
    # Stores
    "LOUSHO_NO_THREAD": ErrorCode(
        "The system gives this process no further thread.",
        "End other processes of this user or container, or raise its limit (`ulimit -u`, the pids limit of a container), and go on.",
        1,
    ),
    "LOUSHO_STORAGE_FAILED": ErrorCode("The store can not be read or written.", "Check the path, its permissions and the free space.", 1),
    "LOUSHO_NOT_A_STORE": ErrorCode("The path is something else than a store.", "Name the folder that holds `sessions/`.", 7),
    "LOUSHO_LOG_DAMAGED": ErrorCode("A log has a hole in the middle.", "See `lousho fsck`; `--repair` keeps what stands.", 7),
    "LOUSHO_LOG_VERSION": ErrorCode("A newer version wrote the session.", "Update lousho; it can still be shown.", 7),
    "LOUSHO_RECORD_INVALID": ErrorCode(
        "A value of the wrong kind would have made the log unreadable, so it was not written.", "Mend the tool or caller that gave it.", 1
    ),
    "LOUSHO_CHECKPOINT_TOO_LARGE": ErrorCode("A checkpoint is larger than the store takes; nothing was sent.", "Keep it elsewhere.", 1),
    "LOUSHO_SYSTEM_ERROR": ErrorCode("The system refused a file.", "Check the path, its permissions and the free space.", 1),
    # Ours
    "LOUSHO_GENERIC_ERROR": ErrorCode("Something failed that has no code of its own.", "Read the message.", 1),
    "LOUSHO_UNEXPECTED": ErrorCode("A fault of lousho.", "Report it with the output of `-vv`.", 1),
}
