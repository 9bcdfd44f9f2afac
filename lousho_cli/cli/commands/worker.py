"""``lousho worker``: take work that nobody drives, until stopped."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import Face, face_of
from lousho_cli.cli.run_options import AgentPaths, Format, Interrupted, OnDrift

EXAMPLES = (
    "lousho worker                       goes on with what hosts that are gone left, until Ctrl-C or SIGTERM",
    "lousho worker --agents agents/      finds the agents of sessions by name here; else each where it was stored",
    "lousho worker --once                only what is pending now, then ends",
    "lousho worker --json                JSON lines, one for each thing that happens; see: lousho schema worker",
)


def run(
    ctx: typer.Context,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, metavar="N", help="How many sessions at once.")] = 4,
    once: Annotated[bool, typer.Option("--once", help="Only what is pending now, then end; 1 where all of it was left.")] = False,
    agents: AgentPaths = None,
    on_drift: OnDrift = None,
    interrupted: Interrupted = None,
    status_every: Annotated[
        str, typer.Option("--status-every", metavar="TIME", help="How often it says how it stands, where that is no terminal; 0 for never.")
    ] = "60s",
    lease: Annotated[
        str, typer.Option("--lease", metavar="TIME", help="How long a session stays with a worker on another machine that fell silent.")
    ] = "30s",
    wait: Annotated[
        str | None,
        typer.Option(
            "--wait-for-store",
            metavar="TIME",
            help="How long it waits for a store that is away when it begins; 0 for not at all.  [default: 30s; with --once 0]",
        ),
    ] = None,
    output: Format = "text",
) -> int:
    """Take work that nobody drives, until stopped. What runs then is given back, and another worker goes on with it at once."""
    import asyncio

    from lousho_cli.app.agents import AgentChoice
    from lousho_cli.app.preparing import RunFlags
    from lousho_cli.app.worked import WorkOrder

    face = face_of(ctx)
    if output == "ndjson" or face.json:
        face.json = face.out.compact = True
    flags = RunFlags(on_drift=on_drift, interrupted=interrupted)
    choice = AgentChoice(agents=tuple(agents or ()), store=face.store)
    every_ms = _ms(status_every, "--status-every", "60s, or 0 for never", zero=True)
    lease_ms = _ms(lease, "--lease", "30s", least=_SHORTEST_LEASE_MS)
    wait_ms = _ms(wait or ("0" if once else "30s"), "--wait-for-store", "30s, or 0 for not at all", zero=True)
    order = WorkOrder(concurrency, once, flags, choice, every_ms / 1000, lease_ms, wait_ms / 1000)
    return asyncio.run(_work(face, order))


async def _work(face: Face, order: Any) -> int:
    from lousho_cli.app.working import work
    from lousho_cli.cli.render.working import shown

    with shown(face) as view:
        caught, stuck = await work(order, view)
    if caught.interrupted:
        return Exit.ABORTED
    if caught.stopped:
        return Exit.STOPPED
    return Exit.FAILED if stuck and order.once else Exit.DONE


_SHORTEST_LEASE_MS = 100
"""One that is shorter ends before it could be renewed."""


def _ms(text: str, flag: str, such_as: str, *, zero: bool = False, least: int = 1) -> int:
    from lousho_cli.app.durations import parse_duration
    from lousho_cli.errors import ConfigurationError

    if zero and text.strip() == "0":
        return 0
    try:
        found = parse_duration(text)
        if found < least:
            raise ValueError(f"must be {least}ms or more")
        return found
    except ValueError as error:
        field = flag.removeprefix("--").replace("-", "_")
        raise ConfigurationError(f"{flag} {error}, not {text!r:.60}", field=field, code="LOUSHO_USAGE", hint=f"Try: {such_as}") from error
