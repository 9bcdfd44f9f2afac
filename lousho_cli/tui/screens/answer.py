"""Answer a question of the model, or of running code; a secret is typed hidden."""

from __future__ import annotations

from textual import work
from textual.app import ComposeResult
from textual.widgets import Button, Checkbox, Input, OptionList, Static
from textual.widgets.option_list import Option

from lousho_cli.app.deciding import DecisionOrder, question_of
from lousho_cli.app.people import login_name
from lousho_cli.app.preparing import RunFlags
from lousho_cli.app.results import PendingItem
from lousho_cli.errors import SDKError
from lousho_cli.tui.acting import said_of
from lousho_cli.tui.deeds import Deed
from lousho_cli.tui.plain import content
from lousho_cli.tui.screens.act import ASKS_MODEL, ActScreen, button, label
from lousho_cli.tui.screens.decide import deciding, facts_of
from lousho_cli.tui.state.commands import decide_command
from lousho_cli.tui.widgets.secret_input import SecretInput
from lousho_cli.tui.widgets.tick import Tick
from lousho_cli.tui.widgets.typed_line import TypedLine


class AnswerScreen(ActScreen):
    """Answers what waits, or declines it.

    Args:
        item: a question, or a secret. driven: who drives the session, in words.
    """

    where = "answer"

    def __init__(self, item: PendingItem, driven: str | None = None, *, declines: bool = False) -> None:
        super().__init__()
        self.item, self.driven, self._declines = item, driven, declines
        self._secret = item.kind == "secret"
        self._free = not item.options
        self._trouble = ""

    def fields(self) -> ComposeResult:
        yield Static(content(self.item.question or self.item.tool, "bold"), markup=False)
        yield Static(facts_of(self.item, self.program.now(), "session", "id", "inside", "because", "expires"), markup=False)
        if self.item.options:
            yield label("choices")
            yield OptionList(*(Option(content(option)) for option in self.item.options), id="choices", markup=False)
        yield label("secret, which is shown nowhere" if self._secret else "answer")
        yield SecretInput(id="value") if self._secret else TypedLine(id="value")
        yield label("reason for declining it, which the model is told")
        yield TypedLine(id="note")
        yield Tick("go on with the run at once", value=True, id="resume")

    def buttons(self) -> ComposeResult:
        yield button("answer", "answer")
        yield button("reject", "decline")

    def fill_in(self) -> None:
        if self._declines:
            self.query_one("#reject", Button).focus()
        else:
            self.query_one("#choices" if self.item.options else "#value").focus()
        self._ask_whether_free()

    @work(group="free")
    async def _ask_whether_free(self) -> None:
        """Whether something else than one of the choices may be said: the list of what waits does not tell."""
        flag = self.program.actor.choice.store
        try:
            found = await self.program.actor.ask(lambda: question_of(flag, self.item.id))
        except SDKError as error:
            self._trouble = said_of(error)
        else:
            self._free = found.wait.allow_free_text or not self.item.options
        if self.gone:
            return
        self.query_one("#value", Input).display = self._free
        self.explain()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.query_one("#value", Input).value = self.item.options[event.option_index]
        self.explain()
        self.query_one("#answer", Button).focus()

    def _order(self, *, answers: bool) -> DecisionOrder:
        value, note = self.query_one("#value", Input).value, self.query_one("#note", Input).value or None
        resume = self.query_one("#resume", Checkbox).value
        flags, choice = RunFlags(by=login_name()), self.program.actor.choice
        return DecisionOrder(self.item.id, "answer" if answers else "reject", value if answers else note, (), resume, flags, choice)

    def explain(self) -> None:
        answer = self._order(answers=True)
        missing = not answer.note
        fits = self._free or self._secret or answer.note in self.item.options
        self.may("answer", able=not missing and fits)
        said = [(f"! {self._trouble}", "$warning")] if self._trouble else []
        if not fits and not missing:
            said.append(("! that is not one of the answers", "$error"))
        if self._secret:
            said.append(("It reaches the tool that asked, and stands in the log as [secret].", ""))
        said.append((self._what_follows(), ""))
        commands = [] if missing and not self._secret else [decide_command(answer, secret=self._secret)]
        self.say(said, *commands, decide_command(self._order(answers=False)))

    def _what_follows(self) -> str:
        if self.driven is not None:
            return f"{self.driven} drives this session: the answer is left for it, and it goes on."
        if not self.query_one("#resume", Checkbox).value:
            return "Only records it; nothing runs."
        return f"Goes on with the run: {ASKS_MODEL}."

    def press(self, button: str) -> None:
        order = self._order(answers=button == "answer")
        deed = Deed(f"{order.verb} {self.item.tool}", decide_command(order, secret=self._secret), self.item.session)
        self.query_one("#value", Input).value = ""
        self.begin(deed, deciding(order))
