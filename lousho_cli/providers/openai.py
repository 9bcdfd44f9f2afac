"""Any chat-completions server, by its address, streamed.

The provider asks once and never retries; it holds one HTTP client, made at the first call
(httpx costs a tenth of a second to import) and closed by ``aclose``.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lousho_cli.core.retry import parse_retry_after
from lousho_cli.errors import ConfigurationError, ProviderError
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.provider import Answer, ModelRequest, ProviderEvent, ReasoningDelta, TextDelta
from lousho_cli.providers.http_errors import (
    body_message,
    cut_error,
    malformed_error,
    status_error,
    stream_error,
    timeout_error,
    transport_error,
)
from lousho_cli.providers.openai_request import RESERVED, encode_request, endpoint
from lousho_cli.providers.openai_stream import AnswerBuilder

if TYPE_CHECKING:
    import httpx
    from httpx_sse import ServerSentEvent
