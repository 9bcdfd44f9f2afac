"""The command line that is shown for an action does the same."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from lousho_cli.__main__ import main
from lousho_cli.app.agents import AgentChoice
from lousho_cli.app.deciding import DecisionOrder
from lousho_cli.app.forking import ForkOrder
from lousho_cli.app.preparing import RunFlags
from lousho_cli.app.resuming import ResumeOrder
from lousho_cli.domain import records as r
from lousho_cli.tui.state.commands import decide_command, fork_command, queue_command, resume_command
from tests.tui.acting_bench import GATED, begin, of, records, text_of


@pytest.fixture
async def waiting(folder: Path) -> Path:
    (folder / "agent.yaml").write_text(GATED)
    await begin("agent.yaml", "bills", "Pay Ana")
    return folder


def test_what_is_shown_can_be_typed(waiting: Path) -> None:
    def typed(command: str) -> None:
        assert main(shlex.split(command)[1:]) == 0, command

    choice = AgentChoice(store=str(waiting / ".lousho"))
    (asked,) = of(r.WaitOpened, records(waiting, "bills"))
    edited = {"to": "-B 'ea' $x", "amount": 3}
    typed(decide_command(DecisionOrder(asked.approval.id, "approve", "--no", (edited,), resume=False, choice=choice)))
    (answered,) = of(r.WaitAnswered, records(waiting, "bills"))
    assert (answered.note, answered.args) == ("--no", edited)
    typed(resume_command(ResumeOrder("bills", choice=choice)))
    assert text_of(waiting, "bills") == "Paid."
    result = {"tool_call_id": "c_pay", "result": "unpaid"}
    patch = {"tool_result": result, "append_input": "-v?", "business_state": {"é": [1]}}
    typed(fork_command(ForkOrder("bills@1", None, patch, "other", run=False, flags=RunFlags(yes=True), choice=choice)))
    (forked,) = of(r.Forked, records(waiting, "other"))
    assert forked.state.business_state == {"é": [1]}
    assert forked.state.messages[-1].content == "-v?"
    typed(resume_command(ResumeOrder("bills", "-and now?", choice=choice)))
    assert text_of(waiting, "bills") == "You said more."


def test_a_text_that_looks_like_an_option_stands_behind_two_dashes() -> None:
    choice = AgentChoice(store="s t")
    order = DecisionOrder("7f3a", "answer", "-1", choice=choice)
    assert decide_command(order) == "lousho answer 7f3a --store 's t' -- -1"
    assert decide_command(order, secret=True) == "lousho answer 7f3a --store 's t'"
    assert queue_command("trip", "And?", choice) == "lousho run --session trip --queue 'And?' --store 's t'"


def test_a_password_in_the_address_of_a_store_is_not_shown() -> None:
    assert queue_command("trip", "And?", AgentChoice(store="postgresql://ann:hunter2@db/agents")).endswith("@db/agents'")
    assert "hunter2" not in queue_command("trip", "And?", AgentChoice(store="postgresql://ann:hunter2@db/agents"))
