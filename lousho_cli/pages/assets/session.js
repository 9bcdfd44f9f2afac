// The page of one session.

const WHO = { system: "System", user: "User", assistant: "Assistant", tool: "Result of no call" };
const TONES = { finished: "good", "awaiting-approval": "warn", "in-progress": "now" };

/** A time as it is read, in UTC; the day is left out where it is that of the session's begin. */
function moment(at) {
  if (!at) return "";
  const [day, time] = at.split("T");
  const clock = (time || "").slice(0, 8);
  return data.begun && data.begun.startsWith(day) ? clock : `${day} ${clock}`;
}

const MOST_SHOWN = 6000;

/** A text in one piece: its beginning, and the rest once it is asked for. */
function block(text) {
  let end = text.length, lines = 0;
  for (let at = -1; (at = text.indexOf("\n", at + 1)) >= 0; ) if (++lines === MOST_LINES) end = at;
  if (lines < MOST_LINES + 4) end = text.length;
  if (end > MOST_SHOWN + 500) end = MOST_SHOWN - (/[\ud800-\udbff]/.test(text[MOST_SHOWN - 1]) ? 1 : 0);
  const node = el("pre.text", {}, text.slice(0, end));
  if (end === text.length) return node;
  const rest = text.slice(end), more = rest.split("\n").length - 1;
  const button = el("button.more", { type: "button", click: () => button.replaceWith(...said(rest)) }, more > 1 ? `… ${plural(more, "more line")}` : `… ${plural(rest.length, "more character")}`);
  return put(node, button);
}

const anchor = (place) => `said-${place + 1}`;

/** The text of a JSON text that is nothing but a string; any other text as it is. */
function unquoted(text) {
  if (text[0] !== '"') return text;
  try { return JSON.parse(text); } catch { return text; }
}

/** JSON in as few lines as are easy to read. */
const readable = (text) => (text.length <= 72 ? text : spread(text));

/** A call: the tool, its arguments, what came of it, and the sub-agent that it started. */
function toolCall(call) {
  const open = call.result === null;
  const beside = [call.failed && "failed", open && (data.waits ? "waits" : "not answered"), call.given, moment(call.ended)].filter(Boolean).join(" · ");
  return el(`div.call${call.failed ? ".failed" : ""}${open ? ".open" : ""}`, {},
    el("div.tool", { title: call.id }, el("bdi", {}, call.name), el("small", {}, beside)),
    call.args !== "{}" && el("div.part", {}, el("b", {}, "arguments"), block(readable(call.args))),
    el("div.part", {}, el("b", {}, open ? "no result" : call.failed ? "error" : "result"), !open && block(readable(unquoted(call.result)))),
    call.subagent !== undefined && inner(data.subagents[call.subagent]));
}

function inner(agent) {
  const state = agent.outcome || agent.status;
  const fold = el("details.inner", {}, el("summary", {}, "Sub-agent ", el("b", {}, el("bdi", {}, agent.path.at(-1))),
    ` · ${plural(agent.steps, "step")} · ${plural(agent.tokens, "token")} · `, el("span", { class: state === "failed" ? "bad" : "" }, state)));
  const fill = () => fold.querySelector(".entries") || fold.append(el("div.entries", {}, agent.error && el("p.bad", {}, agent.error), agent.said.map((entry) => entryOf(entry))));
  fold.addEventListener("toggle", fill, { once: true });
  fold.fill = fill;
  return fold;
}

/** What a step used, in words; nothing where nobody knows. */
function used(step) {
  if (step.estimated && !step.total_tokens) return null;
  const tokens = `${step.estimated ? "~" : ""}${grouped(step.input_tokens)} in, ${grouped(step.output_tokens)} out`;
  return step.cost_usd === null ? tokens : `${tokens} · ${dollars(step.cost_usd)}`;
}

/** One message, calls and their results with it. */
function entryOf(entry, place) {
  const step = entry.used;
  if (entry.role === "system") {
    const fold = el("details.system", {}, el("summary", {}, "System: ", el("bdi", {}, entry.text.slice(0, 160))), el("div.prose", {}, block(entry.text)));
    return el("article.entry.system", place === undefined ? {} : { id: anchor(place) }, fold);
  }
  const name = entry.subagent !== undefined ? "Of a call that is gone" : entry.role === "tool" && entry.of ? ["Result of ", el("bdi", {}, entry.of)] : WHO[entry.role];
  return el(`article.entry.${entry.role}`, place === undefined ? {} : { id: anchor(place) },
    el("div.who", {}, el("b", {}, name),
      step && el("span", {}, `${manyRuns ? `run ${step.run}, ` : ""}step ${step.step}`),
      step && step.model && el("bdi", {}, step.model),
      entry.at && el("time", { datetime: entry.at, title: entry.at }, moment(entry.at)),
      entry.copied && el("span.pill", { title: "It was there when this log began." }, "from before"),
      entry.cut && el("span.pill", {}, "cut off"),
      step && el("span.used", {}, used(step))),
    entry.reasoning.length > 0 && el("details.thought", {}, el("summary", {}, "Reasoning"), el("div.prose", {}, entry.reasoning.map((text) => block(text)))),
    entry.text && el("div.prose", {}, block(entry.text)),
    entry.calls.map(toolCall),
    entry.subagent !== undefined && inner(data.subagents[entry.subagent]));
}

