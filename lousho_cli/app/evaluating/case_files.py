"""A case written into an eval file: a new file, or behind the cases of one that is there, which keeps its comments."""

from __future__ import annotations

import json
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from lousho_cli.app.agent_spec import AgentFile
from lousho_cli.app.documents import read_document
from lousho_cli.app.evaluating.files import ENDINGS, PYTHON_ENDING, cassette_of, eval_from, load_evals
from lousho_cli.app.targets import resolve_target
from lousho_cli.app.wiring import current_folder
from lousho_cli.errors import ConfigurationError, StorageError
from lousho_cli.evals.definition import INVALID, Case, Eval, slug_of

NOT_WRITTEN = "LOUSHO_SYSTEM_ERROR"


class Written(msgspec.Struct, frozen=True):
    """A case that stands in its file. ``made``: the file is new."""

    path: Path
    eval: str
    case: str
    made: bool


def placed(file: AgentFile, to: str | None, case: str | None, source: str) -> Place:
    """Where the case of a session goes, checked before anything is made.

    Args:
        file: its agent. to: the eval file that was named. case: the name that was given. source: what it is made of.

    Raises:
        ConfigurationError: the file can not be read, is about another agent, has a case of that name, or is no eval file.
    """
    folder = file.path.parent if file.path is not None else current_folder()
    path = current_folder() / Path(to).expanduser() if to is not None else folder / f"{slug_of(file.name)}.eval.yaml"
    if to is not None and not path.name.endswith(ENDINGS):
        why = "cases are added to files of data" if path.name.endswith(PYTHON_ENDING) else "no eval would be looked for there"
        raise ConfigurationError(
            f"{to} can not take a case: {why}",
            field="--to",
            code="LOUSHO_USAGE",
            hint=f"Name a file {', '.join(f'*{e}' for e in ENDINGS)}.",
        )
    return Place(path, file, case, source)


class Place:
    """A case-to-be in an eval file. ``cassette`` is where its cassette goes."""

    def __init__(self, path: Path, file: AgentFile, case: str | None, source: str) -> None:
        self.path = path
        self._file = file
        self._there = path.exists()
        one = load_evals(path)[0] if self._there else Eval(_stem(path), "", None, (), ())
        if self._there:
            _check_agent(one, file, path)
        self._eval = one.name
        self.case = _name(one, case, source)
        self.cassette = cassette_of(path, one, Case(self.case, lambda t: None))

    def whole(self, case: dict[str, Any]) -> tuple[str, Any]:
        """The text of the file with the case in it, and what it holds.

        Raises:
            ConfigurationError: the file is written in a way that nothing can be added to, or the case may not be called so.
        """
        named = {"name": self.case, **case}
        if not self._there:
            wanted: dict[str, Any] = {"agent": self._agent(), "cases": [named]}
            eval_from(wanted, self.path)
            return (_json(wanted) if self.path.suffix == ".json" else _yaml(wanted)), wanted
        before = read_document(self.path)
        wanted = {**before, "cases": [*before["cases"], named]}
        eval_from(wanted, self.path)
        text = _json(wanted) if self.path.suffix == ".json" else _behind(self.path.read_text("utf-8-sig"), named)
        if text is None:
            raise self._as_it_is_written()
        return text, wanted

    def write(self, text: str, wanted: Any) -> Written:
        """Writes what ``whole`` gave; the file is whole before and after, and is read back first.

        Raises:
            ConfigurationError: it would not be read back so.
            StorageError: it can not be written.
        """
        target = Path(os.path.realpath(self.path))
        aside = target.parent / f".{secrets.token_hex(6)}.{target.name:.100}"
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            aside.write_text(text, encoding="utf-8")
            value = read_document(aside)
            eval_from(value, self.path)
            if value != wanted:
                raise self._as_it_is_written()
            aside.replace(target)
        except OSError as error:
            hint = "Check the folder, its permissions and the free space."
            raise StorageError(f"{self.path} can not be written: {error.strerror or error}", code=NOT_WRITTEN, hint=hint) from error
        finally:
            with suppress(OSError):
                aside.unlink(missing_ok=True)
        return Written(self.path, self._eval, self.case, made=not self._there)

    def _as_it_is_written(self) -> ConfigurationError:
        hint = "Write its cases as a list of lines that begin with a hyphen, or name another file with --to."
        return ConfigurationError(f"no case can be added to {self.path.name} as it is written", field="cases", code=INVALID, hint=hint)

    def _agent(self) -> str:
        file = self._file
        if file.path is None:
            return file.name
        path = Path(os.path.relpath(file.path, self.path.parent)).as_posix()
        return f"{path}:{file.attribute}" if file.attribute else path


def _stem(path: Path) -> str:
    return path.name.removesuffix(next(ending for ending in ENDINGS if path.name.endswith(ending)))


def _name(one: Eval, given: str | None, source: str) -> str:
    taken = {slug_of(case.name) for case in one.cases}
    if given is not None:
        if slug_of(given) in taken:
            raise ConfigurationError(
                f"there is a case {given} already",
                field="--case",
                code="LOUSHO_USAGE",
                hint="Give another name, or take that one out first.",
            )
        return given
    names = (source, *(f"{source}-{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if slug_of(name) not in taken)


def _check_agent(one: Eval, file: AgentFile, path: Path) -> None:
    about = resolve_target(one.agent, path.parent).agent if isinstance(one.agent, str) else None
    if about is None or (about.name, about.attribute, _real(about)) != (file.name, file.attribute, _real(file)):
        raise ConfigurationError(
            f"{path.name} is about another agent than {file.name}", field="--to", code="LOUSHO_USAGE", hint="Name another file with --to."
        )


def _real(file: AgentFile) -> Path | None:
    return file.path.resolve() if file.path is not None else None


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _behind(text: str, case: dict[str, Any]) -> str | None:
    """A YAML text with a case more behind those it has; None where they do not stand on lines of their own."""
    import yaml

    root: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    node = next(value for key, value in root.value if key.value == "cases")
    if node.flow_style or not node.value:
        return None
    lines = text.splitlines(keepends=True)
    last = node.value[-1]
    end = last.end_mark.line + (1 if last.end_mark.column else 0)
    while end > last.start_mark.line + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1  # what stands behind the last case, blank lines and notes, stays behind it
    head = "".join(lines[:end])
    indent = " " * node.start_mark.column
    item = "".join(f"{indent}{line}\n" if line else "\n" for line in _yaml([case]).splitlines())
    return head + ("" if head.endswith("\n") else "\n") + item + "".join(lines[end:])


_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 _.,;()/'-]*")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}


def _yaml(value: Any) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes what the reader of agent files reads: a text that could be anything else is quoted."""

        def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:
            return super().increase_indent(flow, False)

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, given: str) -> Any:
        plain = _PLAIN.fullmatch(given) and given == given.strip() and given.lower() not in _WORDS and len(given) < 100
        lines = "\n" in given and all(line == line.rstrip() and line.isprintable() for line in given.split("\n")) and given[0] not in " \n"
        return dumper.represent_scalar("tag:yaml.org,2002:str", given, style=None if plain else "|" if lines else '"')

    Dumper.add_representer(str, text)
    shown = all(part.isprintable() for part in json.dumps(value, ensure_ascii=False).split("\n"))
    return str(yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=shown, width=100, default_flow_style=None))
