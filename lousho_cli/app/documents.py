"""YAML and JSON files as people write them, read as plain JSON data.

YAML here means what JSON can say: ``yes``, ``010`` and ``2024-05-01`` are text, as in the newest
YAML, not a truth, a number in base eight and a day. A key that stands twice is an error in both.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lousho_cli.app.suggestions import nearest
from lousho_cli.errors import ConfigurationError

if TYPE_CHECKING:
    import yaml

INVALID = "LOUSHO_SPEC_INVALID"
NOT_FOUND = "LOUSHO_SPEC_NOT_FOUND"
UNSUPPORTED_FORMAT = "LOUSHO_SPEC_UNSUPPORTED_FORMAT"

SUFFIXES = (".yaml", ".yml", ".json")

_MOST_BYTES = 50_000_000
_CHECK_PATH = "Check the path and its permissions; lousho init writes an agent file that works."
_IS_IT_RIGHT = "Check that it is the right file, and saved as UTF-8 text."


def read_document(path: Path, field: str = "") -> Any:
    """What a ``.yaml``, ``.yml`` or ``.json`` file holds, as plain JSON data.

    Args:
        field: what to name in an error, where the file is named by a field of another.

    Raises:
        ConfigurationError: there is no such file, its name ends in something else, or it can not be parsed.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigurationError(
            f"{path.name} is not a kind of file that is read here",
            field=field,
            code=UNSUPPORTED_FORMAT,
            hint=f"Its name must end in {', '.join(SUFFIXES)}.",
        )
    text = _text(path, field)
    try:
        return _parse_json(text) if path.suffix.lower() == ".json" else _parse_yaml(text)
    except _Unreadable as error:
        hint = f"Mend it there; it must be {'JSON' if path.suffix.lower() == '.json' else 'YAML'}."
        raise ConfigurationError(f"{path.name} can not be read: {error}", field=field, code=INVALID, hint=hint) from None
    except RecursionError:
        hint = "Write it with fewer levels."
        raise ConfigurationError(f"{path.name} is nested too deeply", field=field, code=INVALID, hint=hint) from None


def meant_beside(path: Path, endings: tuple[str, ...]) -> str:
    """What was probably meant by a file that is not there, to be put behind that: the file beside it with the nearest name, "" for none."""
    try:
        there = {name.rpartition(".")[0]: name for name in sorted(os.listdir(path.parent), reverse=True) if name.lower().endswith(endings)}
    except OSError:
        return ""
    near = nearest(path.stem, there)
    return f"; did you mean {there[near]}?" if near else ""


def node_of(path: Path) -> Any:
    """What a file holds as YAML nodes, which know their lines; None where it can not be read so."""
    import yaml

    if path.suffix.lower() not in SUFFIXES:
        return None
    try:
        return yaml.compose(_text(path, ""), _loader_class())
    except (ConfigurationError, yaml.YAMLError, ValueError, RecursionError):
        return None


class _Unreadable(Exception):
    pass


def _text(path: Path, field: str) -> str:
    try:
        if not path.is_file():
            what = "is no file" if path.exists() else f"does not exist{meant_beside(path, SUFFIXES)}"
            raise ConfigurationError(f"{path} {what}", field=field, code=NOT_FOUND, hint=_CHECK_PATH)
        if path.stat().st_size > _MOST_BYTES:
            raise ConfigurationError(f"{path.name} is larger than 50 MB", field=field, code=INVALID, hint=_IS_IT_RIGHT)
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{path.name} is not UTF-8 text: byte {error.start}", field=field, code=INVALID, hint=_IS_IT_RIGHT
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(f"{path} can not be read: {reason}", field=field, code=NOT_FOUND, hint=_CHECK_PATH) from None


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_doubles)
    except json.JSONDecodeError as error:
        raise _Unreadable(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except ValueError as error:
        raise _Unreadable(str(error)) from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    whole = dict(pairs)
    if len(whole) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Unreadable(f"{next(name for name in names if names.count(name) > 1)} stands twice in one object")
    return whole


def _parse_yaml(text: str) -> Any:
    import yaml

    loader = _loader_class()(text)
    try:
        return loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise _Unreadable(where + str(error.problem or error.context)) from None
    except (yaml.YAMLError, ValueError) as error:
        raise _Unreadable(" ".join(str(error).split())) from None
    finally:
        loader.dispose()


@cache
def _loader_class() -> Any:
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C is 8 times as fast, and not everywhere

    class Loader(base):  # type: ignore[misc]
        """A YAML reader that knows what JSON knows."""

        yaml_implicit_resolvers: dict[str, Any] = {}

    for tag, pattern, first in (
        ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
        ("null", r"~|null|Null|NULL|", "~nN\0"),
        ("int", r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
        ("float", r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", "-+.0123456789"),
        ("merge", r"<<", "<"),
    ):
        starts = [*first.replace("\0", ""), *([""] if "\0" in first else [])]
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"(?:{pattern})$"), starts)
    Loader.add_constructor("tag:yaml.org,2002:map", _construct_map)
    return Loader


def _construct_map(loader: Any, node: yaml.MappingNode) -> dict[str, Any]:
    import yaml

    seen: set[Any] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise yaml.constructor.ConstructorError(None, None, "a key must be text", key.start_mark)
        if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
            raise yaml.constructor.ConstructorError(None, None, f"{key.value} stands twice in one mapping", key.start_mark)
        seen.add(key.value)
    loader.flatten_mapping(node)
    return {
        key.value if key.tag != "tag:yaml.org,2002:null" or key.value else "": loader.construct_object(value, deep=True)
        for key, value in node.value
    }
