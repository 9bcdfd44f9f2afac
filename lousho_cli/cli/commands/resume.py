"""``lousho resume``: finish what did not end."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import Face, face_of
from lousho_cli.cli.options import MaybeSession
from lousho_cli.cli.own_stdout import own_stdout
from lousho_cli.cli.run_options import AgentFile, AgentPaths, ApproveAll, Cassette, Format, Interrupted, MaxSteps, Model, NoInput, OnDrift

EXAMPLES = (
    "lousho resume trip             goes on where the run stopped; finished calls are not run again",
    "lousho resume trip --check     only says what would happen",
    "lousho resume --all            every session that did not end and nobody drives",
)


def run(
    ctx: typer.Context,
    session: MaybeSession = None,
    text: Annotated[str | None, typer.Argument(metavar="[INPUT]", help="Something to say besides; - reads it from standard input.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Only say what would happen: exit 6, 8, 4 or 0. Nothing runs.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Every session that did not end and nobody drives.")] = False,
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
    """Finish what did not end. Says first which calls will run again; those with a result never do."""
    import asyncio

    from lousho_cli.app.agents import AgentChoice
    from lousho_cli.app.people import login_name
    from lousho_cli.app.preparing import RunFlags
    from lousho_cli.app.resuming import ResumeOrder
    from lousho_cli.cli.stdin import read_all
    from lousho_cli.errors import ConfigurationError

    face = face_of(ctx)
    if every and session is not None:
        raise ConfigurationError("--all stands alone", code="LOUSHO_USAGE", hint="Give a session, or --all.")
    flags = RunFlags(max_steps, model, on_drift, interrupted, yes, login_name(), cassette)
    said = read_all() if text == "-" else text
    order = ResumeOrder(session, said, flags, AgentChoice(agent, tuple(agents or ()), face.store))
    if check:
        with own_stdout(face.out):  # it loads the agent, whose module may print
            return asyncio.run(_check_all(face, order) if every else _check(face, order))
    return asyncio.run(_all(face, order, output) if every else _resume(face, order, output))


async def _check(face: Face, order: Any) -> int:
    from lousho_cli.app.resuming import check
    from lousho_cli.cli.render.outlook import CODES, check_text

    found = await check(order)
    if found is None:
        return _nothing(face, None)
    if found.driven_by is not None:
        face.err.warning(f"session {found.session} is driven by {found.driven_by}; this is how it stands meanwhile")
    face.answer(found, text=lambda: check_text(face.out, found), quiet=found.verdict)
    return CODES[found.verdict]


async def _check_all(face: Face, order: Any) -> int:
    from lousho_cli.app.resuming import check_all
    from lousho_cli.cli.render.outlook import checked_all

    return checked_all(face, await check_all(order))


async def _resume(face: Face, order: Any, output: str) -> int:
    from lousho_cli.app.resuming import resume
    from lousho_cli.cli.render.outlook import say_ahead
    from lousho_cli.cli.render.progress import showing
    from lousho_cli.cli.render.run_end import finish

    with showing(face, output) as view:
        ran = await resume(order, view.on_event, view.tell, lambda check: say_ahead(face, check))
        if ran is None or isinstance(ran, str):
            return await _nothing_pending(face, ran, order)
        return finish(face, view, ran)


async def _nothing_pending(face: Face, session_id: str | None, order: Any) -> int:
    from lousho_cli.app.resuming import as_it_stands

    if session_id is None:
        return _nothing(face, None)
    return _nothing(face, await as_it_stands(order, session_id))


def _nothing(face: Face, done: Any) -> int:
    """Says that there is nothing to go on with."""
    face.answer(done, text=lambda: face.out.line(f"nothing is pending{f' in {done.session}' if done else ''}"), quiet=[])
    return Exit.DONE


async def _all(face: Face, order: Any, output: str) -> int:
    from lousho_cli.app.sweeping import resume_all
    from lousho_cli.cli.render.outlook import say_ahead
    from lousho_cli.cli.render.progress import showing
    from lousho_cli.cli.render.resumed import resumed_all

    with showing(face, output) as view:
        done = await resume_all(order, view.on_event, view.tell, lambda check: say_ahead(face, check))
        return resumed_all(face, view, done)
