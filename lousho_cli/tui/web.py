"""The program in a browser, over ``textual-serve``, on this machine only, behind a token that nobody can guess.

The token is the first part of every path. A request without it gets 403: the page, its files and the socket that
carries the keys alike. So neither another user of the machine nor a page in the same browser gets in.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import shlex
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence

from aiohttp import web
from textual_serve.server import Server

from lousho_cli.app.signals import SIGNALLED

LOOPBACK = "127.0.0.1"

_HEADERS = {
    "Content-Security-Policy": "default-src 'self' 'unsafe-inline' data: ws:",  # the page would ask a stranger for a font
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

_FOCUS = """<script>
  new MutationObserver((_, watch) => {
    const keys = document.querySelector(".xterm-helper-textarea");
    if (keys === null) return;
    keys.focus();
    if (document.body.classList.contains("-first-byte")) watch.disconnect();
  }).observe(document.body, { attributes: true, childList: true, subtree: true });
</script>
"""
"""Gives the program the keys once it is drawn: the page leaves them to nobody until a mouse has clicked into it."""


def serve(words: Sequence[str], port: int, told: Callable[[str], None]) -> int:
    """Serves until stopped by a signal; gives the exit code.

    Args:
        words: the command line behind ``lousho`` that shows the program in the browser's window.
        port: 0 for any that is free.
        told: gets the address to open, once it can be opened.

    Raises:
        OSError: the port is taken.
    """
    return asyncio.run(_serve(words, port, told))


async def _serve(words: Sequence[str], port: int, told: Callable[[str], None]) -> int:
    with socket.create_server((LOOPBACK, port)) as listening:
        token = secrets.token_urlsafe(24)
        base = f"http://{LOOPBACK}:{listening.getsockname()[1]}"
        runner = web.AppRunner(await guarded(words, base, token), access_log=None)
        await runner.setup()
        try:
            await web.SockSite(runner, listening).start()
            told(f"{base}/{token}/")
            return SIGNALLED + await _signal()
        finally:
            await runner.cleanup()


async def guarded(words: Sequence[str], base: str, token: str) -> web.Application:
    """The server below ``/TOKEN/``, and nothing anywhere else."""
    command = shlex.join([sys.executable, "-m", "lousho_cli", *words])
    inner = await _Quiet(command, host=LOOPBACK, title="lousho", public_url=base)._make_app()

    @web.middleware
    async def demand(request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> web.StreamResponse:
        given = request.path.split("/")[1]
        if not hmac.compare_digest(given.encode(errors="replace"), token.encode()):
            raise web.HTTPForbidden(text="This needs the whole address that lousho tui --web printed.\n")
        answer = await handler(request)
        if isinstance(answer, web.Response) and answer.content_type == "text/html" and answer.text is not None:
            answer.text = answer.text.replace("</body>", f"{_FOCUS}</body>")
        return answer

    async def headers(_: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(_HEADERS)

    app = web.Application(middlewares=[demand])
    app.on_response_prepare.append(headers)
    app.add_subapp(f"/{token}", inner)
    return app


class _Quiet(Server):
    """Says nothing on stdout."""

    async def on_startup(self, app: web.Application) -> None:
        pass


async def _signal() -> int:
    loop = asyncio.get_running_loop()
    came: asyncio.Future[int] = loop.create_future()

    def note(number: int) -> None:
        if not came.done():
            came.set_result(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, note, number)
    return await came
