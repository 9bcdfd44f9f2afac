// The page of two sessions.

function diffPage() {
  const [a, b] = data.names;
  const { compared } = data;
  const differs = compared.rows.filter((row) => !row.same).length;
  const block = sideBySide(compared, [a, b]);
  const rows = [...compared.rows.keys()];
  const plots = data.usage.a.steps.length || data.usage.b.steps.length ? stepPlots() : null;

  put(whole,
    el("header", {},
      el("div", {},
        el("h1", {}, el("bdi", {}, a), " and ", el("bdi", {}, b), data.diverged_at ? ` part at step ${data.diverged_at}` : " do not differ"),
        el("div.facts", {},
          el("span", {}, el("b", {}, el("bdi", {}, a)), ` ${plural(compared.a.length, "step")}`),
          el("span", {}, el("b", {}, el("bdi", {}, b)), ` ${plural(compared.b.length, "step")}`),
          data.mode && el("span", {}, `as ${data.mode}: `, el(data.matches ? "b.good" : "b.bad", {}, data.matches ? "the same" : "different")))),
      themeButton()),
    data.drift.length ? [el("h2", {}, "Drift"), driftTable(data.drift, [a, b])] : null);

  const search = searchField("Filter steps by tool or text", show);
  const only = differs ? toggle(`only differences ${differs}`, false, show) : null;
  const count = el("span.count", { role: "status" });
  const texts = compared.rows.map((row) => [row.a === null ? null : compared.a[row.a], row.b === null ? null : compared.b[row.b]]
    .filter(Boolean).flatMap((step) => [step.text, ...step.tools.flatMap((call) => [call.name, call.args, call.result || ""])]).join("\n").toLowerCase());
  let filtered = false;
  function show() {
    const wanted = search.value.trim(), onlyThose = Boolean(only && isOn(only));
    if ((wanted || onlyThose) && !filtered) {
      filtered = true;
      block.querySelectorAll(".fold > button").forEach((button) => button.click());
    }
    const shown = rows.filter((place) => (!onlyThose || !compared.rows[place].same) && holds(texts[place], wanted));
    const nodes = [...block.querySelectorAll(".row")];
    if (filtered) nodes.forEach((node, place) => { node.hidden = !shown.includes(place); });
    count.textContent = shown.length === rows.length ? plural(rows.length, "step") : `${shown.length} of ${plural(rows.length, "step")}`;
  }
  put(whole,
    el("div.bar", {}, search, only, count),
    block,
    data.changes.length ? [el("h2", {}, plural(data.changes.length + data.more, "difference")), changeList(data.changes, data.more)] : null,
    el("h2", {}, "Used"),
    table(["", ".Tokens", ".In", ".Out", ".Model calls", ".Cost"], [[a, data.usage.a], [b, data.usage.b]].map(([name, used]) =>
      [el("bdi", {}, name), grouped(used.total_tokens), grouped(used.input_tokens), grouped(used.output_tokens), grouped(used.model_calls), used.cost_usd === null ? "not known" : dollars(used.cost_usd)])),
    plots && el("div.plots", {}, plots.map((plot) => plot.figure)),
    el("footer", {}, el("kbd", {}, "/"), " filter · ", el("kbd", {}, "n"), " ", el("kbd", {}, "p"), " next, previous difference"));
  show();
  showFirst(block, "instant");
  keys({ "/": () => search.focus(), n: () => move(".row.differs", 1), p: () => move(".row.differs", -1) });
}

/** Each difference in a line; of many the first, and the rest when asked. */
function changeList(changes, more) {
  const line = (change) => el(`li.${change.kind}`, {}, change.text);
  const list = el("ul.changes", {}, changes.slice(0, 12).map(line));
  if (changes.length > 12) {
    const button = el("button", { type: "button", click: () => { list.append(...changes.slice(12).map(line)); button.remove(); } }, `… ${plural(changes.length - 12, "more difference")}`);
    return [list, button];
  }
  return [list, more ? el("p.quiet", {}, `… and ${plural(more, "more difference")}; lousho diff --json has all`) : null];
}

/** What each step used, one plot a side, on one scale. */
function stepPlots() {
  const sides = ["a", "b"].map((side) => data.usage[side].steps);
  const top = Math.max(...sides.flat().map((step) => step.tokens ?? 0), 1);
  return sides.map((steps, side) => barPlot({
    title: `Tokens a step, ${data.names[side]}`,
    sum: "",
    values: steps.map((step) => ({ value: step.tokens, label: `step ${step.step}`, tone: side ? "b" : "a" })),
    format: short,
    top,
  }));
}

diffPage();
