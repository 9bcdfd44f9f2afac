"""``lousho fork``: a new session from a step of another."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import Face, face_of
from lousho_cli.cli.options import Address
from lousho_cli.cli.own_stdout import own_stdout
from lousho_cli.cli.run_options import AgentFile, AgentPaths, ApproveAll, Cassette, Format, Interrupted, MaxSteps, Model, NoInput, OnDrift

EXAMPLES = (
    "lousho fork trip --from-step 1                       a copy as of step 1, as trip.fork-1",
    'lousho fork trip --from-step 1 --tool-result \'call_weather={"forecast":"rain"}\' --run',
    "                                                     what if it rained? and on with it",
    'lousho fork trip@2 --append-input "And by bike?"     another question at the end of step 2',
)


def run(
    ctx: typer.Context,
    session: Address,
    from_step: Annotated[str | None, typer.Option("--from-step", metavar="N", help="The step: 3, 3.1, R/3, or #128.")] = None,
    tool_result: Annotated[
        list[str] | None, typer.Option("--tool-result", metavar="CALL=JSON", help="Another result of a call; CALL=@FILE reads it.")
    ] = None,
    append_input: Annotated[str | None, typer.Option("--append-input", metavar="TEXT", help="A user message behind everything.")] = None,
    business_state: Annotated[str | None, typer.Option("--business-state", metavar="JSON", help="Other state; @FILE reads it.")] = None,
    messages: Annotated[str | None, typer.Option("--messages", metavar="FILE", help="Another transcript: a JSON list.")] = None,
    patch: Annotated[str | None, typer.Option("--patch", metavar="FILE", help="All of these in one JSON object.")] = None,
    new_id: Annotated[str | None, typer.Option("--as", metavar="ID", help="Its id; default SESSION.fork-N.")] = None,
    go_on: Annotated[bool, typer.Option("--run", help="Go on with it at once.")] = False,
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
    """Make a new session from a step of another, with a change. The source never changes."""
    import asyncio

    from lousho_cli.app.agents import AgentChoice
    from lousho_cli.app.forking import ForkOrder
    from lousho_cli.app.patches import read_patch
    from lousho_cli.app.people import login_name
    from lousho_cli.app.preparing import RunFlags
    from lousho_cli.app.wiring import current_folder

    face = face_of(ctx)
    change = read_patch(current_folder(), patch, messages, business_state, tool_result or (), append_input)
    flags = RunFlags(max_steps, model, on_drift, interrupted, yes, login_name(), cassette)
    order = ForkOrder(session, from_step, change, new_id, go_on, flags, AgentChoice(agent, tuple(agents or ()), face.store))
    return asyncio.run(_fork(face, order, output, no_input=no_input))


async def _fork(face: Face, order: Any, output: str, *, no_input: bool) -> int:
    from lousho_cli.app.forking import fork, look

    with own_stdout(face.out):  # it loads the agent, whose module may print
        ready = await look(order)
    if ready.unrepeatable and not order.flags.yes:
        calls = ", ".join(f"{name} ({call_id})" for call_id, name in ready.unrepeatable)
        if not face.confirm(f"Going on runs calls that must not run twice: {calls}. Go on?", flag="--yes", no_input=no_input):
            face.err.note("nothing was forked")
            return Exit.FAILED
    made = await fork(order, ready)
    if made.behind is not None:
        count, step = made.behind
        face.err.warning(
            f"{count} message{'s' if count > 1 else ''} behind the change {'were' if count > 1 else 'was'} said without it "
            f"and stay{'' if count > 1 else 's'}; fork from step {step} to leave {'them' if count > 1 else 'it'} out"
        )
    if order.run:
        return await _go_on(face, order, ready, made, output)
    forked = made.forked
    face.answer(
        forked, text=lambda: face.out.line(f"{forked.session}: forked from step {forked.step} of {forked.parent}"), quiet=forked.session
    )
    face.err.note(made.next)
    return Exit.DONE


async def _go_on(face: Face, order: Any, ready: Any, made: Any, output: str) -> int:
    from lousho_cli.app.forking import go_on_with
    from lousho_cli.cli.render.outlook import say_ahead
    from lousho_cli.cli.render.progress import showing
    from lousho_cli.cli.render.run_end import finish

    with showing(face, output) as view:
        view.tell(f"{made.forked.session}: forked from step {made.forked.step} of {made.forked.parent}")
        ran = await go_on_with(made, ready, order, view.on_event, view.tell, lambda check: say_ahead(face, check))
        return finish(face, view, ran)
