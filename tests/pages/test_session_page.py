"""The page of one session, in a real Chromium: what was said, its ring, what it used, its family."""

from __future__ import annotations

from typing import Any

import pytest
from eventful_session import HOSTILE, at, calls, eventful

from lousho_cli.app.exporting import export
from lousho_cli.core.fold import fold
from lousho_cli.core.states import state_from
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import PendingApproval
from lousho_cli.domain.messages import Message, user
from lousho_cli.domain.usage import CallUsage
from lousho_cli.ports.log_store import LogStore
from lousho_cli.stores.memory import MemoryStore

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def store_of(**sessions: Any) -> LogStore:
    store = MemoryStore()
    for name, batches in sessions.items():
        claim = await store.claim(name, "here")
        await store.append(claim, batches)
        await store.release(claim)
    return store


async def page_of(store: LogStore, name: str) -> str:
    return (await export(store, name, "html"))[1].decode()


async def test_what_was_said_stands_there_with_its_calls_and_what_they_gave(look: Any) -> None:
    seen = await look(await page_of(await store_of(shop=eventful()), "shop"))
    assert await seen.texts("h1") == ["shop completed"]
    facts = (await seen.texts(".facts"))[0]
    assert all(word in facts for word in ("agent shop", "model big", "steps 4", "cost not known"))
    assert await seen.texts(".talk > .entry > .who > b") == ["User", "Assistant", "Assistant", "Assistant", "User", "Assistant"]
    assert await seen.texts(".talk > .entry > .call > .tool > bdi") == ["stock", "stock", "scout"]
    first = seen.page.locator("#said-3")
    assert "run 1, step 1" in await first.inner_text()
    assert "100 in, 20 out · $0.010" in await first.inner_text()
    assert await first.locator(".call.failed .tool small").all_inner_texts() == ["failed · 03:03:00"]
    assert await first.locator(".part > b").all_inner_texts() == ["arguments", "result", "arguments", "error"]
    assert "The stock is low." in await first.locator(".call").first.inner_text()
    assert not await seen.page.locator("#said-1 .prose").is_visible()
    assert "Business state" in await seen.texts("h2")


async def test_a_sub_agent_opens_in_the_call_that_started_it_and_so_does_its_own(look: Any) -> None:
    seen = await look(await page_of(await store_of(shop=eventful()), "shop"))
    outer = seen.page.locator("#said-4 > .call > details.inner")
    assert "Sub-agent scout · 2 steps · 142 tokens · completed" in await outer.inner_text()
    await seen.open(outer.locator("> summary"))
    assert await outer.locator("> .entries > .entry > .who > b").all_inner_texts() == ["User", "Assistant", "Assistant"]
    await seen.open(outer.locator("details.inner > summary"))
    assert await outer.locator("details.inner .entry.assistant .prose").all_inner_texts() == ["The stock is low."]


async def test_a_sub_agent_whose_call_is_gone_is_there_and_numbers_without_end_are_not_known(look: Any) -> None:
    dear = [r.Turn(Message("assistant", "Dear."), "stop", "big", CallUsage(1, 1, cost_usd=1e308)) for _ in range(2)]
    begun = [r.Created("shop"), r.RunStarted("i")]
    gone = [*([*batch.records] for batch in eventful()), [r.Splice(1, (user("Anew."),))]]
    seen = await look(await page_of(await store_of(shop=at(gone)), "shop"))
    assert await seen.texts(".talk > .entry > .who > b") == ["User", "Of a call that is gone"]
    await seen.open(seen.page.locator("details.inner > summary"))
    assert "Sub-agent digger" in (await seen.texts("details.inner"))[0]
    seen = await look(await page_of(await store_of(dear=at([begun, dear])), "dear"))
    assert "cost not known" in (await seen.texts(".facts"))[0]


async def test_the_ring_leads_to_what_was_said_and_follows_the_reader(look: Any) -> None:
    seen = await look(await page_of(await store_of(shop=eventful()), "shop"), height=400)
    assert await seen.texts(".mark b") == ["@1/1.1", "@1/1.2", "@1/2.1", "@1/2.2", "@1/3.1", "@2/1.1"]
    assert "error of stock" in (await seen.texts(".mark small"))[1]
    await seen.page.emulate_media(reduced_motion="reduce")
    await seen.page.locator(".mark").nth(4).click()
    place = "document.querySelector('#said-5').getBoundingClientRect()"
    await seen.page.wait_for_function(f"() => {place}.top > 0 && {place}.top < innerHeight / 2")
    await seen.page.wait_for_function("() => document.querySelector('.mark.here b')?.innerText === '@1/3.1'")


async def test_each_step_has_its_bars_and_a_bar_leads_to_it(look: Any) -> None:
    seen = await look(await page_of(await store_of(shop=eventful()), "shop"))
    assert await seen.texts("figcaption b") == ["Input tokens", "Output tokens", "Cost"]
    assert [await seen.page.locator(f"figure:nth-of-type({n}) rect:not(.hit)").count() for n in (1, 2, 3)] == [4, 4, 4]
    assert await seen.page.locator("figure:nth-of-type(3) rect.none").count() == 1
    await seen.page.locator("figure svg").first.focus()
    for key in ("ArrowRight", "ArrowRight"):
        await seen.page.keyboard.press(key)
    assert (await seen.texts("figure:first-of-type .read"))[0] == "run 1, step 2 · 160"
    await seen.page.keyboard.press("Enter")
    assert (await seen.page.evaluate("location.hash")) == "#said-4"


