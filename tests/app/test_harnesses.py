"""An agent file as a harness: its names and defaults, and sessions that go on under ``run``, a worker and a Python host alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lousho_cli.app.agent_files import load_agent_file
from lousho_cli.app.harnesses import FileAgent, agent_of, harness_of
from lousho_cli.app.preparing import RunFlags
from lousho_cli.app.resuming import ResumeOrder, resume
from lousho_cli.app.running import RunOrder, run
from lousho_cli.app.wiring import open_store
from lousho_cli.domain.session import Session
from lousho_cli.errors import ConfigurationError
from lousho_cli.host.harness import define_harness
from lousho_cli.host.host import create_harness_host
from lousho_cli.providers.scripted import ScriptedProvider

AGENT = """
name: counter
prompt: You count.
provider: { type: scripted, turns: [One., Two., Three.] }
"""


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes an agent file into the working folder and reads it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))

    def write(more: str = "") -> Any:
        (tmp_path / "counter.yaml").write_text(AGENT + more)
        return load_agent_file(tmp_path / "counter.yaml")

    return write


def test_without_a_word_its_runs_live_on_as_those_of_the_command_line(agent: Any) -> None:
    made = FileAgent(agent())
    harness = harness_of(made)
    said, settings = harness.durability, made.prepared().settings
    assert (harness.name, harness.agent_path, harness.on_agent_drift) == ("counter", "counter.yaml", "warn")
    assert (said.replay, said.max_attempts, said.timeout_ms, settings["max_steps"], harness.history_limit) == ("safe", 10, None, 50, 50)
    assert settings["on_model_error"].max_retries == 3


def test_what_its_file_says_holds_and_flags_beat_it(agent: Any) -> None:
    made = agent("durability: { max_attempts: 3, timeout: 2s, replay: never, history_limit: 5, retry: false, continue_cut_off: true }\n")
    harness = harness_of(FileAgent(made, RunFlags(on_drift="error")))
    said = harness.durability
    assert (said.replay, said.max_attempts, said.timeout_ms, said.continue_cut_off) == ("never", 3, 2000, True)
    assert (harness.history_limit, harness.on_agent_drift) == (5, "error")


async def test_a_host_goes_on_with_what_run_began_and_the_other_way_round(agent: Any) -> None:
    file = agent()
    await run(RunOrder("counter.yaml", "Go", session="s"), lambda event: None, lambda text: None)
    store = open_store(create=True)
    async with agent_of(file) as made:
        host = create_harness_host({"log": store})
        session = await host.open(harness_of(made), "s", user="ann")
        receipt = await session.send("And?")
        assert (await session.settled(receipt.input_id)).text == "Two."
        await host.close()
    ran = await resume(ResumeOrder("s", "More"), lambda event: None, lambda text: None, lambda check: None)
    assert ran.done.text == "Three."  # type: ignore[union-attr]
    head = await store.head("s")  # type: ignore[union-attr]
    assert head is not None
    assert (head.agent, head.path, head.harness) == ("counter", "counter.yaml", None)


async def test_what_a_host_begins_keeps_where_its_agent_is(agent: Any) -> None:
    store = open_store(create=True)
    async with agent_of(agent()) as made:
        host = create_harness_host({"log": store})
        session = await host.open(harness_of(made), "s")
        await session.settled((await session.send("Go")).input_id)
        await host.close()
    head = await store.head("s")  # type: ignore[union-attr]
    assert head is not None
    assert (head.agent, head.path, head.harness) == ("counter", "counter.yaml", "counter")
    ran = await resume(ResumeOrder("s", "More"), lambda event: None, lambda text: None, lambda check: None)
    assert ran.done.text == "Two."  # type: ignore[union-attr]


async def test_a_harness_of_another_name_is_refused(agent: Any) -> None:
    agent()
    await run(RunOrder("counter.yaml", "Go", session="s"), lambda event: None, lambda text: None)
    host = create_harness_host({"log": open_store(create=True)})
    with pytest.raises(ConfigurationError) as refused:
        await host.open(define_harness("other", ScriptedProvider(["x"])), "s")
    assert refused.value.code == "LOUSHO_OTHER_HARNESS"
    await host.close()


async def test_an_unfinished_run_keeps_its_own_step_limit(agent: Any) -> None:
    import msgspec

    from lousho_cli.domain.session import Run

    made = FileAgent(agent())
    unfinished = msgspec.structs.replace(Session(), run=Run(1, "in-1", max_steps=7))
    assert made.prepared(unfinished).settings["max_steps"] == 7
    assert made.prepared().settings["max_steps"] == 50
