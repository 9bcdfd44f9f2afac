"""Logs of Inspect: one session a sample. A ``.json`` log holds its samples; an ``.eval`` file has a file for each."""

from __future__ import annotations

from typing import Any

from lousho_cli.interchange.reading.chat import entries_of
from lousho_cli.interchange.reading.fields import listed, mapping, subset, text, written
from lousho_cli.interchange.reading.values import Source, source_of

KIND = "inspect"


def recognises(value: dict[str, Any]) -> bool:
    """Whether a document is a log of it, or one sample of one."""
    if isinstance(value.get("eval"), dict) and isinstance(value.get("samples"), list):
        return True
    return is_sample(value)


def is_sample(value: dict[str, Any]) -> bool:
    """Whether a document is one sample, as an ``.eval`` file holds it."""
    return isinstance(value.get("messages"), list) and {"epoch", "input", "target"} <= value.keys()


def read(value: dict[str, Any], name: str) -> list[Source]:
    """A session for each sample."""
    if is_sample(value):
        return [sample(value, {}, name)]
    return [sample(one, mapping(value.get("eval")), name) for one in listed(value.get("samples")) if isinstance(one, dict)]


def sample(value: dict[str, Any], run: dict[str, Any], name: str) -> Source:
    """The session of one sample of the eval ``run``, named after both."""
    entries, bad = entries_of(listed(value.get("messages")), text(run.get("model")))
    task = text(run.get("task")) or name
    session = text(value.get("uuid")) or f"{name}-{written(value.get('id', ''))}-{written(value.get('epoch', 1))}"
    details = {**subset(value, ("id", "epoch", "target", "scores", "model_usage", "error")), **subset(run, ("task", "model", "created"))}
    return source_of(KIND, session, task, entries, details=details, bad=tuple(bad))
