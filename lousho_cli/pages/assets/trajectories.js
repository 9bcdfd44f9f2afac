// What runs did, step by step: one alone, or two side by side with the difference in view.

const MOST_LINES = 24;
const MOST_IN_LINE = 1200;
const NEAR = 3;

/** JSON text on several lines, every number and text as it was; other text as it is. */
function spread(text) {
  const start = text.trimStart()[0];
  if (start !== "{" && start !== "[") return text;
  try { JSON.parse(text); } catch { return text; }
  let out = "", depth = 0;
  for (const [piece] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{[]\s*[}\]]|[{}[\],:]|[^\s"{}[\],:]+/g)) {
    if (/^[{[]\s*[}\]]$/.test(piece)) out += piece[0] + piece.at(-1);
    else if (piece === "{" || piece === "[") out += piece + "\n" + "  ".repeat(++depth);
    else if (piece === "}" || piece === "]") out += "\n" + "  ".repeat(--depth) + piece;
    else if (piece === ",") out += ",\n" + "  ".repeat(depth);
    else out += piece === ":" ? ": " : piece;
  }
  return out;
}

/** Which lines of two texts are the same: for each side a list of booleans. */
function common(a, b) {
  const left = new Array(a.length).fill(false), right = new Array(b.length).fill(false);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) left[head] = right[head++] = true;
  let i = a.length, j = b.length;
  while (i > head && j > head && a[i - 1] === b[j - 1]) left[--i] = right[--j] = true;
  const rows = i - head, columns = j - head;
  if (!rows || !columns || rows * columns > 250_000) return [left, right];
  const lengths = Array.from({ length: rows + 1 }, () => new Uint16Array(columns + 1));
  for (let r = rows - 1; r >= 0; r--)
    for (let c = columns - 1; c >= 0; c--)
      lengths[r][c] = a[head + r] === b[head + c] ? lengths[r + 1][c + 1] + 1 : Math.max(lengths[r + 1][c], lengths[r][c + 1]);
  for (let r = 0, c = 0; r < rows && c < columns; ) {
    if (a[head + r] === b[head + c]) left[head + r++] = right[head + c++] = true;
    else if (lengths[r + 1][c] >= lengths[r][c + 1]) r++;
    else c++;
  }
  return [left, right];
}

/** Where two lines begin and cease to differ: lengths of what they begin and end with alike. */
function inLine(line, other) {
  let head = 0, tail = 0;
  while (head < line.length && head < other.length && line[head] === other[head]) head++;
  const most = Math.min(line.length, other.length) - head;
  while (tail < most && line.at(-1 - tail) === other.at(-1 - tail)) tail++;
  return [head, tail];
}

/** One line; of one that differs the part that does is marked, and a long one is cut around it. */
function lineOf(text, tone, other) {
  const line = el("span.line");
  if (!tone) return put(line, text.length > MOST_IN_LINE ? [text.slice(0, MOST_IN_LINE), cutButton(text, line)] : text);
  line.classList.add(tone);
  const [head, tail] = other === undefined || other === text ? [0, 0] : inLine(text, other);
  const end = text.length - tail, marked = other !== undefined && 2 * (head + tail) >= Math.min(text.length, other.length);
  if (text.length <= MOST_IN_LINE) return put(line, marked ? [text.slice(0, head), el("mark", {}, text.slice(head, end)), text.slice(end)] : text);
  const from = Math.max(0, head - 80), to = Math.min(text.length, Math.max(end, head) + 80, from + MOST_IN_LINE);
  const middle = text.slice(head, Math.min(end, to));
  return put(line, from ? "…" : "", text.slice(from, head), marked ? el("mark", {}, middle) : middle, text.slice(Math.min(end, to), to), to < text.length ? "…" : "", cutButton(text, line));
}

function cutButton(text, line) {
  return el("button.more", { type: "button", click: (event) => { event.stopPropagation(); line.replaceChildren(...said(text)); } }, `show all ${plural(text.length, "character")}`);
}

/** A text as lines, those that differ from `other` marked; what is far from any difference is folded. */
function textOf(text, other, tone) {
  const lines = text.split("\n");
  const block = el("pre.text");
  if (other === undefined) {
    const most = lines.length > MOST_LINES + 4 ? MOST_LINES : lines.length;
    put(block, lines.slice(0, most).map((line) => lineOf(line)));
    if (most < lines.length) block.append(moreLines(lines.slice(most), "more"));
    return block;
  }
  const others = other.split("\n");
  const [same, otherSame] = common(lines, others);
  const counterparts = others.filter((_, n) => !otherSame[n]);
  const near = lines.map((_, n) => same.slice(Math.max(0, n - NEAR), n + NEAR + 1).includes(false));
  const everything = same.every(Boolean) ? lines.length <= MOST_LINES + 4 : false;
  for (let n = 0, changed = 0; n < lines.length; ) {
    if (near[n] || everything) {
      block.append(same[n] ? lineOf(lines[n]) : lineOf(lines[n], tone, counterparts[changed++]));
      n++;
      continue;
    }
    let end = n;
    while (end < lines.length && !near[end]) end++;
    if (end - n <= 3) block.append(...lines.slice(n, end).map((line) => lineOf(line)));
    else block.append(moreLines(lines.slice(n, end), "equal"));
    n = end;
  }
  return block;
}

