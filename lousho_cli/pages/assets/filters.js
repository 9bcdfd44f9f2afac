// A box to search in, and buttons that leave some out.

/** The field that everything is searched by; `/` goes there, Escape empties it. */
function searchField(label, changed) {
  const field = el("input", { type: "search", placeholder: label, "aria-label": label, autocomplete: "off", spellcheck: "false" });
  field.addEventListener("input", () => changed());
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    field.value = "";
    field.blur();
    changed();
  });
  return field;
}

/** Whether each word of a search stands somewhere in a text that is in small letters. */
const holds = (text, search) => search.toLowerCase().split(/\s+/).every((word) => text.includes(word));

/** A button that is on or off. */
function toggle(text, on, changed) {
  const button = el("button", { type: "button", "aria-pressed": String(on) }, text);
  button.addEventListener("click", () => {
    button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
    changed();
  });
  return button;
}

const isOn = (button) => button.getAttribute("aria-pressed") === "true";