/** The kept checkpoints as a line of dots, oldest first. */
function rail() {
  if (!data.ring.length) return el("p.quiet", {}, "No checkpoint is kept.");
  return el("ol", {}, data.ring.map((mark) => {
    const tone = mark.status === "in-progress" ? "" : `.${TONES[mark.status]}`;
    const told = mark.status === "awaiting-approval" ? "waits for a person" : mark.status === "finished" ? `finished: ${mark.finish_reason}` : "";
    const name = mark.place === null ? "span.mark" : "a.mark";
    return el("li", {}, el(`i.dot${tone}`),
      el(name, { href: mark.place === null ? null : `#${anchor(mark.place)}`, title: `${data.session}@${mark.address} · batch ${mark.seq} · ${grouped(mark.bytes)} bytes`, "data-place": mark.place },
        el("span.when", {}, moment(mark.at)), el("b", {}, `@${mark.address}`),
        el("small", {}, [mark.added.join(", "), told].filter(Boolean).join(" · "))));
  }));
}

/** The family as a tree; this session stands out. */
function tree() {
  const under = new Map();
  for (const member of data.family) under.set(member.parent || "", [...(under.get(member.parent || "") || []), member]);
  const known = new Set(data.family.map((member) => member.id));
  const one = (member, seen) => {
    const state = member.gone ? "gone" : member.outcome || member.status || "in-progress";
    const forks = (under.get(member.id) || []).filter((fork) => !seen.has(fork.id));
    return el("li", {},
      el(member.id === data.session ? "div.member.this" : "div.member", {}, el("bdi", {}, member.id),
        el("small", {}, [member.left_at !== undefined && `from step ${member.left_at}`, state].filter(Boolean).join(" · "))),
      forks.length > 0 && el("ul", {}, forks.map((fork) => one(fork, new Set([...seen, fork.id])))));
  };
  const first = data.family.filter((member) => !member.parent || !known.has(member.parent));
  return el("ul.family", {}, (first.length ? first : data.family.slice(0, 1)).map((member) => one(member, new Set([member.id]))));
}

const MOST_BARS = 240;

/** Tokens and cost, a bar a step, or where there are a great many a bar for some; a bar leads to what was said in it. */
function usagePlots() {
  const size = Math.ceil(data.steps.length / MOST_BARS);
  const groups = Array.from({ length: Math.ceil(data.steps.length / size) }, (_, n) => data.steps.slice(n * size, (n + 1) * size));
  const places = new Map();
  data.said.forEach((entry, place) => { if (entry.used) places.set(`${entry.used.run}/${entry.used.step}`, place); });
  const picked = (at) => {
    const place = places.get(`${groups[at][0].run}/${groups[at][0].step}`);
    if (place !== undefined) location.hash = anchor(place);
  };
  const name = (step) => `${manyRuns ? `run ${step.run}, ` : ""}step ${step.step}`;
  const label = (group) => (group.length > 1 ? `${name(group[0])} to ${name(group.at(-1))}` : name(group[0]));
  const sum = (values) => (values.includes(null) ? null : values.reduce((one, other) => one + other, 0));
  const rest = size > 1 ? `a bar is ${size} steps` : data.steps.length > 1 ? "a bar a step" : "";
  const plot = (title, all, value, format, tone) => barPlot({
    title, sum: all, format, picked, rest,
    values: groups.map((group) => ({ value: sum(group.map(value)), label: label(group), tone })),
  }).figure;
  const total = data.totals;
  return [
    plot("Input tokens", short(total.input_tokens), (step) => step.input_tokens, short, "a"),
    plot("Output tokens", short(total.output_tokens), (step) => step.output_tokens, short, "b"),
    data.steps.some((step) => step.cost_usd !== null) && plot("Cost", total.cost_usd === null ? "not known of all" : dollars(total.cost_usd), (step) => step.cost_usd, dollars, "passed"),
  ].filter(Boolean);
}

/** All that can be found by a search in an entry, its sub-agents included, in small letters. */
function words(entry) {
  const within = (one) => (one.subagent === undefined ? [] : data.subagents[one.subagent].said.map(words));
  const calls = entry.calls.flatMap((call) => [call.name, call.args, call.result || "", ...within(call)]);
  return [entry.role, entry.text, ...entry.reasoning, ...calls, ...within(entry)].join("\n").toLowerCase();
}

const manyRuns = new Set(data.steps.map((step) => step.run)).size > 1;

