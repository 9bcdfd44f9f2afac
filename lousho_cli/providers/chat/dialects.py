"""How the servers that imitate chat completions differ in what they take. What they send is read the same way from all.

A server is told by its type, else by the host of its address; one that is not known is taken for a plain imitator.
"""

from __future__ import annotations

from typing import Literal

import msgspec

ReasoningField = Literal["reasoning_content", "reasoning", "none"]


class Dialect(msgspec.Struct, frozen=True):
    """What one kind of server takes.

    host: of its own address. reasoning: the field in which it takes reasoning that another server wrote. echo: whether
    its own goes back, in the field it came in. thinks_with_tools: reasoning must go back when there are tools, every
    time, and must not when there are none. stream_options: whether it takes that field. short_ids: it takes only call
    ids of nine letters and digits. answers_results: it wants an answer between a tool's result and a person's message.
    signed_calls: some of its models refuse calls without a signature. checks_calls: it looks at the ids and names of
    calls and not at their arguments; others read the arguments, and refuse what is no object.
    """

    host: str = ""
    reasoning: ReasoningField = "reasoning_content"
    echo: bool = True
    thinks_with_tools: bool = False
    stream_options: bool = True
    short_ids: bool = False
    answers_results: bool = False
    signed_calls: bool = False
    checks_calls: bool = False


PLAIN = Dialect()
DIALECTS = {
    "openai": Dialect("api.openai.com", reasoning="none", echo=False, checks_calls=True),
    "ollama": Dialect("ollama.com", reasoning="reasoning"),
    "openrouter": Dialect("openrouter.ai", reasoning="reasoning"),
    "groq": Dialect("api.groq.com", reasoning="none", echo=False),  # refuses the one name always, the other from most models
    "cerebras": Dialect("api.cerebras.ai", reasoning="none", echo=False),
    "deepseek": Dialect("api.deepseek.com", thinks_with_tools=True),
    "gemini": Dialect("generativelanguage.googleapis.com", reasoning="none", echo=False, signed_calls=True),
    "mistral": Dialect("api.mistral.ai", reasoning="none", stream_options=False, short_ids=True, answers_results=True),
    "together": Dialect("api.together.xyz", reasoning="none"),
    "xai": Dialect("api.x.ai", reasoning="none", echo=False),
    "vllm": Dialect(reasoning="reasoning"),
    "llamacpp": PLAIN,
}


def dialect_of(kind: str, host: str) -> Dialect:
    """The dialect of a type, else of a host. A type ``openai`` is often only the wire, so there the host alone counts."""
    if kind != "openai" and kind in DIALECTS:
        return DIALECTS[kind]
    return next((dialect for dialect in DIALECTS.values() if dialect.host == host), PLAIN)
