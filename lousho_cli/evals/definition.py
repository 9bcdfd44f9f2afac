"""An eval as it is written down: what it is about, and its cases. Of files and of Python alike.

from lousho_cli import define_eval

trip = define_eval(agent="agent.yaml")

@trip.case
async def sunny(t):
    await t.send("Plan my trip")
    t.completed()
    t.called_tool("weather", {"city": "Lisbon"}, times=1)
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, overload

import msgspec

from lousho_cli.errors import ConfigurationError
from lousho_cli.evals.context import EvalContext
from lousho_cli.evals.given_results import GivenResult, given_results

INVALID = "LOUSHO_EVALS_INVALID"

Test = Callable[[EvalContext], Awaitable[object] | None]
"""A case in Python: it talks to the agent and says what must hold."""

DEFAULT_CASE = "default"

_LONGEST_SLUG = 60
_LONGEST_SLUG_BYTES = 180  # a name of a file has 255, and more stands around it while it is written


class Case(msgspec.Struct, frozen=True):
    """One case. tags: its own; ignore: arguments that never drift, ``weather:at`` or ``at``.

    tool_results: what calls give in place of running; stop_after: so many steps are all of it.
    """

    name: str
    test: Test
    tags: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    tool_results: tuple[GivenResult, ...] = ()
    stop_after: int | None = None


class Eval:
    """Cases about one agent. ``case`` adds one.

    Attributes:
        name: '' where none was given; then it is called as its file.
        agent: an agent file, a folder, ``module.py:name`` or a demo, from the folder of the eval; or an agent as a dictionary.
        judge: the provider of the model that grades, as in an agent file; None where none may be asked.
        tags, ignore: those of every case.
    """

    def __init__(self, name: str, agent: Any, judge: Any, tags: Iterable[str], ignore: Iterable[str]) -> None:
        self.name, self.agent, self.judge = name, agent, judge
        self.tags, self.ignore = tuple(tags), tuple(ignore)
        self._cases: dict[str, Case] = {}
        self._slugs: dict[str, str] = {}

    @property
    def cases(self) -> tuple[Case, ...]:
        """Its cases, in the order they were given."""
        return tuple(self._cases.values())

    def add(self, case: Case) -> None:
        """One case more.

        Raises:
            ConfigurationError: there is one of this name, or of one that is written alike.
        """
        if not case.name.strip():
            raise ConfigurationError("a case needs a name", field="cases", code=INVALID)
        alike = self._slugs.setdefault(slug_of(case.name), case.name)
        if alike != case.name or case.name in self._cases:
            same = "two cases are called" if alike == case.name else f"the cases {alike} and"
            raise ConfigurationError(
                f"{same} {case.name}" + ("" if alike == case.name else " would share a cassette"),
                field="cases",
                code=INVALID,
                hint="Give each a name of its own.",
            )
        self._cases[case.name] = case

    @overload
    def case(self, given: Test, /) -> Test: ...

    @overload
    def case(
        self,
        given: str | None = None,
        /,
        *,
        tags: Iterable[str] = (),
        ignore: Iterable[str] = (),
        tool_results: Iterable[Mapping[str, Any] | GivenResult] = (),
        stop_after: int | None = None,
    ) -> Callable[[Test], Test]: ...

    def case(
        self,
        given: Any = None,
        /,
        *,
        tags: Iterable[str] = (),
        ignore: Iterable[str] = (),
        tool_results: Iterable[Mapping[str, Any] | GivenResult] = (),
        stop_after: int | None = None,
    ) -> Any:
        """Makes a function a case, called as the function or as is said: ``@trip.case`` or ``@trip.case("Rain", tags=["slow"])``.

        Args:
            tool_results: what calls give in place of running, each ``{"name", "args", "result", "is_error"}`` as in YAML.
            stop_after: so many steps are all of the case.

        Raises:
            ConfigurationError: a case is called so, or something is not what it has to be.
        """
        if isinstance(stop_after, bool) or not isinstance(stop_after, int | None) or (stop_after is not None and stop_after < 1):
            raise ConfigurationError("stop_after must be a number of steps, 1 or more", field="stop_after", code=INVALID)
        results = given_results(tool_results)

        def adding(test: Test) -> Test:
            name = given if isinstance(given, str) else getattr(test, "__name__", DEFAULT_CASE)
            self.add(Case(name, test, _words("tags", tags), _words("ignore", ignore), results, stop_after))
            return test

        return adding(given) if callable(given) else adding


def define_eval(
    name: str = "",
    *,
    agent: Any,
    test: Test | None = None,
    cases: Mapping[str, Test] | None = None,
    judge: Any = None,
    tags: Iterable[str] = (),
    ignore: Iterable[str] = (),
) -> Eval:
    """An eval in a file whose name ends in ``_eval.py``.

    Args:
        name: what it is called; as its file where left out.
        agent: an agent file, a folder, ``module.py:name`` or a demo, from the folder of the eval; or an agent as a dictionary.
        test: its only case. cases: several, by name. More come with ``@eval.case``.
        judge: the provider that grades, as in an agent file: ``{"type": "openai", "model": "gpt-5-mini"}``.
        tags: words to choose cases by. ignore: arguments that never drift: ``at``, ``filter.since``, ``weather:at``.

    Raises:
        ConfigurationError: two cases are called alike, or something is not what it has to be.
    """
    made = Eval(name, agent, judge, _words("tags", tags), _words("ignore", ignore))
    if test is not None:
        made.add(Case(DEFAULT_CASE, test))
    for each, function in (cases or {}).items():
        made.add(Case(each, function))
    return made


def _words(field: str, given: Iterable[str]) -> tuple[str, ...]:
    words = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(word, str) for word in words):
        raise ConfigurationError(f"{field} must be words", field=field, code=INVALID)
    return words


@lru_cache(maxsize=4096)  # asked several times of each case
def slug_of(name: str) -> str:
    """A name as a part of a path: lower case, everything but letters and digits a hyphen, at most 60 characters.

    Letters are those of any script, each in one spelling; a part of a path is at most 180 bytes long.
    """
    plain = re.sub(r"[\W_]+", "-", unicodedata.normalize("NFC", name.lower())).strip("-")[:_LONGEST_SLUG]
    return plain.encode("utf-8", "ignore")[:_LONGEST_SLUG_BYTES].decode("utf-8", "ignore").strip("-") or DEFAULT_CASE
