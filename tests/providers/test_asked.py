"""What one run asks of its server beside the transcript reaches each wire under the name that it takes."""

from __future__ import annotations

import json
from typing import Any

from lousho_cli.domain.messages import user
from lousho_cli.ports.provider import ModelRequest
from lousho_cli.providers.anthropic.request import encode_request as anthropic
from lousho_cli.providers.responses.request import encode_request as responses
from lousho_cli.providers.wire.asked import asked

OPTIONS = {"temperature": 0, "messages": "never", "stream": False}


def test_ds_207_options_and_reasoning_reach_the_wire() -> None:
    usual = ModelRequest((user("Hi"),))
    own = ModelRequest((user("Hi"),), model_options=OPTIONS, reasoning={"budget": 1}, prompt_cache=False)
    for encode, field in ((_anthropic, "thinking"), (_responses, "reasoning")):
        assert field not in encode(usual)
        body = encode(own)
        assert (body["temperature"], body[field], body["stream"]) == (0, {"budget": 1}, True)
    assert "cache_control" in json.dumps(_anthropic(usual)) and "cache_control" not in json.dumps(_anthropic(own))
    assert asked(own, "reasoning_effort") == {"temperature": 0, "reasoning_effort": {"budget": 1}}


def _anthropic(request: ModelRequest) -> Any:
    return json.loads(anthropic(request, "m", {}, max_tokens=1000, prompt_cache=True))


def _responses(request: ModelRequest) -> Any:
    return json.loads(responses(request, "m", {"temperature": 1}))
