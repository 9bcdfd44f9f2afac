"""The tools of the agents here."""


def weather(city: str, unit: str = "c") -> dict[str, object]:
    """Forecast for a city."""
    return {"city": city, "forecast": "sunny", "unit": unit}
