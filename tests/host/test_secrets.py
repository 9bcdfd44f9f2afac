"""Secret answers: they reach the call that asked, and nothing that is kept."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import msgspec
import pg_server
import pytest
from keyring.backend import KeyringBackend

from lousho_cli import ConfigurationError, Credential, KeyringCredentials, MemoryCredentials, PostgresStore, ToolContext, define_tool
from lousho_cli.domain import records as r
from lousho_cli.domain.codec import encode_line
from lousho_cli.domain.heads import Post
from lousho_cli.domain.times import later
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.host.harness import define_harness
from lousho_cli.host.host import create_harness_host
from lousho_cli.ports.sessions import read_session
from lousho_cli.providers.scripted import ScriptedProvider

SECRET = "hunter2-and-more"


def harness(seen: list[Any], **options: Any) -> Any:
    @define_tool(durable=True)
    async def login(ctx: ToolContext) -> str:
        seen.append(await ctx.step.ask("password", "Your password?", secret=True, **options))
        return "logged in"

    turns = [{"tool_calls": [{"name": "login", "id": "c1"}]}, "Done."]
    return define_harness("acme/assistant", ScriptedProvider(turns), tools=[login])


async def asked(session: Any) -> Any:
    async with asyncio.timeout(20):
        while not (pending := await session.pending()):
            await asyncio.sleep(0.001)
    return pending[0]


class Pair:
    """A host that drives a thread, and another that may only read it; ``kept`` is every byte that came into the store."""

    def __init__(self, store: Any, credentials: Any, other: Any) -> None:
        self.store, self.seen = store, []
        self.first = create_harness_host({"log": store}, credentials=credentials)
        self.second = create_harness_host({"log": store}, credentials=other)
        self.posts: list[Post] = []
        post = store.post

        async def watched(log_id: str, one: Post) -> None:
            self.posts.append(one)
            await post(log_id, one)

        store.post = watched

    async def begun(self, user: str = "ann", **options: Any) -> tuple[Any, Any, Any]:
        """The two handles and what is asked."""
        made = harness(self.seen, **options)
        one = await self.first.open(made, "t", user="ann")
        await one.send("Log in", input_id="a")
        other = await self.second.open(made, "t", user=user)
        return one, other, await asked(other)

    async def kept(self) -> str:
        lines = b"".join(map(encode_line, (await self.store.read("t")).batches)).decode()
        return lines + str(msgspec.json.encode(self.posts)) + str(msgspec.json.encode(await self.store.head("t")))

    async def close(self) -> None:
        await self.first.close()
        await self.second.close()


async def test_ds_146_a_secret_answer_given_elsewhere_is_in_no_record(store: Any) -> None:
    shared = MemoryCredentials()
    pair = Pair(store, shared, shared)
    _, other, ask = await pair.begun()
    assert ask.kind == "secret"
    assert (await other.answer(ask.id, SECRET)).status == "accepted"
    assert (await other.settled("a")).text == "Done."
    assert pair.seen == [SECRET]
    assert SECRET not in await pair.kept()
    assert [post.body["reference"] for post in pair.posts] == [f"harness:answer:{pair.posts[0].id}"]
    await pair.close()


async def test_ds_146_a_secret_answer_on_the_owner_is_in_no_record(store: Any) -> None:
    pair = Pair(store, None, None)
    one, _, ask = await pair.begun()
    assert (await one.answer(ask.id, SECRET)).status == "accepted"
    assert (await one.settled("a")).outcome == "completed"
    assert (pair.seen, pair.posts) == ([SECRET], [])
    assert SECRET not in await pair.kept()
    records = [x for batch in (await store.read("t")).batches for x in batch.records]
    (answer,) = [x for x in records if isinstance(x, r.AskAnswered)]
    assert (answer.hidden, answer.value, answer.note, answer.by) == (True, "[secret]", None, "ann")
    await pair.close()


async def test_ds_214_in_the_log_a_secret_answer_reads_as_one(store: Any) -> None:
    pair = Pair(store, None, None)
    one, _, ask = await pair.begun()
    await one.answer(ask.id, SECRET)
    await one.settled("a")
    assert '"value":"[secret]"' in await pair.kept()
    await pair.close()


@pytest.mark.parametrize("how", ["twice", "expired", "another's"])
async def test_ds_147_a_reference_is_used_once_in_time_and_by_its_user(store: Any, how: str) -> None:
    shared = MemoryCredentials()
    pair = Pair(store, shared, shared)
    _, other, ask = await pair.begun(user="bob")
    reference, now = "harness:answer:p0", SYSTEM_CLOCK.now()
    expires = later(now, -1 if how == "expired" else 60_000)
    if how != "twice":
        await shared.save(Credential(reference, "secret_answer", "ann" if how == "another's" else "bob", expires, SECRET))
    body = {"id": ask.id, "approved": True, "reference": reference}
    await store.post("t", Post("p1", "answer", now, "bob", body))
    async with asyncio.timeout(20):
        while "p1" not in (session := await read_session(store, "t")).inputs:
            await asyncio.sleep(0.001)
    assert (session.inputs["p1"].status, session.inputs["p1"].error) == ("rejected", "unknown_secret_answer")
    assert [one.id for one in await other.pending()] == [ask.id], "it still waits"
    assert (await other.answer(ask.id, SECRET)).status == "accepted"
    await other.settled("a")
    await pair.close()


async def test_ds_148_without_a_credential_store_it_is_refused(store: Any) -> None:
    pair = Pair(store, MemoryCredentials(), None)
    _, other, ask = await pair.begun()
    receipt = await other.answer(ask.id, SECRET)
    assert (receipt.status, receipt.reason, pair.posts) == ("rejected", "secret_answer_needs_credentials", [])
    await pair.close()


async def test_ds_148_nor_can_an_owner_without_one_read_it(store: Any) -> None:
    pair = Pair(store, None, MemoryCredentials())
    _, other, ask = await pair.begun()
    receipt = await other.answer(ask.id, SECRET)
    assert (receipt.status, receipt.reason) == ("rejected", "secret_answer_needs_credentials")
    assert SECRET not in await pair.kept()
    await pair.close()


async def test_ds_149_an_answer_to_a_question_nobody_finds_is_handled_as_a_secret(store: Any) -> None:
    shared = MemoryCredentials()
    pair = Pair(store, shared, shared)
    _, other, _ = await pair.begun()
    receipt = await other.answer("nowhere", SECRET)
    assert (receipt.status, receipt.reason) == ("rejected", "no_pending_interrupts")
    assert "reference" in pair.posts[0].body
    assert SECRET not in await pair.kept()
    await pair.close()


async def test_ds_150_a_reference_is_not_listed_and_goes_with_its_use_or_with_the_question(store: Any) -> None:
    shared, listed = MemoryCredentials(), []
    await shared.save(Credential("calendar", "oauth", "ann", None, "token-1"))
    pair = Pair(store, shared, shared)

    @define_tool(durable=True)
    async def login(ctx: ToolContext) -> str:
        await ctx.step.ask("password", "Your password?", secret=True)
        await shared.save(Credential("harness:answer:later", "secret_answer", "ann", None, SECRET))
        credentials = ctx.context.run.credentials
        listed.extend(await credentials.list())
        assert await credentials.read("harness:answer:later") is None
        assert (await credentials.read("calendar")).value == "token-1"
        await shared.delete("harness:answer:later", "ann")
        return "in"

    turns = [{"tool_calls": [{"name": "login", "id": "c1"}]}, "Done."]
    made = define_harness("acme/assistant", ScriptedProvider(turns), tools=[login])
    await (await pair.first.open(made, "t", user="ann")).send("Log in", input_id="a")
    other = await pair.second.open(made, "t", user="ann")
    ask = await asked(other)
    assert (await other.answer(ask.id, SECRET)).status == "accepted"
    assert await shared.list("ann", "secret_answer") == [], "it was read"
    assert (await other.answer(ask.id, SECRET)).reason == "no_pending_interrupts"
    await other.settled("a")
    assert await shared.list("ann", "secret_answer") == [], "the question had ended"
    assert [(one.id, one.value) for one in listed] == [("calendar", "")]
    await pair.close()


async def test_ds_216_a_reference_says_what_it_is_whose_and_until_when(store: Any) -> None:
    class Watched(MemoryCredentials):
        saved: list[Credential] = []

        async def save(self, credential: Credential) -> None:
            self.saved.append(credential)
            await super().save(credential)

    shared = Watched()
    pair = Pair(store, shared, shared)
    _, other, ask = await pair.begun(user="bob")
    before = SYSTEM_CLOCK.now()
    await other.answer(ask.id, SECRET)
    (saved,) = shared.saved
    assert (saved.type, saved.user, saved.value, saved.id.startswith("harness:answer:")) == ("secret_answer", "bob", SECRET, True)
    assert later(before, 86_400_000) <= saved.expires_at <= later(SYSTEM_CLOCK.now(), 86_400_000)
    assert SECRET not in repr(saved)
    await other.settled("a")
    await pair.close()


async def test_a_secret_is_asked_for_again_once_the_process_that_had_it_is_gone(store: Any) -> None:
    seen: list[Any] = []

    @define_tool(durable=True)
    async def login(ctx: ToolContext) -> str:
        seen.append(await ctx.step.ask("password", "Your password?", secret=True, schema={"minLength": 3}))
        if len(seen) == 1:
            await ctx.signal.wait()
            raise RuntimeError("cut")
        return "in"

    turns = [{"tool_calls": [{"name": "login", "id": "c1"}]}, "Done."]
    made = define_harness("acme/assistant", ScriptedProvider(turns), tools=[login])
    first = create_harness_host({"log": store})
    one = await first.open(made, "t")
    await one.send("Log in", input_id="a")
    ask = await asked(one)
    assert (await one.answer(ask.id, "ab")).reason == "invalid_answer"
    await one.answer(ask.id, SECRET)
    async with asyncio.timeout(20):
        while not seen:
            await asyncio.sleep(0.001)
    await first.close(recoverable=True)
    second = create_harness_host({"log": store})
    again = await second.open(made, "t")
    new = await asked(again)
    assert new.id != ask.id
    await again.answer(new.id, "another-one")
    assert (await again.settled("a")).outcome == "completed"
    assert seen == [SECRET, "another-one"]
    await second.close()


async def test_a_secret_left_for_an_owner_that_is_gone_reaches_the_call_at_the_next(store: Any) -> None:
    shared = MemoryCredentials()
    pair = Pair(store, shared, shared)
    _, other, ask = await pair.begun()
    await pair.first.close(recoverable=True)
    assert (await other.answer(ask.id, SECRET)).status == "accepted"
    assert (await other.settled("a")).outcome == "completed"
    assert pair.seen == [SECRET]
    assert SECRET not in await pair.kept()
    await pair.second.close()


# Stores


class Fake(KeyringBackend):
    """A keyring in memory."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