function sessionPage() {
  const state = data.outcome || data.status;
  const tone = { completed: "good", finished: "good", failed: "bad", aborted: "bad", "awaiting-approval": "warn" }[data.status === "awaiting-approval" ? data.status : state] || "";
  const total = data.totals;
  const fact = (name, value) => el("span", {}, `${name} `, el("b", {}, value));
  const models = Object.keys(data.models).filter(Boolean);
  const entries = data.said.map((entry, place) => entryOf(entry, place));
  const texts = data.said.map(words);
  if (entries.length > 400) whole.classList.add("long");

  put(whole,
    el("header", {},
      el("div", {},
        el("h1", {}, el("bdi", {}, data.name), " ", el(`span.badge${tone ? `.${tone}` : ""}`, {}, data.status === "awaiting-approval" ? "waits for a person" : state)),
        el("div.facts", {},
          data.agent && fact("agent", el("bdi", {}, data.agent)),
          models.length > 0 && fact(models.length > 1 ? "models" : "model", el("bdi", {}, models.join(", "))),
          fact("steps", grouped(data.steps.length)),
          total.total_tokens > 0 && fact("tokens", `${total.estimated ? "~" : ""}${grouped(total.total_tokens)}`),
          total.total_tokens > 0 && fact("cost", total.cost_usd === null ? "not known" : dollars(total.cost_usd)),
          data.begun && fact("begun", `${data.begun.replace("T", " ").slice(0, 19)} UTC`),
          data.origin && fact("imported from", [el("bdi", {}, data.origin.kind), ", ", el("bdi", {}, data.origin.file)]),
          data.parent && fact(data.parent_step === null ? "started by" : "forked from", [el("bdi", {}, data.parent), data.parent_step === null ? "" : ` at step ${data.parent_step}`]))),
      themeButton()),
    data.error && el("p.notice.bad", {}, data.error),
    data.waits && el("p.notice.warn", {}, "It waits for a person: ", el("code", {}, data.waits.tool), " with ", el("code", {}, data.waits.args), ". Decide it with ", el("code", {}, `lousho approve ${data.waits.id.slice(0, 8)}`), "."),
    data.damage.map((text) => el("p.notice.bad", {}, text)),
    data.redacted && el("p.notice", {}, "Texts were taken out of this copy."),
    total.total_tokens > 0 && el("div.plots", {}, usagePlots()));

  const search = searchField("Find in what was said", show);
  const people = toggle("only people and answers", false, show);
  const count = el("span.count", { role: "status" });
  const nothing = el("p.none", { hidden: true }, "Nothing that was said fits.");
  function show() {
    let shown = 0;
    data.said.forEach((entry, place) => {
      const fits = holds(texts[place], search.value.trim()) && (!isOn(people) || entry.role === "user" || (entry.role === "assistant" && entry.text !== ""));
      entries[place].hidden = !fits;
      shown += fits;
    });
    entries.forEach((node) => node.querySelectorAll(":scope > .call").forEach((call) => { call.hidden = isOn(people); }));
    nothing.hidden = shown > 0;
    count.textContent = shown === entries.length ? plural(shown, "message") : `${shown} of ${plural(entries.length, "message")}`;
  }
  const kept = data.ring.length === 1 ? "1 kept" : `${data.ring.length} kept`;
  put(whole,
    el("div.session", {},
      el("aside.rail", {},
        data.family.length > 0 && el("section.forks", { "aria-label": "Family of forks" }, el("h2", {}, "Family", el("small", {}, plural(data.family.length, "session"))), tree()),
        el("section.ring", { "aria-label": "Checkpoints" }, el("h2", {}, "Ring", el("small", { title: `It keeps the newest ${data.limit}.` }, kept)), rail())),
      el("div.talk", {},
        el("div.bar", {}, search, people, count),
        entries, nothing,
        data.state !== null && el("section.state", {}, el("h2", {}, "Business state"), block(spread(data.state))),
        el("footer", {}, el("kbd", {}, "/"), " find · ", el("kbd", {}, "n"), " ", el("kbd", {}, "p"), " next, previous message"))));
  show();
  follow(entries);
  keys({ "/": () => search.focus(), n: () => move(".talk > .entry", 1), p: () => move(".talk > .entry", -1) });
  addEventListener("beforeprint", unfold);
}

/** Marks the checkpoint that the reader has come to. */
function follow(entries) {
  const marks = [...document.querySelectorAll(".mark[data-place]")];
  if (!marks.length) return;
  const seen = new Set(), places = new Map(entries.map((node, place) => [node, place]));
  const watcher = new IntersectionObserver((changes) => {
    for (const change of changes) {
      const place = places.get(change.target);
      if (change.isIntersecting) seen.add(place);
      else seen.delete(place);
    }
    const first = Math.min(...seen);
    const here = marks.find((mark) => Number(mark.dataset.place) >= first);
    marks.forEach((mark) => mark.classList.toggle("here", mark === here));
  }, { rootMargin: "-80px 0px -40% 0px" });
  entries.forEach((entry) => watcher.observe(entry));
}

/** On paper nothing can be opened: all of it is there. */
function unfold() {
  for (let empty; (empty = document.querySelectorAll("details.inner:not(:has(> .entries))")).length; ) empty.forEach((fold) => fold.fill());
  document.querySelectorAll("details").forEach((fold) => { fold.open = true; });
  document.querySelectorAll("button.more").forEach((more) => more.click());
}

sessionPage();
if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
