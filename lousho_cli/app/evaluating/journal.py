"""The results of the last eval run on disk, a line a case, each written the moment it is known. So a run that is killed loses none.

    {"format":2,"at":…,"mode":…,"selected":10}
    {"result":{…},"stands_on":{…}}
    {"end":…}

It lies in the store's folder, ``.lousho/evals/last.jsonl``. ``stands_on`` tells whether what was run is still as it was, see ``stamps``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from lousho_cli.app.evaluating.stamps import Stamp, are_as_they_were
from lousho_cli.app.places import STORE_FOLDER, find_store_folder
from lousho_cli.errors import StorageError
from lousho_cli.evals.eval_results import CaseResult, EvalRun, eval_run

_FORMAT = 2


class Begin(msgspec.Struct, frozen=True, tag="begin"):
    """The first line. ``selected``: how many cases were to be run; ``flags``: see ``EvalOptions.flags``."""

    at: str
    mode: str
    selected: int
    flags: tuple[str, ...] = ()
    format: int = _FORMAT


class Done(msgspec.Struct, frozen=True, tag="case"):
    """A case that has ended."""

    result: CaseResult
    stands_on: dict[str, Stamp]


class End(msgspec.Struct, frozen=True, tag="end"):
    """The last line of a run that came to its end."""

    duration_s: float


_DECODER = msgspec.json.Decoder(Begin | Done | End)


def journal_path(folder: Path) -> Path:
    """Where the results of evals that are run in a folder lie."""
    return (find_store_folder(folder) or folder / STORE_FOLDER) / "evals" / "last.jsonl"


class Journal:
    """The results while they come. One that can not be written is told once and spoils no run."""

    def __init__(self, path: Path, begin: Begin) -> None:
        """Raises:
        StorageError: it can not be written.
        """
        self._path = path
        try:
            _make_folder(path.parent)
            aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
            self._file = open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb", buffering=0)  # noqa: SIM115 - closed by close
            self._write(begin)
            os.replace(aside, path)
        except OSError as error:
            raise _unwritable(path, error) from error

    def add(self, result: CaseResult, stands_on: Mapping[str, Stamp]) -> None:
        """A case has ended.

        Raises:
            StorageError: it can not be written.
        """
        self._write(Done(result, dict(stands_on)))

    def end(self, duration_s: float) -> None:
        """All of it has ended. Raises as ``add``."""
        self._write(End(duration_s))

    def close(self) -> None:
        """Ends the writing."""
        self._file.close()

    def _write(self, line: Begin | Done | End) -> None:
        try:
            self._file.write(msgspec.json.encode(line) + b"\n")
        except OSError as error:
            raise _unwritable(self._path, error) from error


def _make_folder(folder: Path) -> None:
    store = folder.parent
    if not store.exists():
        store.mkdir(0o700)
        (store / ".gitignore").write_text("*\n")
    folder.mkdir(0o700, exist_ok=True)


def _unwritable(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path} can not be written: {error.strerror or error}", code="LOUSHO_SYSTEM_ERROR")


class Last(msgspec.Struct, frozen=True):
    """What the last run left. ``done``: its cases, in the order of ``run.cases``; ``flags``: as it was asked for."""

    run: EvalRun
    done: tuple[Done, ...]
    flags: tuple[str, ...] = ()


def read_last(path: Path) -> Last | None:
    """The last run, None where there is none. A line that was cut in the middle is passed over."""
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    lines = [line for text in raw.splitlines() if (line := _line(text)) is not None]
    begin = next((line for line in lines if isinstance(line, Begin)), None)
    if begin is None or begin.format != _FORMAT:
        return None
    done = [line for line in lines if isinstance(line, Done)]
    end = next((line for line in lines if isinstance(line, End)), None)
    duration = end.duration_s if end else sum(line.result.duration_s for line in done)
    run = eval_run([line.result for line in done], selected=begin.selected, duration_s=duration, mode=begin.mode, at=begin.at)
    return Last(run if end else msgspec.structs.replace(run, complete=False), tuple(done), begin.flags)


def _line(text: bytes) -> Any:
    try:
        return _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def kept(last: Last | None, flags: tuple[str, ...]) -> dict[tuple[str, str, str], Done]:
    """The cases of a run that was cut which need not be run again: those that passed or failed, and stand on files that are as they were.

    flags: those of the run that goes on; one that was asked for otherwise, such as without ``--strict``, has nothing for it.
    """
    if last is None or last.run.complete or last.flags != flags:
        return {}
    return {
        (one.result.file, one.result.eval, one.result.case): one
        for one in last.done
        if one.result.result in ("passed", "failed") and are_as_they_were(one.stands_on)
    }
