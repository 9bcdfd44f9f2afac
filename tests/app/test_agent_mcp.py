"""MCP servers in an agent file: what is read, and how each wrong field is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from lousho_cli.app.agent_files import load_agent_file
from lousho_cli.app.agent_tools import build_tools
from lousho_cli.errors import ConfigurationError
from lousho_cli.tools.mcp.spec import ServerSpec

LEAST = "name: a\nprompt: b\nprovider: { type: scripted, turns: [hi] }\n"


def write(folder: Path, more: str) -> Path:
    path = folder / "agent.yaml"
    path.write_text(LEAST + more)
    return path


def test_servers_are_read_with_their_defaults(tmp_path: Path) -> None:
    more = """
mcp_servers:
  fs: { command: npx, args: [-y, server], env: { A: b }, pass_env: [GITHUB_TOKEN], timeout: 5s, approval: { rm: always }, tools: [ls, rm] }
  web: { url: "https://example.com/mcp", headers: { X-Team: blue }, headers_env: { Authorization: WEB_TOKEN }, replay: never }
"""
    fs, web = load_agent_file(write(tmp_path, more)).mcp_servers
    assert fs == ServerSpec(
        name="fs",
        command="npx",
        args=("-y", "server"),
        env={"A": "b"},
        pass_env=("GITHUB_TOKEN",),
        folder=tmp_path,
        timeout_ms=5_000,
        approval={"rm": "always"},
        tools=("ls", "rm"),
    )
    assert (web.url, web.headers, web.headers_env) == ("https://example.com/mcp", {"X-Team": "blue"}, {"Authorization": "WEB_TOKEN"})
    assert (web.approval, web.replay, web.timeout_ms, web.connect_timeout_ms) == ("auto", "never", 120_000, 30_000)


@pytest.mark.parametrize(
    ("server", "field", "words"),
    [
        ("{}", "mcp_servers.fs", "give command or url, one of the two"),
        ("{ command: a, url: 'http://b' }", "mcp_servers.fs.url", "give command or url, not both"),
        ("{ commnd: a }", "mcp_servers.fs.commnd", "did you mean command?"),
        ("{ command: a, argz: [b] }", "mcp_servers.fs.argz", "did you mean args?"),
        ("{ command: [a, b] }", "mcp_servers.fs.command", "must be text"),
        ("{ command: a, args: b }", "mcp_servers.fs.args", "must be a list"),
        ("{ command: a, headers: { X-A: b } }", "mcp_servers.fs.headers", "is for a server with a url"),
        ("{ url: 'http://b', env: { A: b } }", "mcp_servers.fs.env", "is for a server with a command"),
        ("{ url: 'b.example' }", "mcp_servers.fs.url", "http:// or https://"),
        ("{ command: a, approval: alway }", "mcp_servers.fs.approval", "did you mean always?"),
        ("{ command: a, approval: { rm: nevr } }", "mcp_servers.fs.approval.rm", "did you mean never?"),
        ("{ command: a, timeout: soon }", "mcp_servers.fs.timeout", "must be a duration"),
        ("{ command: a, replay: maybe }", "mcp_servers.fs.replay", "must be 'safe' or 'never'"),
        ("npx", "mcp_servers.fs", "must be a mapping"),
        ("{ url: 'http://b', headers: { Authorization: Bearer x } }", "mcp_servers.fs.headers.Authorization", "with headers_env"),
        ("{ url: 'http://b', headers: { X-Api-Key: x } }", "mcp_servers.fs.headers.X-Api-Key", "no credential belongs in an agent file"),
        ("{ url: 'http://me:pw@b/' }", "mcp_servers.fs.url", "no credential belongs in an agent file"),
        ("{ url: 'http://b/?token=x' }", "mcp_servers.fs.url", "no credential belongs in an agent file"),
        ("{ command: a, env: { GITHUB_TOKEN: x } }", "mcp_servers.fs.env.GITHUB_TOKEN", "name it in pass_env"),
    ],
)
def test_a_wrong_field_is_named_by_its_path(tmp_path: Path, server: str, field: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_agent_file(write(tmp_path, f"mcp_servers: {{ fs: {server} }}"))
    assert caught.value.field == field
    assert f"{field}: " in caught.value.detail
    assert words in caught.value.detail


@pytest.mark.parametrize("name", ["a__b", "_a", "a b", "x" * 33, "''"])
def test_a_name_that_would_not_part_from_its_tools_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match="the name of a server has 1 to 32"):
        load_agent_file(write(tmp_path, f"mcp_servers: {{ {name}: {{ command: a }} }}"))


def test_a_policy_may_name_tools_of_servers_that_are_not_known_yet(tmp_path: Path) -> None:
    more = "mcp_servers: { fs: { command: a } }\npolicy: { requires_approval: [fs__rm], permissions: [{ tool: fs__ls, action: allow }] }"
    file = load_agent_file(write(tmp_path, more))
    with pytest.raises(ConfigurationError, match="there is no tool fs__rm"):
        build_tools(file)  # once its server has said what it has
    with pytest.raises(ConfigurationError, match="there is no tool web__rm"):
        load_agent_file(write(tmp_path, more.replace("[fs__rm]", "[web__rm]")))


def test_a_misspelt_field_of_a_sub_agent_has_its_nearest_name_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="subagents.s.agnt: did you mean agent?"):
        load_agent_file(write(tmp_path, "subagents: { s: { agnt: x.yaml } }"))
