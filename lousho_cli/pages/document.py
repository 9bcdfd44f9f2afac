"""One page as one HTML text: our style, our script, and the values it shows as JSON.

Its policy lets nothing run or be fetched but the one style and the one script that stand in it, named by their digests. So a
text that got out of its place would still be no code.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal

import msgspec

Kind = Literal["evals", "diff", "session"]

_encoder = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))

_STYLES = ("base.css", "parts.css")
_OWN_STYLES: dict[Kind, tuple[str, ...]] = {"session": ("session.css",)}
_SCRIPTS = ("dom.js", "filters.js", "plots.js", "trajectories.js")

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript><p>This page draws itself from the data in it. Let its script run; it asks no network.</p></noscript>
<main id="page"></main>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def page(kind: Kind, title: str, data: Any) -> str:
    """The whole page. Of what it shows nothing but ASCII is in it, so no reader of the file is led astray either.

    Args:
        kind: which page it is; its script is ``assets/<kind>.js``.
        title: the text of the window.
        data: what is shown: frozen structs or JSON data.
    """
    style, script = _style(kind), _script(kind)
    policy = f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; base-uri 'none'; form-action 'none'"
    return _PAGE.format(policy=policy, title=_text(title), style=style, script=script, data=embedded(data))


def embedded(data: Any) -> str:
    """JSON that can stand in a script element: nothing in it ends the element, begins a comment, or is not ASCII."""
    plain = msgspec.to_builtins(data)
    try:
        text = _encoder.encode(plain)
    except ValueError:  # a number in it that JSON does not know, which is not known then
        text = _encoder.encode(msgspec.json.decode(msgspec.json.encode(plain)))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _text(text: str) -> str:
    return html.escape(text).encode("ascii", "xmlcharrefreplace").decode()


@lru_cache(maxsize=4)
def _style(kind: Kind) -> str:
    return "\n".join(map(_asset, (*_STYLES, *_OWN_STYLES.get(kind, ()))))


@lru_cache(maxsize=4)
def _script(kind: Kind) -> str:
    body = "\n".join(_asset(name) for name in (*_SCRIPTS, f"{kind}.js"))
    return f'(() => {{\n"use strict";\n{body}}})();\n'


def _asset(name: str) -> str:
    return files(__package__).joinpath("assets", name).read_text("utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
