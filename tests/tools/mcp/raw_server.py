"""A server written by hand, to do what no SDK does. Starts fast; loads nothing but the standard library.

``TOOLS`` is the JSON list it gives; ``MODE`` is what is wrong with it; what it did stands in the file ``NOTES``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

MODE = os.environ.get("MODE", "")
NOTES = os.environ.get("NOTES", os.devnull)
ANY = {"type": "object"}
READS = {"readOnlyHint": True}
KNOWN = (
    "echo",
    "dies",
    "hangs",
    "fails",
    "structured",
    "odd",
    "refuses",
    "asks_two",
    "samples",
    "signs_in",
    "not_a_result",
    "torn",
    "deafens",
)
TOOLS = json.loads(os.environ.get("TOOLS", "null")) or [{"name": name, "inputSchema": ANY, "annotations": READS} for name in KNOWN]


def note(word: str) -> None:
    with open(NOTES, "a") as file:
        file.write(word + "\n")


def say(message: dict) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def result(request: dict, value: object) -> None:
    say({"id": request["id"], "result": value})


def text(request: dict, said: str, **more: object) -> None:
    result(request, {"content": [{"type": "text", "text": said}], **more})


def greet(request: dict) -> None:
    if MODE == "silent":
        return
    if MODE == "modern-only":
        error = {
            "code": -32022,
            "message": "unsupported protocol version",
            "data": {"supported": ["2026-07-28"], "requested": "2025-11-25"},
        }
        say({"id": request["id"], "error": error})
        return
    version = "1999-01-01" if MODE == "old" else request["params"]["protocolVersion"]
    capabilities = {} if MODE == "no-tools" else {"tools": {"listChanged": True}}
    result(request, {"protocolVersion": version, "capabilities": capabilities, "serverInfo": {"name": "raw", "version": "1"}})


def listing(request: dict) -> None:
    if MODE == "never-lists":
        return
    if MODE == "pages":
        result(request, {"tools": TOOLS, "nextCursor": "again"})
    elif MODE == "endless-pages":
        at = (request.get("params") or {}).get("cursor", "0")
        result(request, {"tools": [], "nextCursor": str(int(at) + 1)})
    elif MODE == "two-pages":
        at = (request.get("params") or {}).get("cursor")
        result(request, {"tools": TOOLS[2:]} if at else {"tools": TOOLS[:2], "nextCursor": "second"})
    else:
        result(
            request, {"tools": TOOLS, **({"ttlMs": 0, "cacheScope": "private", "resultType": "complete"} if MODE == "modern-only" else {})}
        )


def call(request: dict) -> None:
    name, args = request["params"]["name"], request["params"].get("arguments") or {}
    note(f"call {name}")
    if name == "dies":
        print("cannot open \x1b[31mthe database\x1b[0m", os.environ.get("LENT", ""), file=sys.stderr, flush=True)
        os._exit(7)
    elif name == "refuses":
        say({"id": request["id"], "error": {"code": -32602, "message": "not with these"}})
    elif name == "fails":
        text(request, "no such place", isError=True)
    elif name == "structured":
        text(request, "about 2 things", structuredContent={"things": [1, None], "big": 2**70})
    elif name == "odd":
        blocks = [
            {"type": "image", "data": "QUJD", "mimeType": "image/png"},
            {"type": "resource_link", "name": "map", "uri": "file:///map"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
        ]
        result(request, {"content": blocks})
    elif name == "deafens":
        time.sleep(600)
    elif name == "torn":
        whole = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"content": [{"type": "text", "text": "a\ud800b|"}]}})
        sys.stdout.buffer.write(whole.encode().replace(b"|", b"\xff") + b"\n")
        sys.stdout.flush()
    elif name == "not_a_result":
        result(request, {"content": "what"})
    elif name == "samples":
        asks(request, "sampling/createMessage", {"messages": [], "maxTokens": 1})
    elif name == "signs_in":
        one = {"mode": "url", "message": "Sign in", "url": args.get("url", "https://example.com/in"), "elicitationId": "e1"}
        error = {"code": -32042, "message": "first sign in", "data": {"elicitations": [one]}}
        say({"id": request["id"], "error": error})
    elif name == "asks_two":
        both(request)
    elif name == "hangs":
        if MODE == "changes":
            say({"method": "notifications/tools/list_changed"})
            TOOLS.clear()
    else:
        text(request, json.dumps({name: args}))


def asks(request: dict, method: str, params: dict) -> None:
    say({"id": f"s-{request['id']}", "method": method, "params": params})
    WAITING[f"s-{request['id']}"] = lambda answer: text(request, json.dumps(answer.get("error") or answer["result"]))


def both(request: dict) -> None:
    """As servers of today ask: by a result that is none yet, until the call comes again with the answers."""
    params = request["params"]
    given = params.get("inputResponses") or {}
    if "a" in given:
        text(request, json.dumps([given["a"], given["b"], params["requestState"]]), resultType="complete")
        return
    schema = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
    asked = {"method": "elicitation/create", "params": {"mode": "form", "message": "Say it", "requestedSchema": schema}}
    result(request, {"resultType": "input_required", "inputRequests": {"a": asked, "b": asked}, "requestState": "st"})


WAITING: dict = {}


def discover(request: dict) -> None:
    found = {
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
        "ttlMs": 0,
        "cacheScope": "private",
        "resultType": "complete",
    }
    result(request, found)


def serve() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        method = message.get("method")
        if method is None:
            WAITING.pop(message["id"])(message)
        elif method == "initialize":
            greet(message)
        elif method == "server/discover" and MODE == "modern-only":
            discover(message)
        elif method == "tools/list":
            listing(message)
        elif method == "tools/call":
            call(message)
        elif "id" in message:
            say({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})
        else:
            note(method)


def garbage() -> None:
    sys.stdout.buffer.write(b'\xff\xfe not JSON\n\n{"jsonrpc": "2.0"}\n[1, 2]\nnull\n' + b"[" * 100_000 + b"\n" + b"x" * 3_000_000 + b"\n")
    sys.stdout.flush()


def floods() -> None:
    while True:
        sys.stderr.write("noise " * 1000)


if __name__ == "__main__":
    note(f"pid {os.getpid()}")
    if MODE == "garbage":
        garbage()
    elif MODE == "only-garbage":
        print("Welcome! \x1b]0;title\x07 Listening.", flush=True)
        sys.exit(0)
    elif MODE == "endless-line":
        while True:
            sys.stdout.write("x" * 1_000_000)
    elif MODE == "floods":
        threading.Thread(target=floods, daemon=True).start()
    elif MODE == "stays":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
        note(f"pid {child.pid}")
    elif MODE == "leaves-one":
        child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"], start_new_session=True)
        note(f"pid {child.pid}")
    try:
        serve()
    finally:
        while MODE == "stays":
            time.sleep(1)
