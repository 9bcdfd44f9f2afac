// The page of a run of evals.

const RESULTS = {
  passed: { word: "passed", tone: "good", sign: "✓" },
  soft: { word: "passed, with misses", tone: "warn", sign: "!" },
  failed: { word: "failed", tone: "bad", sign: "✗" },
  error: { word: "not run", tone: "bad", sign: "⚠" },
  skipped: { word: "skipped", tone: "", sign: "–" },
};

const cases = data.cases.map((one, place) => {
  const missed = (one.assertions || []).some((assertion) => !assertion.passed && !assertion.skipped);
  const kind = one.result === "passed" && missed ? "soft" : one.result;
  const text = [one.eval, one.case, one.file, ...(one.tags || []), one.error, one.reply, ...(one.assertions || []).flatMap((a) => [a.name, a.detail]),
    ...(one.compared ? [...one.compared.a, ...one.compared.b] : one.trajectory?.steps || []).flatMap((step) => step.tools.map((call) => call.name))];
  return { ...one, place, kind, search: text.filter(Boolean).join("\n").toLowerCase() };
});

const costOf = (one) => one.usage.cost_usd ?? null;
const title = (one) => (one.case && one.case !== one.eval ? `${one.eval} › ${one.case}` : one.eval);

function badge(kind) {
  const { word, tone, sign } = RESULTS[kind];
  return el(`span.badge${tone && "." + tone}`, {}, el("span", { "aria-hidden": "true" }, sign), kind === "soft" ? "passed" : word);
}

function summaryOf(one) {
  const missed = (one.assertions || []).find((assertion) => !assertion.passed && !assertion.skipped);
  const why = one.error || (one.result === "skipped" && one.hint) || (missed && `${missed.name}${missed.detail ? `: ${missed.detail}` : ""}`) || (one.drift?.length ? `${plural(one.drift.length, "field")} drifted` : "");
  return el("summary", {},
    badge(one.kind),
    el("span.name", {},
      el("bdi", {}, el("span.of", {}, one.case && one.case !== one.eval ? `${one.eval} › ` : ""), one.case || one.eval), " ",
      (one.tags || []).map((tag) => [el("span.tag", {}, tag), " "]),
      one.drift?.length ? el("span.badge.warn", {}, "drifted") : null,
      why && el("small", {}, why)),
    el("span.number", {}, one.score === null || one.score === undefined ? "–" : `${Math.round(one.score * 100)} %`),
    el("span.number", {}, seconds(one.duration_s)),
    el("span.number.wide", {}, one.usage.total_tokens ? grouped(one.usage.total_tokens) : "–"),
    el("span.number.wide", {}, costOf(one) === null ? "–" : dollars(costOf(one))));
}

function assertionRow(assertion) {
  const [tone, word] = assertion.skipped ? ["", "not looked at"] : assertion.passed ? ["good", "held"] : assertion.soft ? ["warn", "missed (soft)"] : ["bad", "did not hold"];
  const score = assertion.skipped || assertion.score === (assertion.passed ? 1 : 0) ? "" : `${Math.round(assertion.score * 100)} %`;
  return [el(`span.badge${tone && "." + tone}`, {}, word), el("code", {}, assertion.name), assertion.detail || "", score];
}

const SOURCES = { model: "asked the model", replayed: "replayed", recorded: "recorded" };

function bodyOf(one) {
  const body = el("div.body");
  put(body,
    el("div.facts", {},
      one.file && el("span", {}, one.file),
      el("span", {}, SOURCES[one.source || "model"], one.cassette ? ` ${one.cassette}` : ""),
      el("span", {}, plural(one.usage.model_calls, "model call")),
      el("span", {}, `${grouped(one.usage.input_tokens)} in, ${grouped(one.usage.output_tokens)} out`, one.usage.estimated ? ", estimated" : "")),
    one.error && el("div.notice.bad", {}, el("div.prose", {}, one.error), one.hint && el("div.quiet", {}, one.hint)),
    one.drift && [el("h3", {}, "Drift"), one.drift.length ? driftTable(one.drift, ["Committed", "Now"]) : el("p.good", {}, "none")],
    one.parting?.why?.length ? el("ul.changes", {}, one.parting.why.map((line) => el("li.changed", {}, line))) : null,
    one.compared && [el("h3", {}, "Committed and now"), sideBySide(one.compared, ["committed", "now"])],
    one.assertions?.length ? [el("h3", {}, "What was looked at"), table(["", "Check", "Found", ".Score"], one.assertions.map(assertionRow))] : null);
  if (one.compared) return body;
  if (one.trajectory) put(body, el("h3", {}, "What it did"), trajectory(one.trajectory.steps));
  else if (one.reply) put(body, el("h3", {}, "Reply"), el("div.prose", {}, one.reply));
  return body;
}

