// What every page does, in one file, because every file is one more request of a first visit. In this order: the live
// region, the focus and the title after a swap; menus; answers that are not a part; news; copying; single keys.

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

// Answers to htmx that are not a part: a whole page, a login page, a failure, or none at all.

const isPage = (text) => /^\s*<!doctype html/i.test(text);
const isLogin = (text) => isPage(text) && /<body[^>]*\bdata-page="login"/.test(text);

function notice(name) {
  const place = document.getElementById("notices");
  place.replaceChildren(document.getElementById(name).content.cloneNode(true));
  place.scrollIntoView({ block: "nearest" });
}

// What the page asks by itself, beside the work, may fail: nothing the person did is lost, and nothing is replaced.
const isAside = ({ requestConfig }) => Boolean(requestConfig?.elt?.hasAttribute("data-while-seen"));

document.body.addEventListener("htmx:beforeSwap", (event) => {
  const { detail } = event;
  const text = detail.xhr.responseText;
  if (isAside(detail) && (isPage(text) || detail.xhr.status >= 400)) detail.shouldSwap = false;
  else if (isLogin(text)) {
    // Swapping the login page in would throw away what was typed.
    detail.shouldSwap = false;
    notice("notice-login");
  } else if (isPage(text) && detail.shouldSwap && !detail.boosted) {
    // A redirect or an error ended in a whole page: show it as one, not inside a table row.
    detail.target = document.getElementById("page");
    detail.swapOverride = "outerHTML";
    detail.selectOverride = "#page";
    if (detail.xhr.responseURL && detail.xhr.status < 400) {
      history.replaceState({ htmx: true }, "", location.href);
      history.pushState({ htmx: true }, "", detail.xhr.responseURL);
    }
  } else if (!detail.shouldSwap && detail.xhr.status >= 400) notice("notice-failed");
});

for (const name of ["htmx:sendError", "htmx:timeout"]) document.body.addEventListener(name, ({ detail }) => isAside(detail) || notice("notice-unreachable"));

// Logging in changes the CSRF token; coming back, take the new one over into the open page.
document.addEventListener("visibilitychange", async () => {
  const mark = document.querySelector("[data-login-again]");
  if (document.hidden || !mark) return;
  const answer = await fetch(location.href, { credentials: "same-origin" }).catch(() => null);
  const text = answer?.ok ? await answer.text() : "";
  if (!isPage(text) || isLogin(text)) return;
  const page = new DOMParser().parseFromString(text, "text/html");
  const headers = page.body.getAttribute("hx-headers");
  if (!headers) return;
  document.body.setAttribute("hx-headers", headers);
  const token = JSON.parse(headers)["X-CSRFToken"];
  for (const field of document.querySelectorAll("input[name=csrfmiddlewaretoken]")) field.value = token;
  notice("notice-back");
});

// While a page is looked at, the server tells it that there is news for its reader; what asks for news asks then.

const AGAIN = 60_000; // ms until another try, where the server has no line free
const address = document.body.dataset.news;
let line;
let held = false;

function call() {
  if (line || document.hidden) return;
  line = new EventSource(address);
  line.addEventListener("open", () => {
    if (held) hear(); // whatever was told while nobody listened
    held = true;
  });
  line.addEventListener("news", hear);
  line.addEventListener("error", () => {
    if (line?.readyState !== EventSource.CLOSED) return;
    hangUp();
    setTimeout(call, AGAIN);
  });
}

function hangUp() {
  line?.close();
  line = undefined;
}

const hear = () => htmx.trigger(document.body, "news");

if (address) {
  call();
  document.addEventListener("visibilitychange", () => (document.hidden ? hangUp() : call()));
  addEventListener("pagehide", hangUp);
  addEventListener("pageshow", call);
}

// Copy buttons: "Copied" is said only after it happened; where the clipboard is refused, the text is selected.

/** The exact text a button stands for: fetched bytes, its own text, or the text of another element. */
async function textFor(button) {
  const { copyUrl, copyText, copyFrom, copyForm } = button.dataset;
  if (copyForm) {
    const form = document.querySelector(copyForm);
    const body = new URLSearchParams(new FormData(form));
    body.set("step", "txt");
    const answer = await fetch(form.action, { method: "POST", body });
    if (!answer.ok) throw new Error(answer.status);
    return answer.text();
  }
  if (copyUrl) {
    const answer = await fetch(copyUrl, { credentials: "same-origin", redirect: "error" });
    if (!answer.ok) throw new Error(answer.status);
    return answer.text();
  }
  if (copyText !== undefined) return copyText;
  const source = document.querySelector(copyFrom);
  return source.value ?? source.textContent;
}

function select(button) {
  const source = button.dataset.copyFrom ? document.querySelector(button.dataset.copyFrom) : button.previousElementSibling;
  if (!source) return false;
  // A shortened fingerprint is shown whole, so that selecting it selects all of it.
  if (button.dataset.copyText && source.textContent !== button.dataset.copyText) {
    source.textContent = button.dataset.copyText;
    source.parentElement.classList.remove("fingerprint"); // which holds a short one together
  }
  if (source.select) {
    source.focus();
    source.select();
  } else getSelection().selectAllChildren(source);
  return true;
}

function showCopied(button) {
  if (button.classList.contains("done")) return; // still says so
  const label = button.textContent;
  button.classList.add("done");
  if (label.trim()) button.textContent = region.dataset.copied;
  setTimeout(() => {
    button.classList.remove("done");
    if (label.trim()) button.textContent = label;
  }, 2000);
}

async function copy(button) {
  let text;
  try {
    text = await textFor(button);
  } catch {
    say(region.dataset.copyFailed);
    tellBeside(button, region.dataset.copyFailed);
    button.dispatchEvent(new CustomEvent("copy-failed", { bubbles: true }));
    return;
  }
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // No clipboard here (refused, or the page is not served securely).
    const message = select(button) ? region.dataset.copyRefused : region.dataset.copyFailed;
    say(message);
    tellBeside(button, message);
    return;
  }
  say(region.dataset.copied);
  showCopied(button);
}

// On a line of its own, behind all that stands around the button: nothing is pushed aside or squeezed.
function tellBeside(button, message) {
  const place = (button.closest(".copyable") ?? button).parentElement;
  place.querySelector(":scope > .copy-told")?.remove();
  const told = document.createElement("span");
  told.className = "copy-told";
  told.textContent = message;
  place.append(told);
  setTimeout(() => told.remove(), 15000);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy-from], [data-copy-text], [data-copy-url]");
  if (button) copy(button);
});

// Single keys. The list on the page is the table: each entry says its keys and what they lead to.

const list = document.getElementById("keys");
const toggles = document.querySelectorAll("[data-keys-on]");
const SWITCH = "keys-off";
let pressed = "";
let timer = 0;

function isOff() {
  try {
    return localStorage.getItem(SWITCH) === "1";
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
      if (on) localStorage.removeItem(SWITCH);
      else localStorage.setItem(SWITCH, "1");
    } catch {
      // The choice holds for this page only.
    }
  });

// Another tab of this browser switched them.
addEventListener("storage", ({ key }) => key === SWITCH && switchTo(!isOff()));

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
