"""``trip``: looks at the forecast, then plans a day by it. Forking it with another forecast gives another day."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lousho_cli.app.agent_spec import AgentFile, ProviderSpec, ToolEntry

_FORECASTS = {
    "lisbon": {"forecast": "sunny", "high_c": 24, "low_c": 16, "wind": "light, from the north-west"},
    "porto": {"forecast": "rain", "high_c": 18, "low_c": 13, "wind": "fresh, from the west"},
}

_SUNNY = """\
Sunny and 24 °C in Lisbon, so take the coast:

  Morning    Tram 28 up to Alfama before the queues, coffee at Portas do Sol.
  Midday     Train from Cais do Sodré to Cascais, 40 minutes along the water; grilled sardines by the harbour.
  Afternoon  The cliff path to Boca do Inferno, then a swim at Praia da Conceição.
  Evening    Back for the sunset at Miradouro da Graça.

Take sunscreen and a light jacket for the evening wind."""

_RAIN = """\
Rain in Lisbon, so take the museum day:

  Morning    The National Tile Museum, in an old convent; its café is under the palms.
  Midday     Time Out Market: everybody finds something, and it has a roof.
  Afternoon  The Gulbenkian collection, then hot chocolate in Chiado.
  Evening    Dinner with fado in Alfama; book for half past eight.

Take shoes that grip: the pavements are polished stone."""

_TURNS: tuple[Any, ...] = (
    {
        "text": "Let me look at the forecast first.",
        "tool_calls": [{"name": "weather", "args": {"city": "Lisbon"}, "id": "call_weather"}],
        "usage": {"input_tokens": 86, "output_tokens": 21},
    },
    [
        {"when": {"tool": "weather", "contains": "rain"}, "text": _RAIN, "usage": {"input_tokens": 148, "output_tokens": 118}},
        {"text": _SUNNY, "usage": {"input_tokens": 151, "output_tokens": 124}},
    ],
    {
        "text": "This demo knows one day in Lisbon and no more. Fork it with another forecast to see the day change.",
        "usage": {"input_tokens": 290, "output_tokens": 24},
    },
)


def weather(city: str) -> dict[str, Any]:
    """Forecast for a city."""
    return {"city": city, **_FORECASTS.get(city.strip().lower(), _FORECASTS["lisbon"])}


def agent(cwd: Path) -> AgentFile:
    return AgentFile(
        name="trip",
        prompt="You plan day trips. Look at the forecast before you suggest anything.",
        provider=ProviderSpec("scripted", "scripted", turns=_TURNS, repeat_last=True),
        folder=cwd,
        workspace=cwd,
        tools=(ToolEntry("object", name="weather", object=weather, replay="safe", field="tools.0"),),
        first_input="Plan my trip",
    )
