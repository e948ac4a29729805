// Single keys. The list on the page is the table: each entry says its keys and what they lead to.

const list = document.getElementById("keys");
const toggles = document.querySelectorAll("[data-keys-on]");
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

let on = !isOff();

function switchTo(wanted) {
  on = wanted;
  for (const toggle of toggles) toggle.checked = on;
}

switchTo(on);
for (const toggle of toggles)
  toggle.addEventListener("change", () => {
    switchTo(toggle.checked);
    try {
      if (on) localStorage.removeItem(STORE);
      else localStorage.setItem(STORE, "1");
    } catch {
      // The choice holds for this page only.
    }
  });

// Another tab of this browser switched them.
addEventListener("storage", ({ key }) => key === STORE && switchTo(!isOff()));

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

// The link leads to a page with the same list; only a plain click opens the list here instead.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-show]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  document.getElementById(link.dataset.show).showModal();
});
