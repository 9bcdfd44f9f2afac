"""The pages of evals and of two sessions, in a real Chromium: what a person sees, finds and reads there."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from lousho_cli.core.trajectory import Step, StepCall, Trajectory
from lousho_cli.evals.drift import drift_rows, first_parting
from lousho_cli.evals.eval_results import Assertion, CaseResult, EvalUsage, eval_run
from lousho_cli.evals.report import report_page
from lousho_cli.pages.comparison import side_by_side
from lousho_cli.pages.document import page as document

pytestmark = pytest.mark.asyncio(loop_scope="session")

HOSTILE = (
    "</script><script>window.owned = 1</script><img src='http://127.0.0.1:9/x' onerror='window.owned = 2'>"
    "<!-- <b>bold</b> \u202egnp.exe\u202c \x1b[31mred\x1b[0m \x00 {{7*7}} &lt;"
)


def steps(city: str = "Lisbon", *, before: int = 0, answer: str = "Take the coast.") -> tuple[Step, ...]:
    look_up = [Step("", (StepCall(f"l{n}", "look_up", json.dumps({"n": n}), '{"ok":true}'),)) for n in range(before)]
    weather = Step("Let me look.", (StepCall("c1", "weather", json.dumps({"city": city, "days": 3}), '{"forecast":"sun"}'),))
    return (*look_up, weather, Step(answer, ()))


def case(name: str, result: Any = "passed", made: tuple[Step, ...] = (), **more: Any) -> CaseResult:
    given = {
        "assertions": (Assertion(name="completed", passed=result == "passed", score=float(result == "passed")),),
        "duration_s": 0.5,
    } | more
    usage = EvalUsage(input_tokens=100, output_tokens=20, total_tokens=120, model_calls=2, cost_usd=0.0042)
    return CaseResult(eval="trip", case=name, result=result, usage=usage, trajectory=Trajectory(made or steps(), "stop", 120), **given)


def run_of(*cases: CaseResult, selected: int | None = None) -> str:
    found = eval_run(
        cases, selected=len(cases) if selected is None else selected, duration_s=1.5, mode="drift", at="2026-01-02T03:04:05.000Z"
    )
    return report_page(found)


def drifted(name: str, before: int = 0) -> CaseResult:
    committed, now = (Trajectory(steps(city, before=before), "stop", 120) for city in ("Lisbon", "Porto"))
    rows = drift_rows(committed, now)
    return case(name, made=now.steps, committed=committed, drift=rows, parting=first_parting(committed, now))


async def test_the_cases_their_plots_and_what_they_cost_are_there(look: Any) -> None:
    seen = await look(run_of(case("sunny"), case("rainy", "failed"), case("broken", "error", assertions=(), error="no such tool")))
    assert await seen.texts("h1") == ["2 of 3 cases failed"]
    assert await seen.texts("figcaption b") == ["Time", "Score", "Tokens", "Cost"]
    assert [await seen.page.locator(f"figure:nth-of-type({n}) rect.passed").count() for n in (1, 2, 3, 4)] == [1, 1, 1, 1]
    assert await seen.page.locator("figure:first-of-type rect.failed").count() == 1
    rows = await seen.texts("details.case > summary")
    assert await seen.texts("summary .name > bdi") == ["trip › sunny", "trip › rainy", "trip › broken"]
    assert await seen.texts("summary > .badge") == ["✓\npassed", "✗\nfailed", "⚠\nnot run"]
    assert "100 %" in rows[0] and "500 ms" in rows[0] and "$0.0042" in rows[0]
    assert "no such tool" in rows[2]
    assert "360 tokens" in (await seen.texts("header"))[0]


async def test_the_filter_box_and_the_results_leave_cases_out(look: Any) -> None:
    seen = await look(run_of(case("sunny", tags=("smoke",)), case("rainy", "failed"), drifted("moved")))
    shown = "details.case:not([hidden]) .name"
    await seen.page.get_by_role("searchbox").fill("smoke")
    assert await seen.texts(shown) == ["trip › sunny smoke"]
    assert await seen.texts(".count") == ["1 of 3 cases"]
    assert await seen.page.locator("figure:first-of-type rect.out").count() == 2
    await seen.page.get_by_role("searchbox").fill("no such case")
    assert await seen.texts(".none:not([hidden])") == ["No case fits the filter."]
    await seen.page.get_by_role("searchbox").fill("")
    await seen.page.get_by_role("button", name="failed 1").click()
    assert [text.split("\n")[0] for text in await seen.texts(shown)] == ["trip › rainy"]
    await seen.page.get_by_role("button", name="failed 1").click()
    await seen.page.get_by_role("button", name="drifted 1").click()
    assert [text.split(" drifted")[0] for text in await seen.texts(shown)] == ["trip › moved"]


async def test_a_drifted_case_shows_both_sides_with_the_first_difference_in_view(look: Any) -> None:
    seen = await look(run_of(*(case(f"c{n}") for n in range(8)), drifted("moved", before=12)), height=600)
    await seen.open(seen.page.locator("details.case").nth(8).locator("summary"))
    assert await seen.texts("details[open] .sides > *:first-child") == ["committed"]
    assert await seen.texts(".fold") == ["… 11 equal steps"]
    first = seen.page.locator(".row.first")
    assert await first.locator(".line.removed").all_inner_texts() == ['  "city": "Lisbon",']
    assert await first.locator(".line.added").all_inner_texts() == ['  "city": "Porto",']
    place = "document.querySelector('.row.first .line.added').getBoundingClientRect()"
    await seen.page.wait_for_function(f"() => {place}.top > 0 && {place}.bottom < innerHeight")
    assert "step 13, weather, args, city" in (await seen.texts("details[open] .changes"))[0]
    await seen.page.locator(".fold button").click()
    assert await seen.page.locator("details[open] .row").count() == 14


async def test_keys_go_to_the_filter_and_from_case_to_case(look: Any) -> None:
    seen = await look(run_of(case("one"), case("two"), case("three")))
    at = "document.activeElement.closest('.case')?.id"
    for key, wanted in (("j", "case-1"), ("j", "case-2"), ("k", "case-1")):
        await seen.page.keyboard.press(key)
        assert await seen.page.evaluate(at) == wanted
    await seen.page.keyboard.press("Enter")
    assert await seen.page.locator("#case-1[open]").count() == 1
    await seen.page.keyboard.press("/")
    await seen.page.keyboard.type("two")
    assert await seen.texts(".count") == ["1 of 3 cases"]
    await seen.page.keyboard.press("Escape")
    assert await seen.texts(".count") == ["3 cases"]
    await seen.page.locator("figure svg").first.focus()
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        await seen.page.keyboard.press(key)
    assert await seen.page.locator("#case-2[open]").count() == 1


async def test_what_a_model_or_a_tool_said_stands_there_as_text(look: Any) -> None:
    made = (Step(HOSTILE, (StepCall("c", HOSTILE, json.dumps({HOSTILE: HOSTILE}), HOSTILE),)),)
    bad = case(HOSTILE, "failed", made, error=HOSTILE, hint=HOSTILE, tags=(HOSTILE,), file=HOSTILE, reply=HOSTILE,
               assertions=(Assertion(name=HOSTILE, passed=False, score=0, detail=HOSTILE),))  # fmt: skip
    seen = await look(run_of(bad))
    await seen.open(seen.page.locator("summary"))
    assert await seen.page.evaluate("window.owned") is None
    assert await seen.page.locator("img, b >> text=bold, iframe, svg script").count() == 0
    assert await seen.page.locator("script").count() == 2
    said = (await seen.texts(".row .prose"))[0]
    assert said.startswith("</script><script>window.owned = 1</script><img src=")
    assert "\\u202egnp.exe\\u202c \\x1b[31mred\\x1b[0m \\x00 {{7*7}} &lt;" in said
    assert not set("\u202e\x1b\x00") & set(await seen.page.evaluate("document.documentElement.innerText"))


async def test_the_policy_runs_no_other_script_even_where_markup_got_in(look: Any) -> None:
    seen = await look(run_of(case("one")))
    await seen.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x:y onerror=\"window.owned = 1\">')")
    await seen.page.evaluate("document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.owned = 1' }))")
    assert await seen.page.evaluate("window.owned") is None
    assert any("Content Security Policy" in fault for fault in seen.faults)
    seen.faults.clear()
    seen.asked.clear()


def diff_page(a: tuple[Step, ...], b: tuple[Step, ...], names: tuple[str, str] = ("trip", "trip.fork-1")) -> str:
    used = {
        "total_tokens": 12,
        "input_tokens": 10,
        "output_tokens": 2,
        "model_calls": 2,
        "cost_usd": None,
        "steps": [{"step": 1, "tokens": 12}],
    }
    data = {
        "names": names, "diverged_at": 13, "mode": None, "matches": False, "compared": side_by_side(a, b), "drift": [], "more": 0,
        "changes": [{"kind": "changed", "text": "step 13, weather"}], "usage": {"a": used, "b": used},
    }  # fmt: skip
    return document("diff", "trip and trip.fork-1", data)


async def test_two_sessions_stand_side_by_side_with_the_first_difference_in_view(look: Any) -> None:
    seen = await look(diff_page(steps(before=12), steps("Porto", before=12, answer="Take the bridge.")), height=500)
    assert await seen.texts("h1") == ["trip and trip.fork-1 part at step 13"]
    place = await seen.page.locator(".row.first .line.added").bounding_box()
    assert place is not None and 0 < place["y"] < 500
    assert await seen.page.locator(".row.differs").count() == 2
    await seen.page.get_by_role("button", name="only differences 2").click()
    assert await seen.page.locator(".row:not([hidden])").count() == 2
    await seen.page.get_by_role("searchbox").fill("bridge")
    assert await seen.texts(".count") == ["1 of 14 steps"]
    await seen.page.keyboard.press("Escape")


async def test_a_huge_result_is_cut_around_its_difference_until_it_is_asked_for(look: Any) -> None:
    one, other = ("\n".join(["same"] * 3000 + [word] + ["same"] * 3000) for word in ("sun", "rain"))
    call = StepCall("c", "read", "{}", json.dumps("x" * 30_000))
    a, b = ((Step("", (msgspec.structs.replace(call, result=text),)),) for text in (one, other))
    seen = await look(diff_page(a, b))
    assert await seen.texts(".line.removed") == ["sun"]
    assert await seen.texts(".side:first-child .more") == ["… 2 997 equal lines", "… 2 997 equal lines"]
    assert await seen.page.locator(".line").count() < 50
    long = await look(diff_page((Step("", (call,)),), (Step("", (msgspec.structs.replace(call, result=call.result[:-2] + 'y"'),)),)))
    assert len((await long.texts(".line.removed"))[0]) < 1500
    await long.page.locator(".side:first-child .more").click()
    assert len((await long.texts(".line.removed"))[0]) == 30_002


async def test_the_page_is_dark_where_the_person_wants_it_and_light_on_paper(look: Any) -> None:
    seen = await look(run_of(case("one"), case("two", "failed")), scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert await seen.page.evaluate(ground) == "rgb(21, 23, 26)"
    await seen.page.get_by_role("button", name="Light").click()
    assert await seen.page.evaluate(ground) == "rgb(251, 250, 248)"
    await seen.page.get_by_role("button", name="Dark").click()
    await seen.page.emulate_media(media="print")
    await seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert await seen.page.evaluate(ground) == "rgb(255, 255, 255)"
    assert await seen.page.locator(".bar").is_hidden()
    assert await seen.page.locator("#case-2 .body").is_visible()


async def test_hundreds_of_cases_are_there_at_once_and_a_cut_run_says_so(look: Any) -> None:
    seen = await look(run_of(*(case(f"c{n}") for n in range(400)), selected=1003))
    assert await seen.texts(".notice") == ["This run was cut: 400 of 1 003 cases were run."]
    assert await seen.page.locator("details.case").count() == 400
    await seen.page.get_by_role("searchbox").fill("c377")
    assert await seen.texts(".count") == ["1 of 400 cases"]
