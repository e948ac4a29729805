// What is typed into the worksheet stays in this browser.

import { keepIn, secretIn } from "./keeping.js";

const place = document.getElementById("worksheet");
const words = place.dataset;
const store = keepIn("worksheet");
const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
const rowsOf = (part) => document.getElementById(`rows-${part}`);
const sheet = () => document.getElementById("sheet");
const controls = () => [...sheet().elements].filter((one) => one.name && !["hidden", "submit"].includes(one.type));
let keptAt = 0;
let waiting = 0;
let since = 0;

const kept = () => store("readonly", (sheets) => sheets.get("only"));
/** Warn at a field of what looks like a credential; tell whether it does. */
function isSecret(control) {
  const found = secretIn(control.value);
  const field = control.closest(".field");
  let told = field.querySelector("[data-told]");
  if (!found) told?.remove();
  else if (!told) {
    told = field.appendChild(document.createElement("p"));
    told.className = "wrong-words";
    told.dataset.told = "";
    told.textContent = filled(words.secret, { field: control.labels[0].textContent.trim(), kind: found.kind });
    document.dispatchEvent(new CustomEvent("say", { detail: told.textContent }));
  }
  return Boolean(found);
}

function show(text, state) {
  Object.assign(document.getElementById("kept"), { className: `status-line needs-js ${state}`, textContent: text });
}

function showKept(text, held) {
  const when = new Date(keptAt);
  const language = document.documentElement.lang;
  const today = Date.now() - keptAt < 43_200_000;
  const time = today ? when.toLocaleTimeString(language, { timeStyle: "short", hourCycle: "h23" }) : when.toLocaleString(language);
  show(filled(text, { time }) + (held ? ` · ${words.without}` : ""), held ? "refused" : "saved");
}

async function keep() {
  clearTimeout(waiting);
  waiting = since = 0;
  const values = {};
  let held = false;
  for (const one of controls()) {
    if (one.type === "checkbox") values[one.name] = one.checked;
    else if (isSecret(one)) held = true;
    else if (one.value) values[one.name] = one.value;
  }
  const at = Date.now();
  try {
    await store("readwrite", (sheets) => sheets.put({ at, values }, "only"));
    keptAt = at;
    showKept(words.kept, held);
  } catch {
    show(words.unkept, "refused");
  }
}

// Soon after the last key, and well within a second of the first.
function keepSoon() {
  since ||= Date.now();
  clearTimeout(waiting);
  waiting = setTimeout(keep, Math.max(0, Math.min(250, since + 600 - Date.now())));
}

const numbers = (rows) => [...rows.children].map((row) => Number(row.dataset.row) || 0);
const count = (rows) => rows.querySelectorAll("[data-number]").forEach((one, before) => (one.textContent = before + 1));

function add(rows, number) {
  const row = document.getElementById(rows.id.replace("rows", "blank")).content.firstElementChild.cloneNode(true);
  for (const one of [row, ...row.querySelectorAll("*")])
    for (const it of one.attributes) it.value = it.value.replaceAll("__n__", number);
  rows.append(row);
  count(rows);
  return row;
}

function fill(values) {
  for (const name in values) {
    const [, part, number] = /^(\w+)-(\d+)-/.exec(name) ?? [];
    const rows = rowsOf(part);
    if (rows && !numbers(rows).includes(+number)) add(rows, +number);
  }
  for (const one of controls()) {
    if (one.type === "checkbox") one.checked = values[one.name] ?? one.checked;
    else if ((one.value = values[one.name] ?? one.value)) one.closest("details")?.setAttribute("open", "");
  }
}

place.addEventListener("input", keepSoon);
place.addEventListener("change", keep);
place.addEventListener("copy-failed", () => sheet().querySelector("[value=preview]").click());
document.body.addEventListener("htmx:afterSettle", keep);

place.addEventListener("click", (event) => {
  const button = event.target.closest("[data-add], [data-remove], [data-clear]");
  if (!button) return;
  if (button.matches("[data-clear]")) return document.getElementById("clear").showModal();
  const rows = rowsOf(button.dataset.add ?? button.dataset.remove);
  if (button.dataset.add) {
    event.preventDefault();
    add(rows, Math.max(0, ...numbers(rows)) + 1).querySelector("input, select").focus();
  } else {
    button.closest("[data-row]").remove();
    count(rows);
    document.querySelector(`[data-add=${button.dataset.remove}]`).focus();
  }
  keepSoon();
});

document.getElementById("clear").addEventListener("close", async ({ target }) => {
  if (target.returnValue !== "clear") return;
  clearTimeout(waiting);
  waiting = 0;
  await store("readwrite", (sheets) => sheets.delete("only"));
  location.replace(location.pathname);
});

// What is left may never be seen again; another tab may have gone on meanwhile.
document.addEventListener("visibilitychange", async () => {
  if (document.hidden) return waiting && keep();
  if (!waiting && (await kept())?.at > keptAt) location.reload();
});

try {
  const found = await kept();
  if (!found) show(words.empty, "unsaved");
  else {
    if (!sheet().matches("[data-posted]")) fill(found.values);
    keptAt = found.at;
    showKept(words.again, false);
  }
} catch {
  show(words.unkept, "refused");
}
