"""``lousho eval``: did my agent change, and did it get worse?"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import Face, face_of
from lousho_cli.cli.options import Command

if TYPE_CHECKING:
    from lousho_cli.app.evaluating.evaluate import EvalOrder
    from lousho_cli.evals.eval_results import EvalRun

EXAMPLES = (
    "lousho eval                             every eval below this folder",
    "lousho eval trip.eval.yaml::sunny       one case",
    "lousho eval --record                    ask the model, and keep what it says beside the evals",
    "lousho eval --drift --strict            ask it again and compare; exit 10 where something changed",
    "lousho eval --replay --junit out.xml    without a model, for CI",
    "lousho eval add trip@2 --case rain      a case of what a session did",
)

_STOPS = (signal.SIGTERM, signal.SIGHUP)


def run(
    ctx: typer.Context,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATHS]", help="Eval files, folders, or FILE::CASE; default: all below this folder.")
    ] = None,
    record: Annotated[bool, typer.Option("--record", help="Ask the model and replace the cassettes.")] = False,
    replay: Annotated[bool, typer.Option("--replay", help="Only play cassettes.")] = False,
    drift: Annotated[bool, typer.Option("--drift", help="Ask the model again, keep the cassettes, and show what changed.")] = False,
    drift_usage: Annotated[bool, typer.Option("--drift-usage", help="The same, with the number of tokens.")] = False,
    tag: Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Only cases with this tag; repeatable.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="A soft miss, and drift, fails, too.")] = False,
    judge: Annotated[bool, typer.Option("--judge", help="Let models grade.")] = False,
    live: Annotated[bool, typer.Option("--live", help="Ask the model where there is no cassette, and record nothing.")] = False,
    junit: Annotated[str | None, typer.Option("--junit", metavar="FILE", help="Write the results as JUnit XML.")] = None,
    html: Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write them as a page to look at.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="After a run that was cut: only what it did not come to.")] = False,
    last: Annotated[bool, typer.Option("--last", help="Show the results of the last run, whole or not; run nothing.")] = False,
) -> int:
    """Run evals: cases of what an agent should do, offline by their cassettes, and see what changed."""
    from lousho_cli.app.evaluating.evaluate import EvalOrder, last_run
    from lousho_cli.app.evaluating.plans import EvalOptions, in_ci
    from lousho_cli.app.report_files import check_report

    face = face_of(ctx)
    mode = _mode(record, replay, drift or drift_usage, live)
    options = EvalOptions(mode, drift_usage, strict, judge, live, in_ci())
    order = EvalOrder(tuple(paths or ()), tuple(tag or ()), resume, options)
    for flag, name in (("--junit", junit), ("--html", html)):
        if name is not None:
            check_report(name, flag)
    if last:
        _alone(order)
    evaluated = last_run() if last else _evaluate(face, order)
    if evaluated is None:
        return Exit.STOPPED
    _show(face, evaluated)
    _write(face, evaluated, junit, html)
    if not evaluated.complete and not last:
        face.err.note(f"go on from here: {_goes_on(order)}")
        return Exit.STOPPED if evaluated.signal in _STOPS else Exit.ABORTED
    return Exit.CHECK_FAILED if evaluated.failed else Exit.DONE


def _alone(order: EvalOrder) -> None:
    """``--last`` shows what there is.

    Raises:
        ConfigurationError: something was said that only a run could do.
    """
    from lousho_cli.errors import ConfigurationError

    said = [*order.options.flags, *(["--resume"] if order.resume else []), *(["--tag"] if order.tags else []), *order.paths]
    if said:
        hint = f"Leave {said[0]} out, or --last."
        raise ConfigurationError(f"--last runs nothing, so it does not go with {said[0]}", field="--last", code="LOUSHO_USAGE", hint=hint)


def _goes_on(order: EvalOrder) -> str:
    import shlex

    tags = (word for tag in order.tags for word in ("--tag", tag))
    return shlex.join(("lousho", "eval", *order.paths, *order.options.flags, *tags, "--resume"))


def _mode(record: bool, replay: bool, drift: bool, live: bool) -> Any:
    from lousho_cli.errors import ConfigurationError

    given = [name for name, said in (("record", record), ("replay", replay), ("drift", drift)) if said]
    if len(given) > 1 or (live and replay):
        words = [f"--{name}" for name in given] + (["--live"] if live and replay else [])
        raise ConfigurationError(f"{' and '.join(words)} do not go together", field=words[0], code="LOUSHO_USAGE", hint="Give one of them.")
    return given[0] if given else "auto"


def _evaluate(face: Face, order: EvalOrder) -> EvalRun | None:
    """The run; None where it was stopped before it had any result. A Ctrl-C then is left to whoever called us."""
    from lousho_cli.app.evaluating.evaluate import evaluate
    from lousho_cli.app.evaluating.stopping import EvalsStopped
    from lousho_cli.cli.own_stdout import own_stdout
    from lousho_cli.cli.render.eval_progress import watching_evals

    try:
        with own_stdout(face.out), watching_evals(face) as watcher:
            return evaluate(order, watcher)
    except EvalsStopped as stopped:
        if stopped.signal not in _STOPS:
            raise
        face.err.note("stopped before any case had ended")
        return None


def _show(face: Face, evaluated: EvalRun) -> None:
    from lousho_cli.cli.render.evals import eval_text, summary

    face.answer(evaluated, text=lambda: eval_text(face.out, evaluated), quiet=summary(evaluated))
    face.out.flush()


def _write(face: Face, evaluated: EvalRun, junit: str | None, html: str | None) -> None:
    """The reports, once the results stand on stdout: one that can not be written takes nothing away."""
    from lousho_cli.app.evaluating.reports import write_html, write_junit

    for file, write in ((junit, write_junit), (html, write_html)):
        if file is not None:
            write(file, evaluated)
            face.err.note(f"written: {file}")


class EvalCommand(Command):
    """``eval``, behind which ``add SESSION`` is a command of its own. A folder called add is ``./add``, or ``add`` alone."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        import os

        if "add" in args and (args[-1] != "add" or not os.path.exists("add")):
            from lousho_cli.cli.commands import eval_add
            from lousho_cli.cli.options import single

            add, place = single("add", eval_add.run, eval_add.EXAMPLES), args.index("add")
            if _only_options(add, args[:place]):
                return add.make_context("eval add", [*args[:place], *args[place + 1 :]], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


def _only_options(command: Any, words: list[str]) -> bool:
    """Whether words are options of a command and their values, and nothing besides."""
    takes = {name: not option.is_flag and not option.count for option in command.params for name in option.opts if name.startswith("-")}
    rest = iter(words)
    for word in rest:
        name, equals, _ = word.partition("=")
        if name not in takes or (takes[name] and not equals and next(rest, None) is None):
            return False
    return True


COMMAND = EvalCommand
