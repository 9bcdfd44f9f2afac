"""How the plugin ends the evals of a session that has any, without loading them to know."""

from __future__ import annotations

from collections.abc import Callable

import pytest

CLOSE = pytest.StashKey[Callable[[], None]]()
"""What ends them."""
