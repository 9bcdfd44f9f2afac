"""What a replayed case costs, in units of an empty pytest test.

    python tests/benchmarks/evals.py [--cases 1000] [--rounds 5] [--tool]

Cases are replayed from their cassettes by ``lousho eval --replay``, empty tests are run by ``pytest`` without plugins, each in a
process of its own, in turn, so that both see the same machine. The figure is the median of the rounds' ratios, start-up included;
beside it stands the ratio of processor time, which a busy machine changes less, and what one more case costs, in units of one
more test. With ``--tool`` each case calls a tool, which asks the model twice.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES = 10
MOST = 3.0


def project(folder: Path, cases: int, *, tool: bool) -> None:
    """Evals with their cassettes, and as many empty tests."""
    look = {"text": "Let me look.", "tool_calls": [{"name": "weather", "args": {"city": "Lisbon"}, "id": "call_1"}]}
    turns = [*([look] if tool else []), {"text": "Sunny: take the coast.", "usage": {"input_tokens": 60, "output_tokens": 9}}]
    agent = {"name": "agent", "prompt": "You plan trips.", "provider": {"type": "scripted", "turns": turns}}
    (folder / "agent.json").write_text(json.dumps(agent | {"tools": [{"python": "tools.py:weather"}]}))
    (folder / "tools.py").write_text(
        'async def weather(city: str) -> dict:\n    """Forecast for a city."""\n    return {"forecast": "sun"}\n'
    )
    expect = {"reply": "Sunny", "max_steps": 2}
    each = cases // FILES
    for number in range(FILES):
        listed = [{"name": f"trip {n}", "input": f"Plan trip {number}.{n}", "expect": expect} for n in range(each)]
        (folder / f"part{number}.eval.json").write_text(json.dumps({"agent": "agent.json", "cases": listed}))
        (folder / "tests").mkdir(exist_ok=True)
        (folder / "tests" / f"test_{number}.py").write_text("".join(f"def test_{n}(): pass\n\n" for n in range(each)))
    ran(folder, "-m", "lousho_cli", "eval", "--record", "-q")


def ran(folder: Path, *words: str) -> tuple[float, float]:
    """Seconds that a process took, and those of a processor."""
    environ = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "HOME": str(folder)}
    begun, before = time.perf_counter(), _processor()
    subprocess.run([sys.executable, *words], cwd=folder, env=environ, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun, _processor() - before


def _processor() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tool", action="store_true")
    given = parser.parse_args()
    ratios, processor, more = [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        project(folder, given.cases, tool=given.tool)
        rest = given.cases - given.cases // FILES
        for _ in range(given.rounds):
            pytest = ("-m", "pytest", "-q", "-c", os.devnull, "--rootdir", ".")
            (empty, empty_cpu), (few_empty, _) = ran(folder, *pytest, "tests"), ran(folder, *pytest, "tests/test_0.py")
            (replayed, cpu), (few, _) = (
                ran(folder, "-m", "lousho_cli", "eval", "--replay", "-q", *which) for which in ((), ("part0.eval.json",))
            )
            processor.append(cpu / empty_cpu)
            ratios.append(replayed / empty)
            more.append((replayed - few) / (empty - few_empty))
            print(f"{given.cases} empty tests {empty:.2f} s, replayed cases {replayed:.2f} s: {ratios[-1]:.2f} times", end=", ")
            print(f"one more: {(empty - few_empty) / rest * 1e3:.2f} ms and {(replayed - few) / rest * 1e3:.2f} ms")
    ratio = statistics.median(ratios)
    print(f"{ratio:.2f} times, at most {MOST:g}; processor time {statistics.median(processor):.2f} times", end="; ")
    print(f"one more case {statistics.median(more):.2f} times one more test")
    return 0 if ratio <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