async def test_the_family_is_a_tree_in_which_this_session_stands_out(look: Any) -> None:
    fork = at([[r.Forked("shop", 5, 1, state_from(fold(eventful()[:5]))), r.Mark(1)]])
    again = at([[r.Forked("shop.fork-1", 1, 1, state_from(fold(fork))), r.Mark(1)]])
    store = await store_of(**{"shop": eventful(), "shop.fork-1": fork, "shop.fork-2": fork, "shop.fork-1.fork-1": again})
    seen = await look(await page_of(store, "shop.fork-1"))
    assert await seen.texts(".member bdi") == ["shop", "shop.fork-1", "shop.fork-1.fork-1", "shop.fork-2"]
    assert await seen.texts(".member.this bdi") == ["shop.fork-1"]
    assert await seen.texts(".family .family, .family ul ul .member bdi") == ["shop.fork-1.fork-1"]
    assert "from step 1 · in-progress" in await seen.texts(".member small")
    assert "forked from shop at step 1" in (await seen.texts(".facts"))[0]
    assert await seen.page.locator(".pill").count() == 2


async def test_words_are_found_and_only_people_and_answers_can_be_shown(look: Any) -> None:
    seen = await look(await page_of(await store_of(shop=eventful()), "shop"))
    await seen.page.keyboard.press("/")
    await seen.page.keyboard.type("dig")
    assert await seen.texts(".count") == ["1 of 7 messages"]
    await seen.page.get_by_role("searchbox").fill("no such word")
    assert await seen.texts("p.none:not([hidden])") == ["Nothing that was said fits."]
    await seen.page.keyboard.press("Escape")
    await seen.page.get_by_role("button", name="only people and answers").click()
    assert await seen.texts(".count") == ["5 of 7 messages"]
    assert await seen.page.locator(".talk .call:visible").count() == 0


async def test_what_anybody_said_stands_there_as_text(look: Any) -> None:
    waits = PendingApproval(HOSTILE, HOSTILE, HOSTILE, {HOSTILE: HOSTILE}, "d", "2026-01-02T03:04:05.000Z")
    batches = at(
        [
            [r.Created(HOSTILE), r.InputReceived("in-1", (user(HOSTILE),)), r.InputApplied("in-1"),
             r.RunStarted("in-1", agent_id=HOSTILE, instructions=HOSTILE)],
            [r.Turn(calls((HOSTILE, HOSTILE, HOSTILE), text=HOSTILE), "tool_calls", HOSTILE), r.Mark(1)],
            [r.ToolFinished(HOSTILE, HOSTILE), r.Mark(1)],
            [r.Turn(calls((HOSTILE, HOSTILE, HOSTILE)), "tool_calls", HOSTILE), r.WaitOpened(waits),
             r.Mark(2, "awaiting-approval", approval_id=HOSTILE)],
            [r.BusinessState({HOSTILE: HOSTILE})],
        ]
    )  # fmt: skip
    html = await page_of(await store_of(s=batches), "s")
    assert not set("\u202e\x1b") & set(html)
    seen = await look(html)
    await seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert await seen.page.evaluate("window.owned") is None
    assert await seen.page.locator("img, iframe, object, .prose a").count() == 0
    assert await seen.page.locator("script").count() == 2
    assert (await seen.texts("#said-2 .prose"))[0].startswith("</script><script>window.owned = 1</script><img src=")
    assert not set("\u202e\x1b") & set(await seen.page.evaluate("document.documentElement.innerText"))
    assert await seen.texts("h1 .badge") == ["waits for a person"]


async def test_on_paper_and_on_a_telephone_all_of_it_is_there(look: Any) -> None:
    seen = await look(await page_of(await store_of(shop=eventful("word\n" * 60)), "shop"), scheme="dark")
    assert await seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 26)"
    await seen.page.set_viewport_size({"width": 360, "height": 700})
    assert await seen.page.evaluate("document.documentElement.scrollWidth") == 360
    assert await seen.page.locator("#said-3 .more").first.is_visible()
    await seen.page.emulate_media(media="print")
    await seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert await seen.page.locator(".more").count() == 0
    assert await seen.page.locator("#said-4 details.inner details.inner .entry.assistant").is_visible()
    assert await seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


async def test_hundreds_of_messages_are_there_at_once(look: Any) -> None:
    turns = [[r.Turn(Message("assistant", f"Answer {n}."), "stop", "big", CallUsage(5, 5)), r.Mark(n)] for n in range(1, 801)]
    start = [r.Created("shop"), r.InputReceived("in-1", (user("Go"),)), r.InputApplied("in-1"), r.RunStarted("in-1")]
    long = tuple(r.Batch(n + 1, 1, "2026-01-02T03:04:05.000Z", tuple(records)) for n, records in enumerate([start, *turns]))
    seen = await look(await page_of(await store_of(long=long), "long"))
    assert await seen.texts(".count") == ["801 messages"]
    assert await seen.texts(".ring h2 small") == ["50 kept"]
    assert await seen.page.locator("figure:first-of-type rect.a").count() == 200
    assert (await seen.texts("figure:first-of-type .read"))[0] == "a bar is 4 steps"
    await seen.page.locator(".mark").last.click()
    place = "document.querySelector('#said-801').getBoundingClientRect()"
    await seen.page.wait_for_function(f"() => {place}.top > 0 && {place}.bottom <= innerHeight")


async def test_a_long_text_is_cut_until_it_is_asked_for(look: Any) -> None:
    seen = await look(await page_of(await store_of(shop=eventful("é" * 5999 + "😀" * 10_000)), "shop"))
    answer = seen.page.locator("#said-5 .prose")
    assert (await answer.inner_text()).strip() == "é" * 5999 + "\n… 20 000 more characters"
    await answer.locator(".more").click()
    assert await answer.inner_text() == "é" * 5999 + "😀" * 10_000