function moreLines(lines, word) {
  const button = el("button.more", { type: "button" }, `… ${plural(lines.length, `${word} line`)}`);
  button.addEventListener("click", () => button.replaceWith(...lines.map((line) => lineOf(line))));
  return button;
}

/** One call; `other` is the one beside it, null where there is none, undefined where nothing is compared. */
function callOf(call, other, tone) {
  const differs = other !== undefined;
  const args = spread(call.args), result = call.result === undefined || call.result === null ? null : spread(call.result);
  const otherResult = other && other.result !== undefined && other.result !== null ? spread(other.result) : undefined;
  return el(other === null ? "div.call.gone" : "div.call", {},
    el("div.tool", {}, el("bdi", {}, call.name), other === null && el("small", {}, tone === "removed" ? "only here" : "new here")),
    args !== "{}" && el("div.part", {}, el("b", {}, "arguments"), textOf(args, differs && other ? spread(other.args) : undefined, tone)),
    el("div.part", {}, el("b", {}, result === null ? "no result" : "result"), result !== null && textOf(result, differs && other ? otherResult ?? "" : undefined, tone)));
}

function sideOf(step, number, label, calls, text, tone) {
  if (!step) return el("div.side.empty", { "data-side": label });
  return el("div.side", { "data-side": label },
    el("div.step-head", {}, `step ${number}`),
    step.text && el("div.prose", {}, textOf(step.text, text, tone)),
    calls);
}

/** What one run did. */
function trajectory(steps) {
  if (!steps.length) return el("p.quiet", {}, "It took no step.");
  return el("div.compared.single", {}, steps.map((step, n) => el("div.row", {}, sideOf(step, n + 1, "", step.tools.map((call) => callOf(call))))));
}

function rowOf(compared, row, place, labels) {
  const one = row.a === null ? null : compared.a[row.a], other = row.b === null ? null : compared.b[row.b];
  const both = one && other;
  const left = [], right = [];
  for (const pair of row.calls) {
    const a = pair.a === null ? null : one.tools[pair.a], b = pair.b === null ? null : other.tools[pair.b];
    if (a) left.push(callOf(a, pair.same || !both ? undefined : b, "removed"));
    if (b) right.push(callOf(b, pair.same || !both ? undefined : a, "added"));
  }
  const kind = row.same ? "" : both ? ".differs" : one ? ".differs.only.only-a" : ".differs.only.only-b";
  return el(`div.row${kind}${place === compared.first ? ".first" : ""}`, {},
    sideOf(one, row.a + 1, labels[0], left, both && one.text !== other.text ? other.text : undefined, "removed"),
    sideOf(other, row.b + 1, labels[1], right, both && one.text !== other.text ? one.text : undefined, "added"));
}

/** What two runs did, side by side; equal steps away from a difference are folded until they are asked for. */
function sideBySide(compared, labels) {
  const rows = compared.rows.map((row, place) => rowOf(compared, row, place, labels));
  const moves = el("span.moves", {},
    el("button.plain", { type: "button", title: "previous difference (p)", click: () => move(".row.differs", -1) }, "‹ previous"),
    el("button.plain", { type: "button", title: "next difference (n)", click: () => move(".row.differs", 1) }, "next ›"));
  const block = el("div.compared", {}, el("div.sides", {}, el("div", {}, labels[0]), el("div", {}, labels[1], compared.first !== null && moves)));
  for (let place = 0; place < rows.length; ) {
    let end = place;
    while (end < rows.length && compared.rows[end].same) end++;
    const keep = end < rows.length ? end - 1 : end;
    if (keep - place >= 2) {
      block.append(foldOf(rows.slice(place, keep)));
      place = keep;
    }
    if (place < rows.length) block.append(rows[place++]);
  }
  if (!rows.length) block.append(el("p.none", {}, "Neither took a step."));
  return block;
}

function foldOf(rows) {
  const fold = el("div.fold", {}, el("button", { type: "button", click: () => fold.replaceWith(...rows) }, `… ${plural(rows.length, "equal step")}`));
  return fold;
}

/** Brings the first difference of a comparison into view, without going further than that takes. */
function showFirst(block, behavior = "auto") {
  const row = block.querySelector(".row.first");
  if (!row) return;
  const { top } = (row.querySelector(".line.added, .line.removed") || row).getBoundingClientRect();
  if (top < 60 || top > innerHeight * 0.8) scrollBy({ top: top - innerHeight * 0.55, behavior });
}

/** The table of drift: heads, and a row for each field. */
function driftTable(rows, heads) {
  return table(["Field", ...heads], rows.map((row) => [row.field, el("code", {}, row.committed), el("code", {}, row.current)]));
}
