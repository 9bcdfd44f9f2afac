"""``lousho diff --html``: the file that is written, and what of it a browser may do."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any


class Page(HTMLParser):
    """What of a page is markup: its elements, its policy, and the data it shows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.policy = ""
        self.data: Any = None
        self._in_data = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self._in_data = given.get("id") == "data"
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]
        assert not {"src", "href", "style"} & set(given), given

    def handle_data(self, data: str) -> None:
        if self._in_data:
            self.data, self._in_data = json.loads(data), False


HOSTILE = '</script><script src="http://127.0.0.1:9/x.js"></script><!--\u202e\x1b[31m'


def test_a_page_of_two_sessions_is_one_file_that_asks_nobody(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("a", trip())
    store("b", trip(forecast=json.dumps({"forecast": HOSTILE}), answer=HOSTILE))
    ran = lousho("diff", "a", "b", "--html", "out.html")
    assert ran.code == 0
    assert "a and b part at step 1" in ran.out
    assert "written: out.html" in ran.err
    text = (folder / "out.html").read_text("utf-8")
    assert not {"\u202e", "\x1b"} & set(text)
    page = Page(text)
    assert (page.tags.count("script"), page.tags.count("style"), page.tags.count("link")) == (2, 1, 0)
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'", page.policy
    )
    assert (page.data["names"], page.data["diverged_at"]) == (["a", "b"], 1)
    assert page.data["compared"]["b"][1]["text"] == HOSTILE
    assert page.data["compared"]["rows"][0]["calls"] == [{"a": 0, "b": 0, "same": False}]


def test_a_page_that_can_not_be_written_leaves_what_was_there_and_what_was_said(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("a", trip())
    (folder / "taken").mkdir()
    ran = lousho("diff", "a", "a", "--html", "taken")
    assert ran.code == 1
    assert "do not differ" in ran.out
    assert "taken can not be written" in ran.err
    assert lousho("diff", "a", "a", "--html", "taken/pages/out.html").code == 0
    assert lousho("diff", "a", "a", "--html", " ").code == 2
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("[!.]*") if ".lousho" not in path.parts) == [
        "taken",
        "taken/pages",
        "taken/pages/out.html",
    ]


def test_the_modes_of_diff_look_at_calls_and_no_mode_at_everything(lousho: Any, store: Any, trip: Any) -> None:
    store("a", trip())
    store("b", trip(forecast='{"forecast":"rain"}', answer="Rain: take the museum.", call="call_other"))
    store("c", trip(city="Porto"))
    assert lousho("diff", "a", "b", "--exit-code").code == 10
    for mode in ("strict", "unordered", "subset", "superset"):
        same, other = (lousho("diff", "a", side, "--exit-code", "--mode", mode) for side in ("b", "c"))
        assert (same.code, other.code) == (0, 10)
        assert f"as {mode}: the same" in same.out
    data = lousho("diff", "a", "b", "--json").data
    assert ("mode" not in data, data["matches"]) == (True, False)
