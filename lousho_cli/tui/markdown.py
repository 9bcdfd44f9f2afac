"""Markdown of a model, laid out as lines: everything that was written can be read, nothing in it can be clicked or fetched.

``markdown-it`` reads it. The lines are made here, as what Textual and Rich make of it is many times slower, hides HTML
and definitions of links, and has links that can be clicked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from lousho_cli.tui.wrapping import Run, wrapped

# HTML and definitions of links are left as they were written: they would be text that nobody sees.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable(["reference", "html_block", "html_inline"])

_LEAST = 12
"""However deep lists and quotes go, so many cells are left for their text."""


class Typesetter:
    """Lays Markdown out.

    Args:
        styles: by name: plain, heading, code, faint, key.
    """

    def __init__(self, styles: Mapping[str, Style]) -> None:
        self._styles = styles

    def lines(self, text: str, width: int) -> list[list[Segment]]:
        """The lines of harmless Markdown, each at most ``width`` cells."""
        return _Page(self._styles, max(width, _LEAST)).lines(_PARSER.parse(text))


class _Page:
    def __init__(self, styles: Mapping[str, Style], width: int) -> None:
        self._styles = styles
        self._width = width
        self._found: list[list[Segment]] = []
        self._around: list[tuple[str, str]] = []  # what stands in front of the lines of each enclosing list or quote: first, then
        self._numbers: list[int | None] = []
        self._gap = False

    def lines(self, tokens: Sequence[Token]) -> list[list[Segment]]:
        at = 0
        while at < len(tokens):
            at = self._take(tokens, at)
        return self._found

    def _take(self, tokens: Sequence[Token], at: int) -> int:
        """Lays out what begins at a token; gives the place behind it."""
        token = tokens[at]
        plain = self._styles["plain"]
        match token.type:
            case "heading_open":
                self._heading(token.tag, tokens[at + 1])
                return at + 3
            case "inline":
                self._block(
                    wrapped(self._runs(token.children or (), plain), self._room), tight=token.level > 1 and self._hidden(tokens, at)
                )
            case "fence" | "code_block":
                self._code(token)
            case "hr":
                self._block([[Segment("─" * self._room, self._styles["faint"])]])
            case "table_open":
                return self._table(tokens, at)
            case "blockquote_open":
                self._enter("▌ ", "▌ ")
            case "bullet_list_open" | "ordered_list_open":
                self._numbers.append(int(token.attrs.get("start", 1)) if token.type == "ordered_list_open" else None)
            case "list_item_open":
                self._item()
            case "blockquote_close" | "list_item_close":
                self._leave()
            case "bullet_list_close" | "ordered_list_close":
                self._numbers.pop()
                self._gap = self._gap or not self._numbers
        return at + 1

    @staticmethod
    def _hidden(tokens: Sequence[Token], at: int) -> bool:
        """Whether a paragraph is one of a list that is written without empty lines."""
        return tokens[at - 1].hidden

    @property
    def _room(self) -> int:
        return max(self._width - sum(cell_len(rest) for _, rest in self._around), _LEAST)

    def _enter(self, first: str, rest: str) -> None:
        self._space()
        if self._width - sum(cell_len(one) for _, one in self._around) - cell_len(rest) < _LEAST:
            first = rest = ""  # so deep that there is no room left to say so
        self._around.append((first, rest))

    def _leave(self) -> None:
        first, rest = self._around.pop()
        if first != rest:  # an item without anything in it is seen too
            self._around.append((first, rest))
            self._emit([[]])
            self._around.pop()

    def _item(self) -> None:
        number = self._numbers[-1] if self._numbers else None
        bullet = "• " if number is None else f"{number}. "
        if number is not None:
            self._numbers[-1] = number + 1
        self._enter(bullet, " " * len(bullet))

    def _block(self, lines: list[list[Segment]], *, tight: bool = False) -> None:
        """Lines with an empty one in front, unless they are ``tight`` or the first."""
        self._space(tight=tight)
        self._emit(lines)
        self._gap = not tight

    def _space(self, *, tight: bool = False) -> None:
        begins = any(first != rest for first, rest in self._around)
        if self._gap and not tight and self._found and not begins:
            self._emit([[]])
        self._gap = False

    def _emit(self, lines: list[list[Segment]]) -> None:
        for line in lines:
            front = "".join(first for first, _ in self._around)
            self._around = [(rest, rest) for _, rest in self._around]
            self._found.append([Segment(front, self._styles["key"]), *line] if front else line)

    def _heading(self, tag: str, inline: Token) -> None:
        style = self._styles["heading"] + Style(bold=True, underline=tag == "h1")
        self._block(wrapped(self._runs(inline.children or (), style), self._room))

    def _code(self, token: Token) -> None:
        name = token.info.strip()
        lines = [[Segment(name, self._styles["faint"])]] if name else []
        self._block([*lines, *wrapped([(token.content.rstrip("\n"), self._styles["code"])], self._room)])

    def _table(self, tokens: Sequence[Token], at: int) -> int:
        rows: list[list[list[Run]]] = []
        heads = 0
        while tokens[at].type != "table_close":
            if tokens[at].type == "tr_open":
                rows.append([])
            elif tokens[at].type == "inline":
                head = tokens[at - 1].type == "th_open"
                heads = max(heads, len(rows)) if head else heads
                style = self._styles["heading"] if head else self._styles["plain"]
                rows[-1].append(list(self._runs(tokens[at].children or (), style)))
            at += 1
        columns = max(map(len, rows))
        widths = [max(sum(cell_len(text) for text, _ in row[one]) if one < len(row) else 0 for row in rows) for one in range(columns)]
        fits = sum(widths) + 3 * (columns - 1) <= self._room
        faint = self._styles["faint"]
        lines: list[list[Segment]] = []
        for number, row in enumerate(rows, 1):
            lines += wrapped(_row(row, widths if fits else [0] * columns, faint), self._room)
            if number == heads and fits:
                lines.append([Segment("─┼─".join("─" * width for width in widths), faint)])
        self._block(lines)
        return at + 1

    def _runs(self, tokens: Sequence[Token], style: Style) -> Iterator[Run]:
        """The text in a paragraph."""
        styles = [style]
        targets: list[str] = []
        for token in tokens:
            match token.type:
                case "text" | "html_inline":
                    yield token.content, styles[-1]
                case "softbreak" | "hardbreak":
                    yield "\n", style  # a line that ends in the source ends here too: models lay out by lines
                case "code_inline":
                    yield token.content, self._styles["code"]
                case "strong_open" | "em_open" | "s_open":
                    styles.append(styles[-1] + _INLINE[token.type])
                case "link_open":
                    styles.append(self._styles["key"])
                    targets.append(_target(token, "href"))
                case "link_close":
                    styles.pop()
                    yield f" ({targets.pop()})", self._styles["faint"]
                case "strong_close" | "em_close" | "s_close":
                    styles.pop()
                case "image":
                    words = f"{token.content}, " if token.content else ""
                    yield f"[image: {words}{_target(token, 'src')}]", self._styles["faint"]


_INLINE = {"strong_open": Style(bold=True), "em_open": Style(italic=True), "s_open": Style(strike=True)}


def _target(token: Token, name: str) -> str:
    """Where a link or an image leads, and its title."""
    title = token.attrs.get("title")
    return f"{token.attrs.get(name, '')}" + (f' "{title}"' if title else "")


def _row(cells: Sequence[list[Run]], widths: Sequence[int], faint: Style) -> Iterator[Run]:
    for at, cell in enumerate(cells):
        if at:
            yield " │ ", faint
        yield from cell
        blanks = widths[at] - sum(cell_len(text) for text, _ in cell)
        if blanks > 0 and at < len(cells) - 1:
            yield " " * blanks, faint
