"""The agent file as pydantic models: what may stand where, with every default.

Strict on purpose: text is text and a number a number, so a slip is named instead of guessed at.
A union's branch is chosen by looking at the value, so that an error names the field and never a branch;
the branches' tags stand in angle brackets and are left out of paths.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, WithJsonSchema

from lousho_cli.app.agent_spec import DEFAULT_HISTORY_LIMIT, DEFAULT_MAX_ATTEMPTS, DEFAULT_MAX_STEPS
from lousho_cli.app.durations import PATTERN, parse_duration
from lousho_cli.app.provider_types import TypeName
from lousho_cli.providers.chat.dialects import ReasoningField

Duration = Annotated[
    int,
    BeforeValidator(parse_duration),
    WithJsonSchema(
        {
            "anyOf": [{"type": "string", "pattern": PATTERN}, {"type": "number", "exclusiveMinimum": 0}],
            "description": "500ms, 30s, 30m, 2h, 3d, 1w; a bare number is seconds",
        }
    ),
]
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$")]
Words = Annotated[list[str], Field(min_length=1)]
VARIABLE = "[A-Za-z_][A-Za-z0-9_]*"
Variable = Annotated[str, Field(pattern=f"^{VARIABLE}$")]
Approval = Annotated[
    Literal["auto", "always", "never"],
    Field(description="auto: a call runs unasked when its tool says that it changes or destroys nothing"),
]


def _by_kind(*kinds: tuple[type, str], other: str) -> Discriminator:
    """Chooses a branch by the kind of the value."""
    return Discriminator(lambda value: next((tag for kind, tag in kinds if isinstance(value, kind)), other))


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Price(_Part):
    """What the model costs, in US dollars for a million tokens. A limit in money needs it where no price is known."""

    input: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    output: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    cached_input: Annotated[float, Field(ge=0, allow_inf_nan=False, description="input read from a cache; else as input")] | None = None
    cache_write: Annotated[float, Field(ge=0, allow_inf_nan=False, description="input written into a cache; else as input")] | None = None


class Provider(_Part):
    """Which model to ask. Keys come from the environment or the keyring."""

    type: TypeName
    model: Annotated[str, Field(min_length=1, description="left out only for scripted and llamacpp")] | None = None
    base_url: Annotated[str, Field(description="another server that speaks the wire of this type")] | None = None
    api_key_env: Annotated[str, Field(pattern=f"^({VARIABLE})?$", description="the variable with its key; empty for none")] | None = None
    headers: dict[str, str] = {}
    headers_env: Annotated[dict[str, Variable], Field(description="headers by the variables that hold their values")] = {}
    extra_body: Annotated[dict[str, Any], Field(description="further fields of the request, such as temperature")] = {}
    connect_timeout: Annotated[Duration, Field(description="to connect; 10s where not said")] | None = None
    first_byte_timeout: Annotated[Duration, Field(description="until the first byte of an answer; 5m where not said")] | None = None
    idle_timeout: Annotated[Duration, Field(description="between two pieces of an answer; 2m where not said")] | None = None
    proxy: Annotated[str, Field(description="the proxy to ask through; else the environment's")] | None = None
    ca_file: Annotated[str, Field(description="a PEM file of the authorities to trust, or a folder of them")] | None = None
    empty_content: Annotated[Literal[""], Field(description="chat completions: send empty text, not null, beside calls")] | None = None
    reasoning_field: Annotated[ReasoningField, Field(description="chat completions: where reasoning is sent back")] | None = None
    stream_options: Annotated[bool, Field(description="chat completions: false for a server that refuses the field")] | None = None
    max_tokens: Annotated[int, Field(ge=1, description="anthropic: most tokens of an answer")] | None = None
    prompt_cache: Annotated[bool, Field(description="anthropic: mark what the server may keep in its prompt cache")] | None = None
    turns: Annotated[list[Any], Field(description="scripted: an entry for each answer, or a list of alternatives")] | None = None
    turns_file: Annotated[str, Field(description="scripted: a file that holds them")] | None = None
    repeat_last: Annotated[bool, Field(description="scripted: past the end, the last entry again")] = False
    price: Price | None = None


class Tool(_Part):
    """A built-in tool by name with options, a command, or a Python function."""

    name: Annotated[str, Field(pattern="^[A-Za-z0-9_-]{1,64}$")] | None = None
    description: str | None = None
    command: Annotated[Words, Field(description="the program and its arguments; JSON on stdin, JSON on stdout")] | None = None
    input: Annotated[dict[str, Any], Field(description="JSON Schema of the arguments of a command")] | None = None
    python: Annotated[str, Field(description="file.py:name, from the folder of this file")] | None = None
    replay: Literal["safe", "never"] | None = None
    needs_approval: bool | None = None
    read_only: Annotated[bool, Field(description="it changes nothing, so it may run in plan mode")] | None = None
    timeout: Duration | None = None
    env: dict[str, str] | None = None
    secrets: Annotated[list[str], Field(description="arguments in which a command takes a secret that a person typed")] | None = None


class Limits(_Part):
    """Where a run stops."""

    max_steps: Annotated[int, Field(ge=1)] = DEFAULT_MAX_STEPS
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_input_tokens: Annotated[int, Field(ge=1)] | None = None
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    max_cost_usd: Annotated[float, Field(gt=0, allow_inf_nan=False, description="needs a known price, or provider.price")] | None = None
    max_duration: Duration | None = None
    background_depth: Annotated[int, Field(ge=0, description="how deep agents in the background may have such agents themselves")] = 2
    background_running: Annotated[int, Field(ge=0, description="how many a model may have run in the background at once")] = 3
    background_started: Annotated[int, Field(ge=0, description="how many it may start there for one thing that it was asked")] = 12
    on_exceeded: Annotated[
        Literal["stop", "throw"], Field(description="tokens or money used up: end the run with what it has, or fail it")
    ] = "stop"


class Permission(_Part):
    """A rule about calls; the first that fits one decides."""

    tool: Annotated[str, Field(min_length=1, description="a name, or a pattern such as fs__*")]
    action: Literal["allow", "ask", "deny"]
    when: Annotated[
        dict[str, str], Field(description="regular expressions by argument, each to be found in it; headers.host looks inside")
    ] = {}
    reason: Annotated[str, Field(description="told to the model of a refusal, and to the person who is asked")] = ""
    ttl: Annotated[Duration, Field(description="how long the person may take, in place of approval_ttl")] | None = None


class Policy(_Part):
    """What a run may do."""

    requires_approval: Annotated[
        Annotated[bool, Tag("<all>")] | Annotated[list[str], Tag("<names>")], _by_kind((list, "<names>"), other="<all>")
    ] = False
    limits: Limits = Limits()
    approval_ttl: Duration | None = None
    tool_concurrency: (
        Annotated[
            Annotated[int, Field(ge=1), Tag("<number>")] | Annotated[Literal["unbounded"], Tag("<word>")],
            _by_kind((str, "<word>"), other="<number>"),
        ]
        | None
    ) = None
    on_agent_drift: Literal["warn", "error", "ignore"] = "warn"
    permissions: list[Permission] = []
    mode: Annotated[
        Literal["default", "plan", "dont-ask", "accept-edits"],
        Field(
            description="plan: only tools that change nothing; dont-ask: what would need a person is denied; "
            "accept-edits: tools that only edit files are not asked about"
        ),
    ] = "default"


class Retry(_Part):
    """How often, and after how long, a model is asked again after a transient error."""

    max_retries: Annotated[int, Field(ge=0)] = 3
    base_delay: Duration = Field("2s", validate_default=True)
    max_retry_after: Duration = Field("15m", validate_default=True)


class Durability(_Part):
    """How a run lives on after a crash, an error or a pause."""

    max_attempts: Annotated[int, Field(ge=1)] = DEFAULT_MAX_ATTEMPTS
    timeout: Duration | None = None
    replay: Annotated[Literal["safe", "never"], Field(description="what to do with a call that was cut")] = "safe"
    continue_cut_off: bool = False
    history_limit: Annotated[int, Field(ge=0, le=1_000_000)] = DEFAULT_HISTORY_LIMIT
    retry: Annotated[
        Annotated[bool, Tag("<switch>")] | Annotated[Retry, Tag("<policy>")], _by_kind((bool, "<switch>"), other="<policy>")
    ] = True
    interrupted_tool_result: str | None = None
    truncated_tool_result: str | None = None
    resume_background_agents: bool = True


class SubAgent(_Part):
    """An agent file that the agent may hand work to."""

    agent: Annotated[str, Field(min_length=1, description="its file, from the folder of this one")]
    description: Annotated[str, Field(description="what the model is told of it")] | None = None
    needs_approval: bool = False
    background: Annotated[bool, Field(description="whether the model may go on at once, and be told when it has ended")] = False


class McpServer(_Part):
    """A server of the Model Context Protocol: a command, or an address. Its tools are called SERVER__TOOL."""

    command: Annotated[str, Field(min_length=1, description="the program to start, from the folder of this file")] | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    pass_env: Annotated[list[str], Field(description="variables of this environment that the program may see")] = []
    url: Annotated[str, Field(min_length=1, description="of a server over streamable HTTP")] | None = None
    headers: dict[str, str] = {}
    headers_env: Annotated[dict[str, str], Field(description="headers whose values stand in environment variables")] = {}
    approval: Annotated[
        Annotated[Approval, Tag("<all>")] | Annotated[dict[str, Approval], Tag("<tools>")], _by_kind((dict, "<tools>"), other="<all>")
    ] = "auto"
    timeout: Annotated[Duration, Field(description="of each call")] = Field("2m", validate_default=True)
    connect_timeout: Annotated[Duration, Field(description="until the server has listed its tools")] = Field("30s", validate_default=True)
    replay: Annotated[Literal["safe", "never"], Field(description="else what each tool says of itself")] | None = None
    tools: Annotated[list[str], Field(description="only these, by the names the server has for them")] | None = None


class AgentModel(_Part):
    """An agent file of lousho."""

    name: Name
    prompt: str
    provider: Provider
    tools: list[Annotated[Annotated[str, Tag("<name>")] | Annotated[Tool, Tag("<tool>")], _by_kind((str, "<name>"), other="<tool>")]] = []
    policy: Policy = Policy()
    durability: Durability = Durability()
    notify: list[
        Annotated[
            Annotated[str, Field(min_length=1), Tag("<line>")] | Annotated[Words, Tag("<words>")],
            _by_kind((list, "<words>"), other="<line>"),
        ]
    ] = []
    subagents: dict[
        Annotated[str, Field(pattern="^[A-Za-z0-9_-]{1,64}$")],
        Annotated[
            Annotated[str, Field(min_length=1), Tag("<file>")] | Annotated[SubAgent, Tag("<entry>")],
            _by_kind((str, "<file>"), other="<entry>"),
        ],
    ] = {}
    mcp_servers: dict[str, McpServer] = {}
    workspace: Annotated[Literal["host"], Field(description="file tools and shell work in the folder of this file")] = "host"


def agent_file_json_schema() -> dict[str, Any]:
    """The JSON Schema of an agent file, with every default."""
    schema = AgentModel.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "lousho agent file"}
