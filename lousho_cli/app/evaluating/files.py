"""Eval files: found by their names, read, checked as a whole, and given as evals.

``*.eval.yaml``, ``*.eval.yml`` and ``*.eval.json`` hold data, ``*_eval.py`` calls ``define_eval``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lousho_cli.app.documents import read_document
from lousho_cli.errors import ConfigurationError
from lousho_cli.evals.definition import INVALID, Case, Eval, slug_of
from lousho_cli.evals.expectations import case_of
from lousho_cli.evals.given_results import GivenResult

if TYPE_CHECKING:
    from lousho_cli.app.agent_issues import Wrong
    from lousho_cli.app.evaluating.schema import Case as CaseModel
    from lousho_cli.app.evaluating.schema import EvalModel

ENDINGS = (".eval.yaml", ".eval.yml", ".eval.json")
PYTHON_ENDING = "_eval.py"
CASSETTES = "__cassettes__"


def is_eval_file(path: Path) -> bool:
    """Whether a file is one, by its name."""
    return path.name.endswith((*ENDINGS, PYTHON_ENDING))


def load_evals(path: Path) -> tuple[Eval, ...]:
    """The evals of a file, each with a name.

    Raises:
        ConfigurationError: it can not be read, or something in it is wrong; the detail names every wrong field by its path.
    """
    evals = _of_python(path) if path.name.endswith(PYTHON_ENDING) else (eval_from(read_document(path), path),)
    stem = next(path.name.removesuffix(ending) for ending in (*ENDINGS, PYTHON_ENDING) if path.name.endswith(ending))
    for one in evals:
        one.name = one.name or stem
    if len({slug_of(one.name) for one in evals}) < len(evals):
        raise ConfigurationError(
            f"{path.name} has two evals called {evals[-1].name}", field="name", code=INVALID, hint="Give each a name: define_eval(NAME, …)."
        )
    return evals


def cassette_of(path: Path, one: Eval, case: Case) -> Path:
    """Where the cassette of a case lies: beside its eval."""
    return Path(f"{path.parent}/{CASSETTES}/{slug_of(one.name)}/{slug_of(case.name)}.json")


def _of_python(path: Path) -> tuple[Eval, ...]:
    from lousho_cli.app.python_targets import load_module

    module = load_module(path, "eval")
    evals = tuple({id(value): value for value in vars(module).values() if isinstance(value, Eval)}.values())
    empty = next((one for one in evals if not one.cases), None)
    if not evals or empty is not None:
        raise ConfigurationError(
            f"{path.name} defines no {'case' if evals else 'eval'}",
            field="eval",
            code=INVALID,
            hint="Write: trip = define_eval(agent=…), and @trip.case before a function of t.",
        )
    return evals


def eval_from(value: Any, path: Path) -> Eval:
    """An eval given as data.

    Raises:
        ConfigurationError: as ``load_evals``.
    """
    if not isinstance(value, Mapping):
        what = "is empty" if value is None else "must hold a mapping with agent and cases"
        raise ConfigurationError(f"{path.name} {what}", field="(root)", code=INVALID, hint="lousho init writes one that works.")
    checked = _checked(dict(value), path)
    made = Eval(checked.name or "", checked.agent, value.get("judge"), checked.tags or (), checked.ignore or ())
    for number, case in enumerate(checked.cases):
        given = tuple(GivenResult(one.name, one.result, one.args, one.is_error) for one in case.tool_results or ())
        try:
            made.add(Case(case.name, _test(checked, case), tuple(case.tags or ()), tuple(case.ignore or ()), given, case.stop_after))
        except ConfigurationError as error:
            raise _refused(path, [(f"cases.{number}.name", error.detail)], error.hint) from error
    return made


def _test(whole: EvalModel, case: CaseModel) -> Any:
    """What a case says goes before what its file says, whether as a gate or softly."""
    own, own_soft, all_of, all_soft = (one.model_dump(exclude_none=True) for one in (case.expect, case.soft, whole.expect, whole.soft))
    gates = {name: given for name, given in all_of.items() if name not in own_soft} | own
    soft = {name: given for name, given in all_soft.items() if name not in own} | own_soft
    return case_of(case.input, gates, soft, approve=case.approve)


def _checked(raw: dict[str, Any], path: Path) -> EvalModel:
    from pydantic import ValidationError

    from lousho_cli.app.agent_issues import shape_issues
    from lousho_cli.app.evaluating.schema import EvalModel

    wrong: list[Wrong] = []
    checked = None
    try:
        checked = EvalModel.model_validate(raw)
    except ValidationError as error:
        wrong += shape_issues(error, EvalModel)
    if checked is not None and checked.judge is None:
        wrong += _without_a_judge(checked)
    if wrong or checked is None:
        raise _refused(path, [(issue.path, issue.message) for issue in wrong], "Its fields: lousho schema eval-file.")
    return checked


def _refused(path: Path, wrong: list[tuple[str, str]], hint: str) -> ConfigurationError:
    from lousho_cli.app.document_lines import with_lines

    told = with_lines(path, wrong)
    return ConfigurationError(f"{path.name} is not a valid eval file: {told}", field=wrong[0][0], code=INVALID, hint=hint)


def _without_a_judge(checked: EvalModel) -> list[Wrong]:
    from lousho_cli.app.agent_issues import Wrong

    places = [(f"cases.{number}.{part}", getattr(case, part)) for number, case in enumerate(checked.cases) for part in ("expect", "soft")]
    places += [("expect", checked.expect), ("soft", checked.soft)]
    return [
        Wrong(f"{place}.judge", "needs the field judge of the file, the provider of the model that grades")
        for place, one in places
        if one.judge
    ]
