"""What the same agent loop costs on neighbouring systems, beside the bare loop and lousho, in one run.

    python tests/benchmarks/peers.py --python PATH [--steps 300] [--only NAME]

PATH is the Python of an environment that holds dbos, openai-agents, langgraph and langgraph-checkpoint-sqlite;
those that are missing there are left out. Each loop asks a model that is made up N times for one call, whose
result is 1 KiB, and is durable at each step. Every figure comes from a process of its own; the bare loop (two
write + fdatasync a step) runs before and behind each, and a figure's unit is the mean of the two.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

_BARE = """
import json, os, sys, time
n, folder = int(sys.argv[1]), sys.argv[2]
fd = os.open(os.path.join(folder, "bare.jsonl"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
begun = time.perf_counter()
for k in range(n):
    for line in ({"role": "assistant", "tool_calls": [{"id": f"c{k}", "name": "t", "args": {"k": k}}]},
                 {"role": "tool", "tool_call_id": f"c{k}", "content": "x" * 1024}):
        os.write(fd, (json.dumps(line) + "\\n").encode())
        os.fdatasync(fd)
print(json.dumps({"s": time.perf_counter() - begun}))
"""

_DBOS = """
import logging, os, sys, time, json
from dbos import DBOS
n, folder = int(sys.argv[1]), sys.argv[2]
DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{folder}/dbos.sqlite", "log_level": "ERROR"})
@DBOS.step()
def model(k): return {"id": f"c{k}", "name": "t", "args": {"k": k}}
@DBOS.step()
def tool(call): return "x" * 1024
@DBOS.workflow()
def loop():
    for k in range(n):
        tool(model(k))
DBOS.launch()
begun = time.perf_counter()
loop()
print(json.dumps({"s": time.perf_counter() - begun}))
DBOS.destroy()
"""

_AGENTS = """
import asyncio, json, os, sys, time
os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"
from agents import Agent, Runner, SQLiteSession, function_tool, ModelResponse, Usage, Model, RunConfig
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
n, folder = int(sys.argv[1]), sys.argv[2]
class Made(Model):
    k = 0
    async def get_response(self, *args, **kwargs):
        self.k += 1
        if self.k > n:
            part = ResponseOutputText(type="output_text", text="done", annotations=[])
            out = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[part])
        else:
            out = ResponseFunctionToolCall(type="function_call", call_id=f"c{self.k}", name="t", arguments=json.dumps({"k": self.k}))
        return ModelResponse(output=[out], usage=Usage(), response_id=None)
    def stream_response(self, *args, **kwargs): raise NotImplementedError
@function_tool
async def t(k: int) -> str:
    "Gives 1 KiB."
    return "x" * 1024
async def main():
    session = SQLiteSession("s", os.path.join(folder, "agents.sqlite"))
    begun = time.perf_counter()
    await Runner.run(Agent(name="a", model=Made(), tools=[t]), "go", session=session, max_turns=n + 2)
    print(json.dumps({"s": time.perf_counter() - begun}))
asyncio.run(main())
"""

_GRAPH = """
import json, os, sys, time, operator
from typing import Annotated, TypedDict
from langgraph.graph import END, START, StateGraph
from langgraph.checkpoint.sqlite import SqliteSaver
n, folder = int(sys.argv[1]), sys.argv[2]
class State(TypedDict):
    messages: Annotated[list, operator.add]
    k: int
graph = StateGraph(State)
def call(k): return {"role": "assistant", "tool_calls": [{"id": f"c{k}", "args": {"k": k}}]}
graph.add_node("model", lambda s: {"messages": [call(s["k"])], "k": s["k"] + 1})
graph.add_node("tool", lambda s: {"messages": [{"role": "tool", "tool_call_id": f"c{s['k']}", "content": "x" * 1024}]})
graph.add_edge(START, "model")
graph.add_edge("model", "tool")
graph.add_conditional_edges("tool", lambda s: END if s["k"] >= n else "model")
with SqliteSaver.from_conn_string(os.path.join(folder, "graph.sqlite")) as saver:
    app = graph.compile(checkpointer=saver)
    begun = time.perf_counter()
    app.invoke({"messages": [{"role": "user", "content": "go"}], "k": 0},
               {"configurable": {"thread_id": "s"}, "recursion_limit": 3 * n + 10}, durability="sync")
    print(json.dumps({"s": time.perf_counter() - begun}))
"""

PEERS = {"dbos, SQLite": _DBOS, "openai-agents, SQLiteSession": _AGENTS, "langgraph, SqliteSaver, sync": _GRAPH}

_OURS = """
import asyncio, json, sys, time
from pathlib import Path
from lousho_cli import Agent, AgentExecutor, function_tool
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.ports.provider import Answer
n, folder, kind = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
class Made:
    name = model = "made"
    steps = n
    async def stream(self, request):
        k = request.turns
        if k == self.steps:
            yield Answer(Message("assistant", "done"), "stop")
        else:
            yield Answer(Message("assistant", tool_calls=(ToolCall(f"c{k}", "t", json.dumps({"k": k})),)), "tool_calls")
async def t(k: int) -> str:
    "Gives 1 KiB."
    return "x" * 1024
if kind == "file":
    from lousho_cli import FileStore
    store = FileStore(folder / "store")
else:
    from lousho_cli import SqliteStore
    store = SqliteStore(folder / "store.db")
tools = [function_tool(t, name="t")]
async def loop(session, model):
    await AgentExecutor.execute(Agent("bench"), "go", model, tools, session_id=session,
                                checkpoint_store=store.checkpoints, max_steps=10**9)
async def main():
    steps, Made.steps = Made.steps, 1
    await loop("first", Made())  # what is loaded with the first run is no part of a step
    Made.steps = steps
    begun = time.perf_counter()
    await loop("s", Made())
    print(json.dumps({"s": time.perf_counter() - begun}))
asyncio.run(main())
"""


def seconds(python: str, script: str, steps: int, folder: Path, *more: str) -> float | None:
    """Seconds of one loop in a process of its own; None where it can not run there."""
    done = subprocess.run([python, "-c", script, str(steps), str(folder), *more], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stderr[-600:])
        return None
    return float(json.loads(done.stdout.strip().splitlines()[-1])["s"])


def measured(name: str, python: str, script: str, steps: int, *more: str) -> dict[str, object]:
    """One row: milliseconds a step, in units of the bare loop beside it, and bytes in its folder."""
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory() as bare:
        before = seconds(sys.executable, _BARE, steps, Path(bare)) or 0.0
        took = seconds(python, script, steps, Path(place), *more)
        after = seconds(sys.executable, _BARE, steps, Path(bare)) or 0.0
        if took is None:
            return {"name": name, "ms_a_step": None}
        size = sum(file.stat().st_size for file in Path(place).rglob("*") if file.is_file())
    unit = (before + after) / 2
    return {"name": name, "ms_a_step": round(took / steps * 1e3, 3), "x_of_unit": round(took / unit, 2), "bytes": size}


def main() -> None:
    """Prints one JSON line a row."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--only")
    options = parser.parse_args()
    rows = [("lousho, file", sys.executable, _OURS, "file"), ("lousho, SQLite", sys.executable, _OURS, "sqlite")]
    rows += [(name, options.python, script, "") for name, script in PEERS.items()]
    for name, python, script, kind in rows:
        if options.only is None or options.only in name:
            print(json.dumps(measured(name, python, script, options.steps, *([kind] if kind else []))), flush=True)


if __name__ == "__main__":
    main()
