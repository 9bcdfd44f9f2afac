// Bars: one a value, drawn in as many units as there are values, and stretched to the room there is.

/**
 * A plot of bars. The arrow keys go from bar to bar, Enter picks one.
 *
 * title: what it shows; sum: a word on all of it; rest: what is read while no bar is pointed at; values: [{ value or null, label, tone }]; format: a value as text;
 * picked: called with the place of a bar.
 */
function barPlot({ title, sum, rest = "", values, format, top, picked }) {
  const known = values.map((one) => one.value).filter((value) => value !== null);
  const most = top ?? Math.max(...known, 0);
  const room = Math.max(values.length, 8); // a few bars are no wider than bars are
  const svg = shape("svg", { viewBox: `0 0 ${room} 100`, preserveAspectRatio: "none", tabindex: 0, role: "img" });
  svg.setAttribute("aria-label", `${title}: ${sum || "no values"}. Arrow keys read the bars.`);
  for (const height of [0, 50, 100]) svg.append(shape("line", { class: "line", x1: 0, x2: room, y1: height, y2: height }));
  const gap = values.length > 120 ? 0.06 : 0.14;
  const bars = values.map((one, place) => {
    const height = one.value === null ? 2 : Math.max(most ? (one.value / most) * 100 : 0, 1.5);
    const bar = shape("rect", { class: one.value === null ? "none" : one.tone, x: place + gap, y: 100 - height, width: 1 - 2 * gap, height });
    const hit = shape("rect", { class: "hit", x: place, y: 0, width: 1, height: 100 });
    hit.addEventListener("mouseenter", () => point(place));
    hit.addEventListener("click", () => picked?.(place));
    svg.append(bar, hit);
    return bar;
  });
  const read = el("p.read", { "aria-live": "polite" });
  let at = -1;
  function point(place) {
    bars[at]?.classList.remove("at");
    at = place;
    bars[at]?.classList.add("at");
    const one = values[at];
    read.replaceChildren(...said(one ? `${one.label} · ${one.value === null ? "not known" : format(one.value)}` : rest));
  }
  point(-1);
  svg.addEventListener("mouseleave", () => point(-1));
  svg.addEventListener("blur", () => point(-1));
  svg.addEventListener("keydown", (event) => {
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: values.length - 1 }[event.key];
    if (to !== undefined) point(Math.min(Math.max(to, 0), values.length - 1));
    else if (event.key === "Enter" && at >= 0) picked?.(at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const axis = el("div.axis", {}, el("span", {}, known.length ? format(most) : ""), el("span", {}, known.length ? format(0) : ""));
  const figure = el("figure", {}, el("figcaption", {}, el("b", {}, title), el("span", {}, sum)), el("div.area", {}, axis, svg), read);
  return { figure, show: (shown) => bars.forEach((bar, place) => bar.classList.toggle("out", !shown(place))) };
}

/** One band in parts, each as wide as its count. */
function band(parts) {
  const total = parts.reduce((sum, part) => sum + part.count, 0);
  return el("div.band", { role: "img", "aria-label": parts.map((part) => `${part.count} ${part.name}`).join(", ") },
    parts.filter((part) => part.count).map((part) => {
      const piece = el(`i.${part.tone}`);
      piece.style.width = `${(part.count / total) * 100}%`;
      return piece;
    }));
}
