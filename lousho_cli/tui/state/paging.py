"""Long texts in pieces, so that no more of one is laid out than can be seen. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from lousho_cli.tui.state.outline import Look, Node, Tone

PAGE_CHARS = 2_500
PAGE_LINES = 60
_MARKDOWN_CHARS = 6_000


def pages_of(text: str) -> list[str]:
    """A text in pieces of at most so many lines and characters, cut at the end of lines where there are any."""
    found: list[str] = []
    at = 0
    while at < len(text):
        end = at
        for _ in range(PAGE_LINES):
            nl = text.find("\n", end, at + PAGE_CHARS)
            if nl < 0:
                rest = at + PAGE_CHARS
                end = rest if end == at or rest >= len(text) else end
                break
            end = nl + 1
        found.append(text[at:end])
        at = end
    return found


def blocks_of(text: str) -> list[tuple[str, Look]]:
    """Markdown in pieces that can be laid out apart: cut at empty lines that stand in no fenced block.

    A piece that is still too long, or whose fence never ends, is laid out as it was written.
    """
    if len(text) <= PAGE_CHARS and text.count("\n") <= PAGE_LINES:
        return [(text, "markdown")] if text else []
    found: list[tuple[str, Look]] = []
    kept: list[str] = []
    size, fence = 0, ""
    for line in text.splitlines(keepends=True):
        bare = line.lstrip()
        mark = bare[:3] if bare.startswith(("```", "~~~")) else ""
        if mark and (not fence or mark == fence):
            fence = "" if fence else mark
        kept.append(line)
        size += len(line)
        if not fence and not line.strip() and (size >= PAGE_CHARS or len(kept) >= PAGE_LINES):
            found.extend(_piece("".join(kept)))
            kept, size = [], 0
    found.extend(_piece("".join(kept)))
    return found


def _piece(text: str) -> list[tuple[str, Look]]:
    if len(text) <= _MARKDOWN_CHARS:
        return [(text, "markdown")] if text.strip() else []
    return [(page, "text") for page in pages_of(text)]


def text_nodes(key: str, text: str, tone: Tone = "plain", *, label_pages: bool = True) -> Sequence[Node]:
    """A text as nodes: the first page is seen, the others by their numbers, to be opened.

    Args:
        label_pages: False has all pages seen, one behind the other.
    """
    pages = pages_of(text)
    if len(pages) <= 1 or not label_pages:
        return tuple(Node(f"{key}.p{number}", page.rstrip("\n"), tone, "text") for number, page in enumerate(pages, 1))
    first = Node(f"{key}.p1", pages[0].rstrip("\n"), tone, "text")
    rest = (_page(key, number, len(pages), page, tone) for number, page in enumerate(pages[1:], 2))
    return (first, *rest)


def _page(key: str, number: int, of: int, page: str, tone: Tone) -> Node:
    own = f"{key}.p{number}"
    return Node(own, tone="faint", aside=f"page {number} of {of}", children=lambda: (Node(f"{own}.t", page.rstrip("\n"), tone, "text"),))


def size_of(count: int) -> str:
    """A number of bytes or characters in short: ``812 B``, ``1.2 KB``, ``3 MB``."""
    if count < 1000:
        return f"{count} B"
    for unit in ("KB", "MB", "GB"):
        count_in = count / 1000
        if count_in < 1000 or unit == "GB":
            return f"{count_in:.1f} {unit}" if count_in < 10 else f"{count_in:.0f} {unit}"
        count //= 1000
    raise AssertionError


def number_of(count: int) -> str:
    """A count in short: ``950``, ``1.2k``, ``3.4M``."""
    if count < 1000:
        return str(count)
    for unit, size in (("k", 1_000), ("M", 1_000_000)):
        if count < size * 1000 or unit == "M":
            return f"{count / size:.1f}{unit}" if count < size * 100 else f"{count // size}{unit}"
    raise AssertionError