function nodeOf(one) {
  const node = el("details.case", { id: `case-${one.place + 1}`, "data-result": one.result }, summaryOf(one));
  node.addEventListener("toggle", () => {
    if (!node.open) return;
    fill(one, node);
    showFirst(node);
  });
  return node;
}

function fill(one, node) {
  if (node.childElementCount === 1) node.append(bodyOf(one));
}

function open(place) {
  const node = nodes[place];
  node.hidden = false;
  fill(cases[place], node);
  node.open = true;
  node.scrollIntoView({ block: "start", behavior: "instant" });
  node.firstChild.focus({ preventScroll: true });
}

const nodes = cases.map(nodeOf);
const counts = Object.fromEntries(Object.keys(RESULTS).map((kind) => [kind, cases.filter((one) => one.kind === kind).length]));

function plots() {
  const bars = (value) => cases.map((one) => ({ value: value(one), label: title(one), tone: one.kind }));
  const sum = (value) => cases.map(value).filter((found) => found !== null).reduce((total, found) => total + found, 0);
  const scores = cases.map((one) => one.score ?? null).filter((score) => score !== null);
  const tokens = (one) => one.usage.total_tokens || null;
  const least = (word, value, format) => {
    const found = cases.filter((one) => value(one) !== null).sort((a, b) => value(a) - value(b))[0];
    return found ? `${word}: ${title(found)} · ${format(Math.abs(value(found)))}` : "";
  };
  const most = (word, value, format) => least(word, (one) => (value(one) === null ? null : -value(one)), format);
  const percent = (value) => `${Math.round(value * 100)} %`;
  const dear = cases.some((one) => costOf(one) !== null);
  return [
    barPlot({ title: "Time", sum: `${seconds(sum((one) => one.duration_s))} in all`, values: bars((one) => one.duration_s), format: seconds, rest: most("slowest", (one) => one.duration_s, seconds), picked: open }),
    barPlot({ title: "Score", sum: scores.length ? `${Math.round((scores.reduce((a, b) => a + b, 0) / scores.length) * 100)} % on average` : "", values: bars((one) => one.score ?? null), format: percent, rest: scores.some((score) => score < 1) ? least("lowest", (one) => one.score ?? null, percent) : "", top: 1, picked: open }),
    barPlot({ title: "Tokens", sum: `${grouped(sum(tokens))} in all`, values: bars(tokens), format: short, rest: most("most", tokens, grouped), picked: open }),
    barPlot({ title: "Cost", sum: dear ? `${dollars(sum(costOf))} in all` : "no price is known", values: bars(costOf), format: dollars, rest: most("dearest", costOf, dollars), picked: open }),
  ];
}

const ORDERS = {
  "as written": null,
  "result": (one) => ["error", "failed", "soft", "skipped", "passed"].indexOf(one.kind),
  "slowest first": (one) => -one.duration_s,
  "lowest score first": (one) => one.score ?? 2,
  "most tokens first": (one) => -one.usage.total_tokens,
  "dearest first": (one) => -(costOf(one) ?? -1),
};

