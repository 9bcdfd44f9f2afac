"""``ask-question``: asks a person and waits, for days if need be. It never runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from lousho_cli.domain.approvals import Question
from lousho_cli.ports.tool import Tool
from lousho_cli.tools.function import FunctionTool, Replay
from lousho_cli.tools.signature import read_signature


class QuestionTool(FunctionTool):
    """A function tool whose arguments are a question for a person."""

    def question(self, args: Any) -> Question | None:
        return Question(
            text=args["question"],
            options=tuple(args["options"]),
            allow_free_text=args["allow_free_text"] or not args["options"],
            secret=args["secret"],
        )


def ask_question(
    question: Annotated[str, Field(min_length=1)],
    options: Annotated[list[str], Field(description="choices to offer; none for a free answer")] = [],  # noqa: B006 - a schema's default, copied
    allow_free_text: Annotated[bool, Field(description="whether another answer than the choices is welcome")] = True,
    secret: Annotated[
        bool, Field(description="the answer is a password or key: you get a reference to it, for a tool that takes it")
    ] = False,
) -> Any:
    """Asks the person who runs you, and gives the answer."""
    raise RuntimeError("a question is answered by a person, never by running it")


def make(workspace: Path, needs_approval: bool | None = None, replay: Replay | None = None) -> Tool:
    return QuestionTool(ask_question, read_signature(ask_question), "ask-question", str(ask_question.__doc__), "safe", read_only=True)
