"""Approve or reject a call, with its exact arguments in view."""

from __future__ import annotations

from typing import Any, Literal

from textual import work
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Button, Checkbox, Input, Static

from lousho_cli.app.deciding import DecisionOrder, carry_out
from lousho_cli.app.editing import check_for
from lousho_cli.app.people import login_name
from lousho_cli.app.preparing import RunFlags
from lousho_cli.app.results import PendingItem
from lousho_cli.errors import SDKError
from lousho_cli.tui.acting import said_of
from lousho_cli.tui.deeds import Act, Deed
from lousho_cli.tui.plain import line
from lousho_cli.tui.screens.act import ASKS_MODEL, ActScreen, button, label
from lousho_cli.tui.state.commands import decide_command
from lousho_cli.tui.state.waits import expires, wait_of
from lousho_cli.tui.widgets.json_editor import JsonEditor
from lousho_cli.tui.widgets.tick import Tick
from lousho_cli.tui.widgets.typed_line import TypedLine

Verb = Literal["approve", "reject"]


def facts_of(item: PendingItem, now: Any, *wanted: str) -> Content:
    """What is known of something that waits, a line each."""
    parts: list[tuple[str, str]] = []
    for name, said in wait_of(item, now).facts:
        if name in wanted:
            parts += [(f"{name:<11}", "$foreground 60%"), (line(said, 500) + "\n", "")]
    return Content.assemble(*parts).rstrip()


class DecideScreen(ActScreen):
    """Decides a call, or a sign-in.

    Args:
        item: what waits. verb: what the person came for. driven: who drives the session, in words.
    """

    where = "decide"

    def __init__(self, item: PendingItem, verb: Verb = "approve", driven: str | None = None) -> None:
        super().__init__()
        self.item, self.verb, self.driven = item, verb, driven
        self._schema: Literal["unasked", "asked", "known"] = "unasked"
        self._unknown = ""

    def fields(self) -> ComposeResult:
        wanted = ("tool", "session", "id", "inside", "question", "sign in at", "because", "expires")
        yield Static(facts_of(self.item, self.program.now(), *wanted), markup=False)
        if self._is_call:
            yield JsonEditor(id="args", title="arguments: exactly these, or edit them")
            yield Static(id="digest", markup=False)
        yield label("note, or the reason for no: the model is told")
        yield TypedLine(id="note")
        yield Tick("go on with the run at once", value=True, id="resume")

    def buttons(self) -> ComposeResult:
        yield button("approve", "approve")
        yield button("reject", "reject")

    def fill_in(self) -> None:
        if self._is_call:
            self.query_one(JsonEditor).show(self.item.args)
        self.query_one(f"#{self.verb}", Button).focus()

    @property
    def _is_call(self) -> bool:
        return self.item.kind == "tool"

    @property
    def _edited(self) -> tuple[Any, ...]:
        if not self._is_call:
            return ()
        editor = self.query_one(JsonEditor)
        return (editor.now.value,) if editor.changed and editor.now.value != self.item.args else ()

    def _order(self, verb: Verb) -> DecisionOrder:
        note = self.query_one("#note", Input).value or None
        edited = self._edited if verb == "approve" else ()
        resume = self.query_one("#resume", Checkbox).value
        return DecisionOrder(self.item.id, verb, note, edited, resume, RunFlags(by=login_name()), self.program.actor.choice)

    def on_json_editor_edited(self) -> None:
        if self.query_one(JsonEditor).changed and self._schema == "unasked":
            self._ask_schema()
        self.explain()

    @work(group="schema")
    async def _ask_schema(self) -> None:
        """Finds out what the tool takes; its agent is not loaded before somebody edits."""
        self._schema = "asked"
        choice = self.program.actor.choice
        try:
            check = await self.program.actor.ask(lambda: check_for(self.item.id, choice))
        except SDKError as error:
            self._unknown = f"what the tool takes is not known here: {said_of(error)}"
        else:
            self._schema = "known"
            for editor in self.query(JsonEditor):
                editor.check_with(check)
        if not self.gone:
            self.explain()

    def explain(self) -> None:
        said: list[tuple[str, str]] = []
        problems: tuple[str, ...] = ()
        if self._is_call:
            editor = self.query_one(JsonEditor)
            problems = editor.now.problems if editor.changed else ()
            self.query_one("#digest", Static).update(self._digest(problems))
        said += [(f"! {problem}", "$error") for problem in problems[:3]]
        if self._unknown and self._edited:
            said.append((f"! {self._unknown}", "$warning"))
        if expires(self.item, self.program.now()) == "expired":
            said.append(("! this comes too late: it expired, and the call is not run", "$warning"))
        said.append((self._what_follows(), ""))
        self.may("approve", able=not problems)
        commands = [decide_command(self._order("approve"))] if not problems else []
        self.say(said, *commands, decide_command(self._order("reject")))

    def _digest(self, problems: tuple[str, ...]) -> Content:
        if problems:
            return Content.assemble(("digest     ", "$foreground 60%"), ("none while it can not be used", "$error"))
        parts: list[tuple[str, str]] = [("digest     ", "$foreground 60%")]
        if self._edited:
            parts += [(self.query_one(JsonEditor).now.digest, "bold $warning"), (f"  of your edit; it was {self.item.digest}", "")]
            parts += [("; the schema is being read …", "$foreground 60%")] if self._schema == "asked" and not self._unknown else []
        else:
            parts.append((self.item.digest, "bold"))
        return Content.assemble(*parts)

    def _what_follows(self) -> str:
        if self.driven is not None:
            return f"{self.driven} drives this session: the decision is left for it, and it goes on."
        if not self.query_one("#resume", Checkbox).value:
            return "Only records the decision; nothing runs."
        runs = f"runs {self.item.tool}" if self._is_call else "counts as signed in"
        return f"Approve {runs}, reject does not; both go on with the run: {ASKS_MODEL}."

    def press(self, button: str) -> None:
        order = self._order("approve" if button == "approve" else "reject")
        deed = Deed(f"{order.verb} {self.item.tool}", decide_command(order), self.item.session)
        self.begin(deed, deciding(order))


def deciding(order: DecisionOrder) -> Act:
    """Carries out a decision."""
    word = {"approve": "approved", "reject": "rejected", "answer": "answered"}[order.verb]

    async def act(deed: Deed) -> Any:
        decided = await carry_out(order, deed.on_event, deed.tell, deed.ahead)
        if decided.went_on:
            return decided.ran
        deed.ended, deed.goes_on = f"{word} {decided.approval_id}", decided.ran.next
        return None

    return act
