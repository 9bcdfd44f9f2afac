"""One call on its way: the answers it has, and the question it comes back with."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar

import mcp_types as types

from lousho_cli.errors import AskPerson
from lousho_cli.tools.mcp.elicitation import Form, NotAnAnswer, content_of, is_web_address, question, sign_in


class Attempt:
    """One try of one call. What its server asks gets the stored answers in their order; the first question beyond them is put to a person.

    An answer that does not fit its question is passed over, and the question is asked again with the reason.
    """

    def __init__(self, server: str, answers: Sequence[str]) -> None:
        self._server = server
        self._answers = list(answers)
        self.asked: asyncio.Future[AskPerson] = asyncio.get_running_loop().create_future()
        self.over = asyncio.Event()

    async def answer(self, params: types.ElicitRequestParams) -> types.ElicitResult:
        """The stored answer to what the server asks. Where there is none, the call is given up and the server told so."""
        found = self._url(params) if isinstance(params, types.ElicitRequestURLParams) else self._form(params)
        if isinstance(found, types.ElicitResult):
            return found
        if not self.asked.done():
            self.asked.set_result(found)
        await self.over.wait()
        return types.ElicitResult(action="cancel")

    def _form(self, params: types.ElicitRequestFormParams) -> types.ElicitResult | AskPerson:
        form = Form(self._server, params.message, dict(params.requested_schema))
        refused = ""
        while self._answers:
            try:
                return types.ElicitResult(action="accept", content=content_of(form, self._answers.pop(0)))
            except NotAnAnswer as error:
                refused = str(error)
        return question(form, refused)

    def _url(self, params: types.ElicitRequestURLParams) -> types.ElicitResult | AskPerson:
        if not is_web_address(params.url):
            return types.ElicitResult(action="decline")
        if self._answers:
            self._answers.pop(0)
            return types.ElicitResult(action="accept")
        return sign_in(self._server, params.url, params.message)


CURRENT: ContextVar[Attempt | None] = ContextVar("CURRENT", default=None)
"""The call that a piece of code works for, where that is known."""
