"""The same file again: what is new is added, what is there stays, and a changed past is a session beside the first."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.app.importing import import_paths
from lousho_cli.core.transcript import check
from lousho_cli.domain import records as r
from lousho_cli.errors import ConfigurationError, StorageError
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.memory import MemoryStore
from lousho_cli.stores.sqlite.store import SqliteStore


def talk(chain: Any, call: Any, turns: int = 3) -> list[dict[str, Any]]:
    lines = chain()
    for number in range(turns):
        lines.user(f"u{number}", f"question {number}").says(f"a{number}", "I look.", call(f"x{number}"), call(f"y{number}"))
        lines.gives(f"r{number}", f"y{number}", "second").gives(f"s{number}", f"x{number}", "first").says(f"e{number}", "Done.")
    return lines.lines


async def test_case_226_the_same_file_and_a_prefix_of_it_are_one_session(desk: Any, chain: Any, call: Any) -> None:
    lines = talk(chain, call)
    path = desk.write("s-1.jsonl", lines)
    results = [(await desk.bring(path)).sessions[0].result for _ in range(2)]
    before = (await desk.store.read("s-1")).batches
    results.append((await desk.bring(desk.write("older.jsonl", lines[:8]))).sessions[0].result)
    assert results == ["imported", "unchanged", "unchanged"]
    assert [head.id for head in (await desk.store.heads()).heads] == ["s-1"]
    assert (await desk.store.read("s-1")).batches == before


async def test_a_file_that_grows_adds_what_is_new_wherever_it_was_cut(desk: Any, chain: Any, call: Any, tmp_path: Path) -> None:
    lines = talk(chain, call, 2)
    whole = await import_into(MemoryStore(), desk.write("whole/s-1.jsonl", lines))
    for cut in range(1, len(lines)):
        store = MemoryStore()
        await import_into(store, desk.write("s-1.jsonl", lines[:cut]))
        again = await import_paths(store, [desk.write("s-1.jsonl", lines)], dry_run=False)
        assert [one.result for one in again.sessions] == ["extended"], cut
        session = await read_session(store, "s-1")
        assert check(session.messages) is None
        assert [(m.role, m.content) for m in session.messages] == [(m.role, m.content) for m in whole.messages], cut
        assert (session.status, session.outcome, session.usage) == ("finished", "completed", whole.usage)


async def test_an_answer_that_was_still_being_written_is_whole_the_next_time(desk: Any, chain: Any, call: Any) -> None:
    lines = chain().user("a", "look").says("b", "I look.", message="m").says("c", call("x"), message="m").gives("d", "x", "one")
    lines.says("e", call("y"), message="m", parentUuid="c").gives("f", "y", "two").says("g", "Done.")
    for cut in range(1, 7):
        desk.store = MemoryStore()
        await desk.bring(desk.write("s-1.jsonl", lines.lines[:cut]))
        again = (await desk.bring(desk.write("s-1.jsonl", lines.lines))).sessions[0]
        assert (again.session, again.result) == ("s-1", "extended"), cut
        session = await desk.session("s-1")
        assert [message.tool_call_id or message.role for message in session.messages] == ["user", "assistant", "x", "y", "assistant"]
        assert session.outcome == "completed"


async def import_into(store: MemoryStore, path: Path) -> Any:
    await import_paths(store, [path], dry_run=False)
    return await read_session(store, "s-1")


async def test_a_changed_past_is_a_session_beside_the_first_and_stays_one(desk: Any, chain: Any, call: Any) -> None:
    lines = talk(chain, call)
    await desk.bring(desk.write("s-1.jsonl", lines))
    lines[0]["message"]["content"] = "another question"
    path = desk.write("s-1.jsonl", lines)
    first, second = [(await desk.bring(path)).sessions[0] for _ in range(2)]
    assert (first.session, first.was, first.result, second.session, second.result) == ("s-1-2", "s-1", "imported", "s-1-2", "unchanged")
    assert (await desk.session("s-1")).messages[0].content == "question 0"


async def test_what_went_on_here_is_left_alone(desk: Any, chain: Any, call: Any) -> None:
    lines = talk(chain, call)
    await desk.bring(desk.write("s-1.jsonl", lines[:5]))
    claim = await desk.store.claim("s-1", "here")
    seq = (await desk.store.head("s-1")).seq
    await desk.store.append(claim, [r.Batch(seq + 1, claim.epoch, "2026-01-02T00:00:00.000Z", (r.Claimed("here"), r.Note("x", "y")))])
    await desk.store.release(claim)
    same = (await desk.bring(desk.write("s-1.jsonl", lines[:5]))).sessions[0]
    more = (await desk.bring(desk.write("s-1.jsonl", lines))).sessions[0]
    assert (same.result, more.result) == ("unchanged", "skipped")
    assert "went on here" in more.why


@pytest.mark.parametrize("before", [0, 5])
async def test_an_import_that_was_killed_is_begun_anew(
    desk: Any, chain: Any, call: Any, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    lines = talk(chain, call)
    if before:
        await desk.bring(desk.write("s-1.jsonl", lines[:before]))
    path, seq = desk.write("s-1.jsonl", lines), (await desk.store.read("s-1")).head
    monkeypatch.setattr("lousho_cli.app.importing_talks._AT_ONCE", 2)
    append = desk.store.append

    async def dies(*args: Any, **more: Any) -> None:
        if args[1][0].seq > seq + 4:
            raise StorageError("the disk is full")
        await append(*args, **more)

    monkeypatch.setattr(desk.store, "append", dies)
    with pytest.raises(StorageError):
        await desk.bring(path)
    monkeypatch.setattr(desk.store, "append", append)
    left = (await desk.store.read("s-1")).batches
    assert (await desk.bring(path, dry_run=True)).sessions[0].result == "imported"
    assert (await desk.store.read("s-1")).batches == left, "a dry run takes nothing away"
    assert (await desk.bring(path)).sessions[0].result == "imported"
    assert (await desk.session("s-1")).outcome == "completed"
    assert len((await desk.session("s-1")).messages) == 15


async def test_what_went_on_with_an_import_that_was_killed_is_left_alone(
    desk: Any, chain: Any, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = desk.write("s-1.jsonl", talk(chain, call))

    async def dies(*_: Any, **__: Any) -> None:
        raise StorageError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(desk.store, "flush", dies)
        patch.setattr("lousho_cli.app.importing_talks._Talk.ending", lambda *_: (r.Note("x", "y"),))
        with pytest.raises(StorageError):
            await desk.bring(path)
    claim = await desk.store.claim("s-1", "here")
    seq = (await desk.store.read("s-1")).head
    await desk.store.append(claim, [r.Batch(seq + 1, claim.epoch, "2026-01-02T00:00:00.000Z", (r.Claimed("here"), r.Note("x", "y")))])
    await desk.store.release(claim)
    assert (await desk.bring(path)).sessions[0].result == "skipped"
    assert (await desk.store.read("s-1")).head == seq + 1


async def test_a_claimed_session_is_skipped_and_a_dry_run_writes_nothing(desk: Any, chain: Any, call: Any) -> None:
    path = desk.write("s-1.jsonl", talk(chain, call))
    dry = await import_paths(None, [path], dry_run=True)
    assert (dry.sessions[0].result, dry.sessions[0].messages) == ("imported", 15)
    claim = await desk.store.claim("s-1", "elsewhere")
    assert (await desk.bring(path)).sessions[0].result == "skipped"
    await desk.store.release(claim)


async def test_every_store_holds_the_same_and_its_heads_are_those_of_the_fold(desk: Any, chain: Any, call: Any, tmp_path: Path) -> None:
    from lousho_cli.core.heads import head_of

    path = desk.write("s-1.jsonl", talk(chain, call, 30))
    for store in (MemoryStore(), FileStore(tmp_path / "s"), SqliteStore(tmp_path / "s.db")):
        await import_paths(store, [path], dry_run=False)
        session, head = await read_session(store, "s-1"), await store.head("s-1")
        assert (head.seq, head.messages, head.usage, head.step) == (session.seq, 150, session.usage, 2)
        assert head.outline == head_of(session).outline


async def test_a_store_without_history_keeps_no_checkpoint(desk: Any, chain: Any, call: Any) -> None:
    store = MemoryStore(history_limit=0)
    await import_paths(store, [desk.write("s-1.jsonl", talk(chain, call))], dry_run=False)
    session = await read_session(store, "s-1")
    assert (len(session.marks), len(session.messages)) == (0, 15)


async def test_strict_imports_nothing_where_a_line_is_bad(desk: Any, chain: Any, call: Any) -> None:
    desk.write("good.jsonl", talk(chain, call))
    desk.write("torn.jsonl", [*chain("s-2").user("a", "x").says("b", "y").lines, '{"type": "us'])
    with pytest.raises(StorageError, match=r"line 3.*no JSON") as raised:
        await desk.bring(strict=True)
    assert raised.value.code == "LOUSHO_IMPORT_PARTIAL"
    assert (await desk.store.heads()).heads == ()
    done = await desk.bring()
    assert (done.partial, {one.session for one in done.sessions}) == (True, {"s-1", "s-2"})


async def test_a_forced_kind_and_one_that_there_is_not(desk: Any) -> None:
    path = desk.write("x.json", [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}])
    assert (await desk.bring(path)).sessions[0].kind == "openai-chat"
    assert (await desk.bring(path, forced="anthropic")).sessions[0].kind == "anthropic"
    with pytest.raises(ConfigurationError, match="no kind nonsense"):
        await desk.bring(path, forced="nonsense")


async def test_links_and_folders(desk: Any, chain: Any, call: Any) -> None:
    desk.write("a/b/c/s-1.jsonl", talk(chain, call))
    (desk.folder / "loop").symlink_to(desk.folder)
    (desk.folder / "gone.jsonl").symlink_to("nowhere")
    (desk.folder / "link.jsonl").symlink_to("a/b/c/s-1.jsonl")
    desk.write("package.json", {"name": "x", "version": "1"})
    done = await desk.bring()
    assert sorted(one.result for one in done.sessions) == ["imported", "unchanged"]
    assert done.failed == ()


async def test_any_order_and_loss_of_calls_and_results_gives_a_valid_talk(desk: Any, chain: Any, call: Any) -> None:
    for seed in range(25):
        chance = random.Random(seed)
        lines = chain()
        for number in range(12):
            what = chance.choice(["user", "says", "calls", "gives", "gives"])
            name, ids = f"n{number}", [f"x{chance.randrange(5)}" for _ in range(chance.randrange(1, 4))]
            if what == "user":
                lines.user(name, name)
            elif what == "says":
                lines.says(name, name)
            elif what == "calls":
                lines.says(name, *(call(one) for one in ids))
            else:
                lines.gives(name, ids[0], f"{name} for {ids[0]}")
        lines.user("last", "last").says("end", "end")
        store = MemoryStore()
        cut = chance.randrange(1, 14)
        await import_paths(store, [desk.write("s-1.jsonl", lines.lines[:cut])], dry_run=False)
        await import_paths(store, [desk.write("s-1.jsonl", lines.lines)], dry_run=False)
        for head in (await store.heads()).heads:
            session = await read_session(store, head.id)
            assert check(session.messages, open_tail=True) is None, (seed, head.id)
        await import_paths(store, [desk.write("s-1.jsonl", lines.lines)], dry_run=False)
        session = await read_session(store, "s-1")
        assert session.messages[-1].text in ("end", "last"), seed
