"""The completion scripts that are kept are those that Typer generates."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.completion import get_completion_script

from lousho_cli.cli.main import COMPLETE_VARIABLE

FOLDER = Path(__file__).parents[2] / "completions"


@pytest.mark.parametrize(("shell", "name"), [("bash", "lousho.bash"), ("zsh", "_lousho"), ("fish", "lousho.fish")])
def test_a_script_is_the_generated_one(shell: str, name: str) -> None:
    generated = get_completion_script(prog_name="lousho", complete_var=COMPLETE_VARIABLE, shell=shell)
    assert (FOLDER / name).read_text() == generated + "\n"