@pytest.fixture
def keyring_of_the_test() -> Any:
    import keyring

    before, fake = keyring.get_keyring(), Fake()
    keyring.set_keyring(fake)
    yield fake
    keyring.set_keyring(before)


@pytest.fixture(params=["memory", "keyring", "postgres"])
def credentials(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "memory":
        return lambda kept=MemoryCredentials(): kept
    if request.param == "postgres":
        return lambda: PostgresStore(pg_server.place_url(tmp_path)).credentials
    request.getfixturevalue("keyring_of_the_test")
    return KeyringCredentials  # another one sees the same


async def test_a_credential_store_keeps_each_for_its_user(credentials: Any) -> None:
    mine, theirs = Credential("k", "key", "ann", None, "1"), Credential("k", "key", "bob", None, "2")
    for one in (mine, theirs, Credential("a", "oauth", "ann", "2030-01-01T00:00:00.000Z", "3"), Credential("n", "key", None, None, "4")):
        await credentials().save(one)
    again = credentials()
    assert (await again.read("k", "ann"), await again.read("k", "bob"), await again.read("k", None)) == (mine, theirs, None)
    assert [(one.id, one.value) for one in await again.list("ann")] == [("a", ""), ("k", "")]
    assert [one.id for one in await again.list("ann", "key")] == ["k"]
    assert [one.id for one in await again.list(None)] == ["n"]
    assert await again.take("k", "ann") == mine
    assert (await again.take("k", "ann"), await again.list("ann", "key")) == (None, [])
    await again.delete("k", "bob")
    await again.delete("k", "bob")
    assert await again.read("k", "bob") is None


async def test_what_a_keyring_says_when_it_fails_is_not_told(keyring_of_the_test: Any, caplog: Any) -> None:
    store = KeyringCredentials()

    def fail(*_: Any) -> None:
        raise RuntimeError(f"could not write {SECRET}")

    keyring_of_the_test.set_password = fail
    with caplog.at_level(logging.DEBUG), pytest.raises(Exception, match="could not be asked") as raised:
        await store.save(Credential("k", "key", "ann", None, SECRET))
    assert SECRET not in str(raised.value) + caplog.text
    assert raised.value.__cause__ is None


def test_without_a_keyring_there_is_no_such_store() -> None:
    with pytest.raises(ConfigurationError, match="no keyring"):
        KeyringCredentials()
