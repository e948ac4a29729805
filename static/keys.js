// Single keys. The list on the page is the table: each entry says its keys and what they lead to.

const list = document.getElementById("keys");
const toggle = document.getElementById("keys-on");
const STORE = "keys-off";
let pressed = "";
let timer = 0;

function isOff() {
  try {
    return localStorage.getItem(STORE) === "1";
  } catch {
    return false;
  }
}

toggle.checked = !isOff();
let on = toggle.checked;
toggle.addEventListener("change", () => {
  on = toggle.checked;
  try {
    if (on) localStorage.removeItem(STORE);
    else localStorage.setItem(STORE, "1");
  } catch {
    // The choice holds for this page only.
  }
});

function typing(element) {
  return element.closest("input, textarea, select, [contenteditable], dialog[open]");
}

function act({ go, find, show }) {
  if (go) location.assign(go);
  else if (show) document.getElementById(show).showModal();
  else {
    const field = document.querySelector(find);
    field?.focus();
    return Boolean(field);
  }
  return true;
}

document.addEventListener("keydown", (event) => {
  if (!on || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || typing(event.target)) return;
  clearTimeout(timer);
  timer = setTimeout(() => (pressed = ""), 1200);
  const both = `${pressed} ${event.key}`.trim();
  const entries = [...list.querySelectorAll("[data-keys]")];
  const hit = entries.find((entry) => entry.dataset.keys === both) ?? entries.find((entry) => entry.dataset.keys === event.key);
  pressed = hit ? "" : event.key;
  if (hit && act(hit.dataset)) event.preventDefault();
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-show]");
  if (button) document.getElementById(button.dataset.show).showModal();
});