function evalsPage() {
  const drawn = cases.length ? plots() : [];
  const search = searchField("Filter by name, tag, tool or text", show);
  const kinds = Object.keys(RESULTS).filter((kind) => counts[kind]);
  const buttons = Object.fromEntries(kinds.map((kind) => [kind, toggle(`${RESULTS[kind].word} ${counts[kind]}`, false, show)]));
  const drifted = cases.filter((one) => one.drift?.length).length;
  const driftOnly = drifted ? toggle(`drifted ${drifted}`, false, show) : null;
  const order = el("select", { change: sort }, Object.keys(ORDERS).map((name) => el("option", {}, name)));
  const count = el("span.count", { role: "status" });
  const list = el("div.cases", {}, nodes);
  const nothing = el("p.none", { hidden: true }, "No case fits the filter.");

  function show() {
    const chosen = kinds.filter((kind) => isOn(buttons[kind]));
    const fits = (one) => (!chosen.length || chosen.includes(one.kind)) && (!driftOnly || !isOn(driftOnly) || one.drift?.length > 0) && holds(one.search, search.value);
    const shown = cases.map(fits);
    nodes.forEach((node, place) => { node.hidden = !shown[place]; });
    drawn.forEach((plot) => plot.show((place) => shown[place]));
    const left = shown.filter(Boolean).length;
    count.textContent = left === cases.length ? plural(left, "case") : `${left} of ${plural(cases.length, "case")}`;
    nothing.hidden = left > 0;
  }

  function sort() {
    const by = ORDERS[order.value];
    const sorted = by ? [...cases].sort((a, b) => by(a) - by(b) || a.place - b.place) : cases;
    list.append(...sorted.map((one) => nodes[one.place]));
  }

  const parts = kinds.map((kind) => ({ name: RESULTS[kind].word, tone: kind, count: counts[kind] }));
  put(whole,
    el("header", {},
      el("div", {},
        el("h1", {}, data.failed ? `${grouped(data.failed)} of ${plural(cases.length, "case")} failed` : cases.length ? `All ${plural(cases.length, "case")} passed`.replace("All 1 case", "The case") : "No case was run"),
        el("div.facts", {},
          data.at && el("span", {}, data.at.replace("T", " ").replace(/\.\d+Z$/, " UTC")),
          data.mode && data.mode !== "auto" && el("span", {}, data.mode),
          el("span", {}, "took ", el("b", {}, seconds(data.duration_s))),
          el("span", {}, el("b", {}, grouped(cases.reduce((sum, one) => sum + one.usage.total_tokens, 0))), " tokens"),
          el("span", {}, "cost ", el("b", {}, data.cost_usd === null ? "not known" : dollars(data.cost_usd))))),
      themeButton()),
    data.complete === false && el("p.notice.warn", {}, `This run was cut: ${cases.length} of ${plural(data.selected, "case")} were run.`),
    cases.length ? [
      band(parts),
      el("div.key", {}, parts.map((part) => el("span", {}, el(`i.${part.tone}`), `${grouped(part.count)} ${part.name}`))),
      el("div.plots", {}, drawn.map((plot) => plot.figure)),
      el("div.bar", {}, search, el("span.group", { role: "group", "aria-label": "results" }, Object.values(buttons), driftOnly), el("label", {}, "order", order), count),
      el("div.heads", { "aria-hidden": "true" }, el("span"), el("span", {}, "Case"), el("span.number", {}, "Score"), el("span.number", {}, "Time"), el("span.number.wide", {}, "Tokens"), el("span.number.wide", {}, "Cost")),
      list, nothing,
      el("footer", {}, el("kbd", {}, "/"), " filter · ", el("kbd", {}, "j"), " ", el("kbd", {}, "k"), " next, previous case · ", el("kbd", {}, "Enter"), " open · ", el("kbd", {}, "n"), " ", el("kbd", {}, "p"), " next, previous difference"),
    ] : null);
  show();

  const go = (step) => {
    const seen = [...list.children].filter((node) => !node.hidden);
    const at = seen.indexOf(document.activeElement?.closest?.(".case"));
    const to = seen[at < 0 ? 0 : Math.min(Math.max(at + step, 0), seen.length - 1)];
    to?.firstChild.focus();
  };
  keys({ "/": () => search.focus(), j: () => go(1), k: () => go(-1), n: () => move(".row.differs", 1), p: () => move(".row.differs", -1) });
  window.addEventListener("beforeprint", () => cases.forEach((one, place) => {
    if (one.kind === "failed" || one.kind === "error") { fill(one, nodes[place]); nodes[place].open = true; }
  }));
  const asked = /^#case-(\d+)$/.exec(location.hash);
  if (asked && nodes[asked[1] - 1]) open(asked[1] - 1);
}

evalsPage();
