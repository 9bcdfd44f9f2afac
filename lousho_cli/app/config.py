"""Settings: what is in force, and who said so.

A setting stands for the flag of the same name where that is not given. In order: flag,
environment, the project's file, the user's file, default.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lousho_cli.app.config_files import against, layers
from lousho_cli.app.places import base_of
from lousho_cli.app.secrets import mask_url
from lousho_cli.app.suggestions import nearest
from lousho_cli.app.wiring import current_folder, locate_store
from lousho_cli.errors import ConfigurationError


class Settings(BaseModel):
    """Every setting there is; None leaves it to the agent file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    store: str | None = Field(None, min_length=1, description="Where sessions lie: a folder, or a store URL.")
    model: str | None = Field(None, min_length=1, description="The model to ask, as provider/model.")
    max_steps: int | None = Field(None, ge=1, description="Most model calls of a run.")
    on_drift: Literal["warn", "error", "ignore"] | None = Field(None, description="What to do when the agent changed.")
    interrupted: Literal["rerun", "report"] | None = Field(None, description="What to do with a call that was cut.")
    agents: list[str] | None = Field(None, description="Agent files, or folders of them, to find agents by name in.")
    redact: list[str] | None = Field(None, description="Regular expressions of what export --redact takes out besides keys.")
    redact_keys: list[str] | None = Field(None, description="Names of texts and numbers that export --redact and cassettes keep none of.")


_LISTS = frozenset({"agents", "redact", "redact_keys"})
"""The settings of several values; a variable holds several paths, one expression, or names with commas between them."""

_BETWEEN = {"agents": os.pathsep, "redact_keys": ","}


class Setting(msgspec.Struct, frozen=True, omit_defaults=True):
    """One setting. ``source`` is flag, environment, project file, user file or default; ``where`` the variable or file."""

    name: str
    value: Any
    source: str
    where: str = ""


def variable_of(name: str) -> str:
    """The environment variable of a setting."""
    return f"LOUSHO_{name.upper()}"


def load_settings(flags: Mapping[str, Any] | None = None) -> Settings:
    """The settings in force.

    Args:
        flags: settings given on the command line; None values count as not given.

    Raises:
        ConfigurationError: one is not valid; the nearest right name is given for an unknown one.
    """
    return Settings(**{name: setting.value for name, setting in _found(flags or {}).items()})


def explain_settings(flags: Mapping[str, Any] | None = None) -> tuple[Setting, ...]:
    """Every setting with its source, passwords and keys masked. Raises like ``load_settings``."""
    found = _found(flags or {})
    place = locate_store((flags or {}).get("store"))
    store = Setting("store", place.url, place.source, place.where)
    rows = [store, *(found.get(name, Setting(name, None, "default")) for name in Settings.model_fields if name != "store")]
    return tuple(msgspec.structs.replace(row, value=_masked(row.value)) for row in rows)


def _found(flags: Mapping[str, Any]) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for kind, file, table in reversed(layers(current_folder())):
        values = _valid(table, str(file))
        found |= {name: Setting(name, _resolved(name, value, file), kind, str(file)) for name, value in values.items()}
    environment = {name: os.environ[variable_of(name)] for name in Settings.model_fields if os.environ.get(variable_of(name))}
    lists = {name: text.split(_BETWEEN[name]) if name in _BETWEEN else [text] for name, text in environment.items() if name in _LISTS}
    values = _valid(environment | lists, "the environment")
    found |= {name: Setting(name, value, "environment", variable_of(name)) for name, value in values.items()}
    given = _valid({name: value for name, value in flags.items() if value is not None}, "the command line")
    return found | {name: Setting(name, value, "flag", f"--{name.replace('_', '-')}") for name, value in given.items()}


def _valid(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    try:
        return Settings(**table).model_dump(exclude_unset=True)
    except ValidationError as error:
        raise _refused(error, where) from None


def _refused(error: ValidationError, where: str) -> ConfigurationError:
    """Names every wrong setting at once."""
    from lousho_cli.app.agent_issues import in_words

    told, hints, fields, unknown = [], [], [], False
    for issue in error.errors(include_url=False):
        field = ".".join(map(str, issue["loc"]))
        fields.append(field)
        if issue["type"] != "extra_forbidden":
            told.append(f"{field}: {in_words(issue)}")
            continue
        unknown = True
        near = nearest(field, Settings.model_fields)
        told.append(f"there is no setting {field}")
        if near:
            hints.append(f"{near} for {field}")
    if hints:
        hint = f"Did you mean {', '.join(hints)}?" if len(hints) > 1 else f"Did you mean {hints[0].partition(' for ')[0]}?"
    else:
        hint = f"Known are {', '.join(Settings.model_fields)}." if unknown else "Give it such a value, or take it out."
    return ConfigurationError(f"{where}: {'; '.join(told)}", field=fields[0], hint=hint)


def _resolved(name: str, value: Any, file: Path) -> Any:
    if name == "store" and value is not None:
        return against(value, base_of(file))
    if name == "agents" and value is not None:
        return [str(base_of(file) / Path(one).expanduser()) for one in value]
    return value


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return mask_url(value)
    return [_masked(item) for item in value] if isinstance(value, list) else value
