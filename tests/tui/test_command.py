"""``lousho tui`` as a command: where it refuses, its picture, its server without the extra."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lousho_cli.__main__ import main


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run(*args: str) -> tuple[int, str, str]:
        code = main(["tui", *args])
        return (int(code), *capsys.readouterr())

    return run


@pytest.mark.parametrize(
    ("stdin", "stdout", "term", "said"),
    [
        (_Terminal(), None, "xterm", "stdout is none"),
        (io.StringIO(), _Terminal(), "xterm", "stdin is none"),
        (None, _Terminal(), "xterm", "stdin is none"),
        (_Terminal(), _Terminal(), "dumb", "TERM is dumb"),
        (_Terminal(), _Terminal(), "", "TERM is not set"),
    ],
    ids=["piped", "no terminal", "closed", "dumb", "none"],
)
def test_case_220_without_a_terminal_it_says_so_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    stdin: io.StringIO | None,
    stdout: io.StringIO | None,
    term: str,
    said: str,
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(sys, "stdin", stdin)
    if stdout is not None:
        monkeypatch.setattr(sys, "stdout", stdout)
    code = main(["tui", "--store", str(tmp_path / "none"), "--color", "never"])
    err = capsys.readouterr().err
    assert code == 2
    assert said in err
    assert len(err.strip().splitlines()) == 1
    assert "\x1b" not in err + (stdout.getvalue() if stdout is not None else "")
    assert not (tmp_path / "none").exists()


def test_a_picture_needs_no_terminal(told: Callable[..., tuple[int, str, str]], sample: Path, tmp_path: Path) -> None:
    file = tmp_path / "now.svg"
    code, out, _ = told("trip@1", "--store", str(sample), "--screenshot", str(file), "--size", "100x30")
    svg = file.read_text(encoding="utf-8")
    assert (code, out) == (0, "")
    assert svg.startswith("<svg")
    assert "trip" in svg
    assert "@font-face" not in svg  # it fetches nothing
    code, _, err = told("--store", str(sample), "--screenshot", str(tmp_path / "no" / "such" / "now.svg"))
    assert code == 1
    assert "no such file" in err


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("--json",), 2, "not JSON"),
        (("--screenshot", "x.svg", "--web"), 2, "exclude each other"),
        (("--screenshot", "x.svg", "--size", "12"), 2, "no size"),
        (("--screenshot", "x.PNG"), 2, "writes SVG, which x.PNG is not [LOUSHO_USAGE] Call it x.svg."),
        (("--screenshot", "x.svg", "--size", "9999x1"), 2, "no size"),
        (("nowhere", "--screenshot", "x.svg"), 3, "no session nowhere"),
        (("trip@9", "--screenshot", "x.svg"), 3, "trip"),
    ],
)
def test_what_it_can_not_do_it_says(
    told: Callable[..., tuple[int, str, str]], sample: Path, args: tuple[str, ...], code: int, said: str
) -> None:
    got, out, err = told("--store", str(sample), *args)
    assert got == code
    assert said in out + err


def test_the_server_names_the_extra_that_it_needs(
    monkeypatch: pytest.MonkeyPatch, told: Callable[..., tuple[int, str, str]], sample: Path
) -> None:
    monkeypatch.delitem(sys.modules, "lousho_cli.tui.web", raising=False)
    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    code, _, err = told("--store", str(sample), "--web")
    assert code == 2
    assert "pip install 'lousho[web]'" in err


def test_agents_that_are_not_there_are_named_at_once(told: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    code, _, err = told("--agents", str(tmp_path / "nowhere"), "--screenshot", str(tmp_path / "a.svg"), "--store", str(tmp_path / "none"))
    assert code == 2
    assert "nowhere: there is no such file or folder" in err
    assert not (tmp_path / "a.svg").exists()
