"""What approve, reject and answer have in common: the order is carried out, and the run that follows is shown."""

from __future__ import annotations

from typing import Any

from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import Face


def choice_of(face: Face, agent: str | None, agents: list[str] | None) -> Any:
    """Where the person says that the agent is."""
    from lousho_cli.app.agents import AgentChoice

    return AgentChoice(agent, tuple(agents or ()), face.store)


async def decide(face: Face, order: Any, output: str) -> int:
    """Carries out a decision and gives the exit code: that of the run, or 0 where only the decision was recorded."""
    from lousho_cli.app.deciding import carry_out
    from lousho_cli.cli.render.outlook import say_ahead
    from lousho_cli.cli.render.progress import showing
    from lousho_cli.cli.render.run_end import finish

    with showing(face, output) as view:
        decided = await carry_out(order, view.on_event, view.tell, lambda check: say_ahead(face, check))
        if decided.went_on:
            return finish(face, view, decided.ran)
        view.close()
    word = {"approve": "approved", "reject": "rejected", "answer": "answered"}[order.verb]
    face.answer(decided.ran.done, text=lambda: face.out.line(f"{word} {decided.approval_id}"), quiet=decided.approval_id)
    face.err.note(decided.ran.next)
    return Exit.DONE
