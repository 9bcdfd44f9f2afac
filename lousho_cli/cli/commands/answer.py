"""``lousho answer``: answer a question of the model."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lousho_cli.cli.face import Face, face_of
from lousho_cli.cli.run_options import (
    AgentFile,
    AgentPaths,
    Approval,
    ApproveAll,
    Cassette,
    Format,
    Interrupted,
    MaxSteps,
    Model,
    NoInput,
    NoResume,
    OnDrift,
)

EXAMPLES = (
    'lousho answer 7f3a "By train"    answers, then goes on with the run',
    "lousho answer 7f3a               asks for the answer here; a secret is asked for hidden",
    "lousho answer 7f3a -             reads the answer from standard input",
)


def run(
    ctx: typer.Context,
    approval: Approval,
    value: Annotated[str | None, typer.Argument(metavar="[VALUE]", help="The answer; never a secret.")] = None,
    no_resume: NoResume = False,
    agent: AgentFile = None,
    agents: AgentPaths = None,
    max_steps: MaxSteps = None,
    model: Model = None,
    yes: ApproveAll = False,
    cassette: Cassette = None,
    on_drift: OnDrift = None,
    interrupted: Interrupted = None,
    no_input: NoInput = False,
    output: Format = "text",
) -> int:
    """Answer a question of the model, and go on with the run at once. A secret is stored and told as [secret] alone."""
    import asyncio

    from lousho_cli.app.deciding import DecisionOrder
    from lousho_cli.app.people import login_name
    from lousho_cli.app.preparing import RunFlags
    from lousho_cli.cli.deciding import choice_of

    face = face_of(ctx)
    flags = RunFlags(max_steps, model, on_drift, interrupted, yes, login_name(), cassette)
    order = DecisionOrder(approval, "answer", value, (), not no_resume, flags, choice_of(face, agent, agents))
    return asyncio.run(_ask_and_decide(face, order, output, no_input=no_input))


async def _ask_and_decide(face: Face, order: Any, output: str, *, no_input: bool) -> int:
    from msgspec.structs import replace

    from lousho_cli.app.deciding import question_of
    from lousho_cli.cli.deciding import decide

    wait = (await question_of(face.store, order.id)).wait
    said = _answer(face, wait, order.note, no_input=no_input)
    return await decide(face, replace(order, id=wait.id, note=said), output)


def _answer(face: Face, wait: Any, value: str | None, *, no_input: bool) -> str | None:
    """The answer: the argument, standard input, or what is typed here."""
    from lousho_cli.cli.stdin import read_all
    from lousho_cli.errors import ConfigurationError

    secret = wait.kind == "secret"
    if value == "-":
        return read_all().strip("\n")
    if value is not None and secret:
        raise ConfigurationError(
            "a secret must not be an argument: the shell keeps those",
            field="value",
            code="LOUSHO_SECRET_ARGUMENT",
            hint=f"Type it when asked, or: … | lousho answer {wait.id} -",
        )
    if value is not None or wait.kind in ("tool", "sign-in"):
        return value
    if no_input or not face.interactive:
        hint = f"… | lousho answer {wait.id} -" if secret else f'lousho answer {wait.id} "…"'
        raise ConfigurationError("there is no terminal to ask on, and no answer was given", code="LOUSHO_USAGE", hint=f"Use: {hint}")
    while True:
        said = face.ask(wait.question or wait.named_tool, options=wait.options, hidden=secret)
        if wait.allow_free_text or not wait.options or said in wait.options:
            return said
        face.err.warning(f"{said!r} is not one of the answers")
