"""A case that is going to be run, how, and who answers in it."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec

from lousho_cli.app.evaluating.files import CASSETTES, cassette_of
from lousho_cli.evals.definition import Case, Eval, slug_of

Mode = Literal["auto", "record", "replay", "drift"]


class EvalOptions(msgspec.Struct, frozen=True):
    """How cases are run.

    mode: ``record`` asks the model and replaces the cassette, ``replay`` only plays it, ``drift`` records aside and compares; ``auto``
        plays a cassette that is there and records one that is not. usage: tokens may drift, too.
    strict: a soft miss fails its case, too. judge: a model may grade.
    live: where there is no cassette the model is asked, and nothing recorded.
    ci: nothing is recorded unless it is asked for.
    """

    mode: Mode = "auto"
    usage: bool = False
    strict: bool = False
    judge: bool = False
    live: bool = False
    ci: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        """What was asked for, as it is written behind ``lousho eval``. Results of other flags are no results of these."""
        said = {"--drift-usage": self.usage, "--strict": self.strict, "--judge": self.judge, "--live": self.live}
        mode = () if self.mode == "auto" or self.usage else (f"--{self.mode}",)
        return (*mode, *(flag for flag, on in said.items() if on))


class Planned(msgspec.Struct, frozen=True):
    """A case to run. path: its file; shown: the same from the working folder."""

    eval: Eval
    case: Case
    path: Path
    shown: str

    @property
    def session_id(self) -> str:
        """The id of its session, of letters that a store takes."""
        name = f"{slug_of(self.eval.name)}.{slug_of(self.case.name)}"
        return name if name.isascii() else f"case-{sha256(name.encode()).hexdigest()[:12]}"

    @property
    def cassette(self) -> Path:
        """Where its cassette lies, whether there is one or not."""
        return cassette_of(self.path, self.eval, self.case)

    @property
    def cassette_shown(self) -> str:
        """The same from the working folder."""
        folder, slash, _ = self.shown.rpartition("/")
        return f"{folder}{slash}{CASSETTES}/{slug_of(self.eval.name)}/{slug_of(self.case.name)}.json"

    @property
    def tags(self) -> tuple[str, ...]:
        """Its own and those of its eval."""
        return tuple(dict.fromkeys((*self.eval.tags, *self.case.tags)))


def in_ci() -> bool:
    """Whether this runs where nobody sits, by the variable that every CI sets."""
    return os.environ.get("CI", "").strip().lower() not in ("", "0", "false", "no")


Way = Literal["model", "replay", "record", "drift", "missing"]


def way_of(options: EvalOptions, *, recorded: bool, scripted: bool) -> Way:
    """Who answers in a case.

    Args:
        recorded: whether it has a cassette. scripted: whether its agent asks no model anyway.
    """
    if options.mode == "record":
        return "record"
    if options.mode == "drift":
        return "drift" if recorded or not scripted else "model"
    if recorded:
        return "replay"
    if scripted or options.live:
        return "model"
    return "missing" if options.ci or options.mode == "replay" else "record"
