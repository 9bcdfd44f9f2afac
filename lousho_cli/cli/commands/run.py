"""``lousho run``: start a session, or send the next message of one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lousho_cli.cli.completing import complete_targets
from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import Face, face_of
from lousho_cli.cli.run_options import (
    ApproveAll,
    Cassette,
    Continue,
    Format,
    InputId,
    Interrupted,
    Leave,
    MaxSteps,
    Model,
    NewSession,
    NoInput,
    OnDrift,
    Queue,
)

EXAMPLES = (
    'lousho run trip "Plan my trip"            the built-in demo, as session trip',
    'lousho run agent.yaml "Count the files"   an agent of your own',
    'lousho run -s trip "And on Sunday?"       the next message of a session',
    'git diff | lousho run -c "Review this"    a pipe is attached to the prompt',
    'lousho run agent.yaml "Go" --leave        only stores it, for a lousho worker to go on with',
)


def run(
    ctx: typer.Context,
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[TARGET]",
            help="Agent file, folder, module.py[:name], or a demo: trip, booking.",
            autocompletion=complete_targets,
        ),
    ] = None,
    text: Annotated[str | None, typer.Argument(metavar="[INPUT]", help="What to say; - reads it from standard input.")] = None,
    session: NewSession = None,
    last: Continue = False,
    max_steps: MaxSteps = None,
    model: Model = None,
    yes: ApproveAll = False,
    cassette: Cassette = None,
    on_drift: OnDrift = None,
    interrupted: Interrupted = None,
    input_id: InputId = None,
    queue: Queue = False,
    leave: Leave = False,
    no_input: NoInput = False,
    output: Format = "text",
) -> int:
    """Start a session, or send the next message of one. Each step is saved before the next begins."""
    import asyncio

    from lousho_cli.app.people import login_name
    from lousho_cli.app.preparing import RunFlags
    from lousho_cli.app.running import RunOrder
    from lousho_cli.app.running import run as run_agent
    from lousho_cli.cli.render.progress import showing
    from lousho_cli.cli.render.run_end import finish

    face = face_of(ctx)
    target, text = _told_apart(target, text)
    text, piped = _with_pipe(face, text)
    flags = RunFlags(max_steps, model, on_drift, interrupted, yes, login_name(), cassette)
    order = RunOrder(target, text, piped, session, last, input_id, queue, flags, face.store)
    if leave:
        return _leave(face, order)
    with showing(face, output) as view:
        return finish(face, view, asyncio.run(run_agent(order, view.on_event, view.tell)))


def _leave(face: Face, order: Any) -> int:
    import asyncio

    from lousho_cli.app.left_inputs import leave

    left = asyncio.run(leave(order, face.err.note))
    face.err.note(f"input {left.input_id} is stored in session {left.done.session}, for whoever takes work")
    face.answer(left.done, text=lambda: None, quiet=left.done.session)
    face.err.note(left.next)
    return Exit.DONE


def _told_apart(target: str | None, text: str | None) -> tuple[str | None, str | None]:
    """One positional is a target when it looks like one; else it is the input."""
    if target is None or text is not None:
        return target, text
    from lousho_cli.app.targets import is_target
    from lousho_cli.app.wiring import current_folder

    return (target, None) if is_target(target, current_folder()) else (None, target)


def _with_pipe(face: Face, text: str | None) -> tuple[str | None, str]:
    """The input, and what a pipe adds to it."""
    from lousho_cli.cli.stdin import SILENT_AFTER_S, piped_text, read_all

    if text == "-":
        return read_all(), ""
    piped, silent = piped_text()
    if silent:
        face.err.warning(f"standard input is open but nothing came within {SILENT_AFTER_S:g} s, so nothing was attached; - waits for it")
    return text, piped
