"""The completion scripts that are kept: Typer's own, and for bash one that copes with where bash cuts its words."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.completion import get_completion_script

from lousho_cli.cli.main import COMPLETE_VARIABLE

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "completions"


@pytest.mark.parametrize(("shell", "name"), [("zsh", "_lousho"), ("fish", "lousho.fish")])
def test_a_script_is_the_generated_one(shell: str, name: str) -> None:
    generated = get_completion_script(prog_name="lousho", complete_var=COMPLETE_VARIABLE, shell=shell)
    assert (FOLDER / name).read_text() == generated + "\n"


def test_the_bash_script_asks_as_the_generated_one_does() -> None:
    generated = get_completion_script(prog_name="lousho", complete_var=COMPLETE_VARIABLE, shell="bash")
    kept = (FOLDER / "lousho.bash").read_text()
    for part in (f"{COMPLETE_VARIABLE}=complete_bash", "COMP_WORDS=", "COMP_CWORD=", "-F _lousho_completion lousho", "-o default"):
        assert part in generated
        assert part in kept


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("line", "words", "offered"),
    [
        ("lousho run tr", ["lousho", "run", "tr"], ["trip"]),
        ("lousho show trip@", ["lousho", "show", "trip", "@"], ["2", "1"]),
        ("lousho show trip@", ["lousho", "show", "trip", "@", ""], ["2", "1"]),
        ("lousho show trip@2", ["lousho", "show", "trip", "@", "2"], ["2"]),
        ("lousho diff trip@1 trip@", ["lousho", "diff", "trip", "@", "1", "trip", "@"], ["2", "1"]),
        ("lousho history ", ["lousho", "history", ""], ["trip-2", "trip"]),
        ("lousho list --status=fin", ["lousho", "list", "--status", "=", "fin"], ["finished"]),
    ],
)
def test_bash_is_offered_what_it_can_put_behind_its_own_cut(tmp_path: Path, line: str, words: list[str], offered: list[str]) -> None:
    environ = os.environ | {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    for _ in range(2):
        subprocess.run(
            [sys.executable, "-m", "lousho_cli", "run", "trip", "-q"], cwd=tmp_path, env=environ, check=True, capture_output=True
        )
    program = tmp_path / "lousho"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m lousho_cli "$@"\n')
    program.chmod(0o755)
    quoted = " ".join(f"'{word}'" for word in words)
    script = f"""
        COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:@'
        . {FOLDER}/lousho.bash
        COMP_LINE='{line}' COMP_POINT={len(line)} COMP_CWORD={len(words) - 1}
        COMP_WORDS=({quoted})
        _lousho_completion {program}
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    ran = subprocess.run(["bash", "--norc", "-c", script], cwd=tmp_path, env=environ, check=True, capture_output=True, text=True)
    assert ran.stdout.split() == offered
