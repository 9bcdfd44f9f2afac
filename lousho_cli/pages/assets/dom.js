// Elements, made without any markup: whatever is said goes in as text.

const HOSTILE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\u2028\u2029\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udc7f]/g;

const SVG = "http://www.w3.org/2000/svg";

/** Text as nodes; a character that would move, hide or reorder text stands as its escape. */
function said(text) {
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(HOSTILE)) {
    if (found.index > from) nodes.push(document.createTextNode(text.slice(from, found.index)));
    const code = found[0].codePointAt(0);
    const name = code < 0x100 ? "\\x" + code.toString(16).padStart(2, "0") : code > 0xffff ? "\\U" + code.toString(16).padStart(8, "0") : "\\u" + code.toString(16).padStart(4, "0");
    const mark = document.createElement("span");
    mark.className = "control";
    mark.textContent = name;
    nodes.push(mark);
    from = found.index + found[0].length;
  }
  if (from < text.length) nodes.push(document.createTextNode(text.slice(from)));
  return nodes;
}

/** Puts children into a node: texts, numbers, nodes, lists of them; nothing for null, undefined and false. */
function put(node, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(...(child instanceof Node ? [child] : said(String(child))));
  }
  return node;
}

/** An element: a name with classes (`td.number`), attributes, children. A function as attribute listens to that event. */
function el(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const node = document.createElement(tag);
  if (classes.length) node.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(key, value);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  return put(node, ...children);
}

/** A shape of a drawing. */
function shape(name, attributes = {}) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  return node;
}

/** A table: heads (`.Name` stands right), rows of cells. */
function table(heads, rows, attributes = {}) {
  const right = heads.map((head) => head.startsWith("."));
  return el("div.scroll", {},
    el("table", attributes,
      el("thead", {}, el("tr", {}, heads.map((head, n) => el(right[n] ? "th.number" : "th", { scope: "col" }, right[n] ? head.slice(1) : head)))),
      el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell, n) => el(right[n] ? "td.number" : "td", {}, cell)))))));
}

const data = JSON.parse(document.getElementById("data").textContent);
const whole = document.getElementById("page");

// Numbers as a person reads them.

const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, " ");
const plural = (number, word, more = word + "s") => `${grouped(number)} ${number === 1 ? word : more}`;

function seconds(value) {
  if (value === 0) return "0";
  if (value < 0.0095) return `${(value * 1000).toFixed(1)} ms`;
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 60) return `${value.toFixed(value < 10 ? 2 : 1)} s`;
  return `${Math.floor(value / 60)} min ${String(Math.floor(value % 60)).padStart(2, "0")} s`;
}

function dollars(value) {
  if (value === 0) return "$0";
  if (value < 0.0001) return "<$0.0001";
  return `$${value.toFixed(value < 0.01 ? 4 : value < 1 ? 3 : 2)}`;
}

const short = (number) => (number < 10_000 ? grouped(Math.round(number)) : number < 1_000_000 ? `${(number / 1000).toFixed(1)}k` : `${(number / 1_000_000).toFixed(1)}M`);

/** The button that changes between light and dark. */
function themeButton() {
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const button = el("button", { type: "button", click: () => { root.dataset.theme = dark() ? "light" : "dark"; name(); } });
  const name = () => { button.textContent = dark() ? "Light" : "Dark"; };
  name();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  return button;
}

/** Keys that do something while nobody writes into a field. */
function keys(actions) {
  document.addEventListener("keydown", (event) => {
    const busy = event.ctrlKey || event.metaKey || event.altKey;
    if (busy || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || !Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  });
}

/** Brings the next or the one before of some elements into view, from where the page stands; what it is, is returned. */
function move(selector, step) {
  const all = [...document.querySelectorAll(selector)].filter((node) => node.offsetParent !== null);
  const line = 90;
  const places = all.map((node) => node.getBoundingClientRect().top);
  const to = step > 0 ? places.findIndex((top) => top > line + 2) : places.findLastIndex((top) => top < line - 30);
  if (to < 0) return null;
  all[to].scrollIntoView({ block: "start" });
  return all[to];
}
