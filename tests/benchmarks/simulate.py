"""What breaks first when more hosts than there are here share one PostgreSQL: a simulation, event by event, with measured costs.

    python tests/benchmarks/simulate.py [--hosts 8,100,1000] [--sessions 10000,…,10000000] [--set step_s=3 --set listens=false] [--json]
    python tests/benchmarks/simulate.py --calibrate     what each kind of statement costs the server, measured here
    python tests/benchmarks/simulate.py --check         the same figures of real hosts and of simulated ones, and their ratio

The server is a queue for its processors and its disk; hosts look for work, drive sessions, renew their leases and die as the code
does, by the times that stand in the code. ``--set`` takes any field of ``simulation/knobs.py``, and ``costs.…`` of ``costs.py``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import msgspec

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "shared")]

from simulation.costs import MEASURED  # type: ignore[import-not-found]  # noqa: E402 - they stand beside this file
from simulation.figures import SETTINGS, Figures, simulate  # type: ignore[import-not-found]  # noqa: E402
from simulation.knobs import Knobs  # type: ignore[import-not-found]  # noqa: E402

HOSTS, SESSIONS = "8,100,1000", "10000,100000,1000000,10000000"
_HEADS = (
    "hosts",
    "sessions",
    "inputs/s",
    "renewals/s",
    "asks/s",
    "empty",
    "told/s",
    "processors",
    "of it looking",
    "driven again",
    "first",
)


def knobs_from(settings: list[str], **sizes: Any) -> Knobs:
    """The knobs that ``name=value`` say.

    Raises:
        ValueError: one has no such name, or no such value.
    """
    given: dict[str, Any] = dict(sizes)
    costs: dict[str, Any] = {}
    for name, _, value in (one.partition("=") for one in settings):
        if name.startswith("costs."):
            costs[name.removeprefix("costs.")] = value
        else:
            given[name] = value
    return msgspec.convert(given | {"costs": msgspec.structs.asdict(MEASURED) | costs}, Knobs, strict=False)


def row(figures: Figures) -> tuple[str, ...]:
    """A line of the table."""
    again = "later" if figures.lost_s is None else f"{figures.lost_s:.1f} s" if figures.lost else "-"
    first = f"{figures.first} {figures.shares[figures.first]:.0%}"
    looking = figures.used.get("find", 0.0) / (figures.processors or 1.0)
    numbers = (figures.inputs_s, figures.renewals_s, figures.asks_s)
    return (
        f"{figures.hosts:,}",
        f"{figures.sessions:,}",
        *(f"{number:.1f}" for number in numbers),
        f"{figures.asks_empty:.0%}",
        f"{figures.told_s:.0f}",
        f"{figures.processors:.2f}",
        f"{looking:.0%}",
        again,
        first,
    )


def main() -> None:
    """Prints a table, or JSON objects, a line each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", default=HOSTS)
    parser.add_argument("--sessions", default=SESSIONS)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--calibrate", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.calibrate:
        from simulation.calibrating import calibrate  # type: ignore[import-not-found]

        print(msgspec.json.encode(calibrate()).decode())
        return
    if options.check:
        from simulation.checking import check  # type: ignore[import-not-found]

        print(msgspec.json.encode(check()).decode())
        return
    if not options.json:
        print("| " + " | ".join(_HEADS) + " |\n|" + "---|" * len(_HEADS))
    for hosts in options.hosts.split(","):
        for sessions in options.sessions.split(","):
            figures = simulate(knobs_from(options.set, hosts=int(hosts), sessions=int(float(sessions))))
            print(msgspec.json.encode(figures).decode() if options.json else "| " + " | ".join(row(figures)) + " |", flush=True)
    if not options.json:
        print("\n" + "\n".join(f"{name}: {setting}" for name, setting in SETTINGS.items()))


if __name__ == "__main__":
    main()
