"""The files of a new project, which runs as it is."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from lousho_cli.errors import ConfigurationError, StorageError

NOT_WRITTEN = "LOUSHO_SYSTEM_ERROR"

_AGENT = """\
# An agent that runs without a network and without a key: its answers are written below.
# For a real model, put in place of the provider:  { type: openai, model: gpt-5-mini }
name: trip
prompt: You plan day trips. Look at the forecast before you suggest anything.

provider:
  type: scripted
  turns:
    - text: Let me look at the forecast first.
      tool_calls:
        - { name: weather, args: { city: Lisbon }, id: call_weather }
      usage: { input_tokens: 62, output_tokens: 14 }
    - - when: { tool: weather, contains: rain }
        text: "Rain in Lisbon: take the museum day."
        usage: { input_tokens: 95, output_tokens: 9 }
      - text: "Sunny in Lisbon: take the coast."
        usage: { input_tokens: 95, output_tokens: 8 }

tools:
  - current-date
  - python: tools/weather.py:weather
    replay: safe

policy:
  limits: { max_steps: 20 }
"""

_WEATHER = '''\
"""The tools of this agent. A tool's schema is its signature, its description the first line of its docstring."""


def weather(city: str) -> dict:
    """Forecast for a city."""
    return {"city": city, "forecast": "sunny", "high_c": 24}
'''

_EVAL = """\
# What the agent is expected to do. Run it: lousho eval
agent: agent.yaml

cases:
  - name: looks at the forecast first
    input: Plan my trip
    tags: [smoke]
    expect:
      called_tool: { name: weather, args: { city: Lisbon }, times: 1 }
      reply: { contains: Sunny }
      max_steps: 2
    soft:
      max_tokens: 500
"""

FILES = {"agent.yaml": _AGENT, "tools/weather.py": _WEATHER, "trip.eval.yaml": _EVAL}
"""Path in the project to text."""


def init_project(folder: Path) -> list[Path]:
    """Writes a new project into ``folder``, which need not exist.

    Returns:
        the files written.

    Raises:
        ConfigurationError: one of the files is there already, or the folder is a file; nothing is written then.
        StorageError: one can not be written; nor does any other stay, so that it can be tried again.
    """
    there = [name for name in FILES if (folder / name).exists() or (folder / name).is_symlink()]
    if there:
        raise ConfigurationError(
            f"{folder} already has {', '.join(there)}", field="dir", hint="Choose another folder, or move them away first."
        )
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(f"{folder} is no folder", field="dir", hint="Choose another name.")
    written: list[Path] = []
    try:
        for name, text in FILES.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                written.append(path)
                file.write(text)
    except OSError as error:
        for path in written:
            with suppress(OSError):
                path.unlink()
        hint = "Choose another folder, or check its permissions and the free space."
        raise StorageError(f"{error.filename or folder} can not be written: {error.strerror}", code=NOT_WRITTEN, hint=hint) from error
    return written
