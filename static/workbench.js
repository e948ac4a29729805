// The live region, the error title, and where the focus goes after a swap.

const region = document.getElementById("announce");

/** Speak `text` through the live region: parts of one answer together, the same words twice twice. */
let waiting = [];
function say(text) {
  waiting.push(text);
  if (waiting.length > 1) return;
  region.textContent = "";
  setTimeout(() => {
    region.textContent = waiting.join(". ");
    waiting = [];
  }, 60);
}

document.addEventListener("say", (event) => say(event.detail));

/** Keep "Error:" at the front of the title as long as an error summary is on the page. */
function tellTitle() {
  const prefix = region.dataset.errorPrefix;
  const plain = document.title.startsWith(prefix) ? document.title.slice(prefix.length) : document.title;
  document.title = document.querySelector(".error-summary") ? prefix + plain : plain;
}

function announced(part) {
  const found = part.matches("[data-announce]") ? [part] : [];
  found.push(...part.querySelectorAll("[data-announce]"));
  return found.map((one) => one.dataset.announce || one.textContent.trim().replace(/\s+/g, " ")).join(". ");
}

/** The element focus belongs on inside a new part, or null. */
function wanted(part) {
  for (const selector of [".error-summary", "[data-focus]", "[autofocus]"]) {
    const found = part.matches(selector) ? part : part.querySelector(selector);
    if (found) return found;
  }
  return null;
}

function focusOn(element) {
  if (element.tabIndex < 0 && !element.hasAttribute("tabindex")) element.tabIndex = -1;
  element.focus();
}

// Where to go when the part that held the focus is removed: its neighbour, else what surrounded it.
let left = null;
// What is typed into `data-keep` while the page asks for news is newer than what the answer brings back; what was
// opened stays open.
let kept = [];

document.body.addEventListener("htmx:beforeSwap", (event) => {
  const { target } = event.detail;
  kept = [...target.querySelectorAll("[data-keep]")].map(({ id, value, selectionStart, selectionEnd }) => ({ id, value, selectionStart, selectionEnd }));
  kept.push(...[...target.querySelectorAll("details[id][open]")].map(({ id }) => ({ id, open: true })));
  const inside = target.contains(document.activeElement);
  const around = [target.nextElementSibling, target.previousElementSibling, target.parentElement];
  if (inside) left = { id: target.id, around }; // else another part came before the focus was moved
});

function lost() {
  const active = document.activeElement;
  return !active || active === document.body || !active.isConnected;
}

document.body.addEventListener("htmx:afterSwap", () => {
  for (const { id, ...typed } of kept) Object.assign(document.getElementById(id) ?? {}, typed);
  kept = [];
});

document.body.addEventListener("htmx:afterSettle", (event) => {
  const part = event.detail.elt;
  tellTitle();
  const words = announced(part);
  if (words) say(words);
  const goal = wanted(part);
  if (goal) focusOn(goal);
  else if (lost() && left?.id && left.id === part.id) focusNear(part); // not at what changed elsewhere on the page
});

// What was removed settles nothing in its own place; htmx settles within 20 ms.
document.body.addEventListener("htmx:afterOnLoad", () => {
  setTimeout(() => {
    tellTitle();
    if (left && lost()) focusNear(left.around.find((one) => one?.isConnected) ?? document.getElementById("main"));
    left = null;
  }, 60);
});

function focusNear(place) {
  const first = "a[href], button, summary, input:not([type=hidden]), select, textarea";
  focusOn(place.querySelector(first) ?? place);
}

// A menu closes when one leaves it.
document.addEventListener("focusin", (event) => closeMenus(event.target));
document.addEventListener("click", (event) => closeMenus(event.target));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = document.activeElement?.closest?.("details.menu[open]");
  if (menu) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

function closeMenus(target) {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(target)) menu.open = false;
}

// A server-made error page asks for the focus by `autofocus`; browsers refuse that when the address has a fragment.
document.querySelector(".error-summary")?.focus();

// What asks the server again and again rests while nobody looks at the page.
document.body.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden && event.detail.elt.hasAttribute("data-while-seen")) event.preventDefault();
});

// A link to what is missing leads into the field that is empty.
function enter() {
  const place = document.getElementById(location.hash.slice(1));
  if (!place?.matches("[id^=row-], [id^=part-]") || document.querySelector(".error-summary")) return;
  const fields = place.querySelectorAll("form.form :is(input:not([type=hidden], [type=checkbox]), textarea, select)");
  const empty = [...fields].find(({ value, disabled }) => !value && !disabled);
  empty?.focus();
}
addEventListener("hashchange", enter);
addEventListener("load", () => setTimeout(enter, 60)); // browsers go to the place first, and take the focus there
