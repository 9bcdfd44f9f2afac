"""A secret that a model asks for with ``ask-question``: its model gets a reference, and the tool it is handed to the secret."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

AGENT = """
import json
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.ports.provider import Answer

class Model:
    name, model = "passes-on", "passes-on"

    async def stream(self, request):
        results = [message for message in request.messages if message.role == "tool"]
        if not results:
            calls = (ToolCall("q", "ask-question", json.dumps({"question": "Your password?", "secret": True})),)
        elif len(results) < 3:
            calls = (ToolCall(f"l{len(results)}", "login", json.dumps({"password": json.loads(results[0].content)["answer"]})),)
        else:
            calls = ()
        yield Answer(Message("assistant", "" if calls else "Done.", calls), "tool_calls" if calls else "stop")

agent = {
    "name": "clerk", "prompt": "You log people in.", "provider": Model(),
    "tools": ["ask-question", {
        "name": "login", "description": "Logs in", "secrets": ["password"],
        "command": ["sh", "-c", "cat >> typed.txt; echo '\\"in\\"'"],
        "input": {"type": "object", "properties": {"password": {"type": "string"}}, "required": ["password"]},
    }],
}
"""


def test_the_tool_a_secret_is_handed_to_gets_it_once(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (project.folder / "agent.py").write_text(AGENT)
    ran = project.lousho("run", "agent.py:agent", "Go", "-s", "s", "--json")
    assert ran.code == 4, ran
    approval = ran.data["approval_id"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("hunter2-and-more\n"))
    ran = project.lousho("answer", approval, "-", "--json")
    assert (ran.code, ran.data["text"]) == (0, "Done.")
    assert (project.folder / "typed.txt").read_text() == '{"password":"hunter2-and-more"}'
    asked, first, second = [message for message in project.messages("s") if message["role"] == "tool"]
    assert '"[secret] harness:answer:' in asked["content"]
    assert first["content"] == '"in"'
    assert second["is_error"]
    assert "Ask for it again" in second["content"]
    stored = b"".join(file.read_bytes() for file in (project.folder / ".lousho").rglob("*") if file.is_file())
    assert b"hunter2" not in stored


def test_an_argument_that_takes_a_secret_has_to_be_there(project: Any) -> None:
    (project.folder / "agent.yaml").write_text(
        "name: clerk\nprompt: Hi\nprovider: {type: scripted, turns: [hi]}\ntools: [{name: login, command: [cat], secrets: [pasword]}]\n"
    )
    ran = project.lousho("run", "agent.yaml", "Go")
    assert ran.code == 2
    assert "tools.0.secrets: there is no argument pasword" in ran.err
