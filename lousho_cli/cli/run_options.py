"""Options of the commands that drive a run: run, resume, approve, reject, answer, fork. Declared once."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from lousho_cli.cli.completing import complete_approvals, complete_models, complete_sessions

OnDriftMode = Literal["warn", "error", "ignore"]
InterruptedMode = Literal["rerun", "report"]
OutputFormat = Literal["text", "ndjson"]

Approval = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="Approval id, a beginning of it of 4 or more, or the session that waits.",
        autocompletion=complete_approvals,
    ),
]
NewSession = Annotated[
    str | None,
    typer.Option("--session", "-s", metavar="ID", help="This session, begun if it is not there.", autocompletion=complete_sessions),
]
Continue = Annotated[bool, typer.Option("--continue", "-c", help="The last session here.")]
MaxSteps = Annotated[int | None, typer.Option("--max-steps", min=1, metavar="N", help="Most model calls of the run.")]
Model = Annotated[str | None, typer.Option("--model", metavar="PROVIDER/MODEL", help="Ask this model.", autocompletion=complete_models)]
ApproveAll = Annotated[bool, typer.Option("--yes", "-y", help="Approve every call.")]
Cassette = Annotated[str | None, typer.Option("--cassette", metavar="FILE", help="Replay the model's answers of this file, or record it.")]
OnDrift = Annotated[OnDriftMode | None, typer.Option("--on-drift", help="When the agent changed since the run was saved.")]
Interrupted = Annotated[InterruptedMode | None, typer.Option("--interrupted", help="A call that was cut: run it again, or report it.")]
InputId = Annotated[str | None, typer.Option("--input-id", metavar="ID", help="The same id and text is the same input.")]
NoInput = Annotated[bool, typer.Option("--no-input", help="Never ask anything.")]
Format = Annotated[OutputFormat, typer.Option("--output", help="Text, or one JSON line an event.")]
Queue = Annotated[bool, typer.Option("--queue", help="Where another owner drives it, leave the input for that owner.")]
Leave = Annotated[bool, typer.Option("--leave", help="Only store the input: a worker, or the owner, goes on with it.")]
AgentFile = Annotated[str | None, typer.Option("--agent", metavar="FILE", help="The agent file to go on with.")]
AgentPaths = Annotated[list[str] | None, typer.Option("--agents", metavar="PATH", help="Where agents are found by name; repeatable.")]
NoResume = Annotated[bool, typer.Option("--no-resume", help="Only record the decision.")]
