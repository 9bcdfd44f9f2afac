"""What the crash tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import lousho_cli


@pytest.fixture
def child_environment() -> dict[str, str]:
    """An environment in which a child process finds the package under test."""
    return dict(os.environ) | {"PYTHONPATH": str(Path(lousho_cli.__file__).parents[1])}
