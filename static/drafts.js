// Half-typed forms are kept in this browser until the server has them, and offered back; never put back by themselves.

import { keepIn, secretIn, shapes } from "./keeping.js";

const who = document.body.dataset.user;
const read = (id) => document.getElementById(id);
const words = read("draft-words")?.dataset;
const say = (text) => document.dispatchEvent(new CustomEvent("say", { detail: text }));
const LONGEST = 1_000_000;
const store = keepIn("drafts");
const place = (key) => `${who}\n${key}`;

const ticked = ({ type }) => type === "checkbox" || type === "radio";
const nameOf = (field) => (ticked(field) ? `${field.name}=${field.value}` : field.name);
const valueOf = (field) => (ticked(field) ? (field.checked ? "on" : "") : field.value);
const fieldsOf = (form) =>
  [...form.elements].filter(({ name, type }) => name && !/^(hidden|password|file|submit|button|reset|fieldset|output)$/.test(type));
const hiddenOf = (form) => [...form.querySelectorAll("input[type=hidden]")];
const versionsOf = (form) => hiddenOf(form).filter(({ name }) => /(^|-)version$/.test(name));

/** What the server sent, as this browser shows it. */
function sent(field) {
  if (ticked(field)) return field.defaultChecked ? "on" : "";
  if (field.options) return ([...field.options].findLast((one) => one.defaultSelected) ?? field.options[0])?.value ?? "";
  return Object.assign(field.cloneNode(true), { value: field.defaultValue }).value;
}

// By key: the drafts this page goes on with, those it only offers, and what every field was before anything was typed.
const active = new Map();
const offered = new Map();
const bases = new Map();
const met = new WeakSet();
const timers = new WeakMap();
let wiped = !who || !shapes.length;

function forget(key) {
  active.delete(key);
  offered.delete(key);
  return store("readwrite", (kept) => kept.delete(place(key))).catch(() => {});
}

async function keep(form) {
  clearTimeout(timers.get(form));
  timers.delete(form);
  if (wiped || !form.isConnected) return;
  const key = form.dataset.draft;
  const known = active.get(key) ?? offered.get(key);
  const here = fieldsOf(form);
  const names = new Set(here.map(nameOf));
  // What is only offered, and what has no field just now, is not given up.
  const fields = Object.fromEntries(Object.entries(known?.fields ?? {}).filter(([name]) => offered.has(key) || !names.has(name)));
  let left = "";
  for (const field of here) {
    const mine = valueOf(field);
    const base = bases.get(key)?.[nameOf(field)] ?? sent(field);
    if (mine === base) continue;
    const why = mine.length > LONGEST ? words.long : secretIn(mine) ? words.secret : "";
    if (why) delete fields[nameOf(field)];
    else fields[nameOf(field)] = { mine, base };
    left ||= why;
  }
  const versions = known?.versions ?? Object.fromEntries(versionsOf(form).map(({ name, value }) => [name, value]));
  const draft = { at: Date.now(), versions, fields };
  if (!Object.keys(fields).length) {
    await forget(key);
    return tell(form, left);
  }
  if (!offered.has(key)) active.set(key, draft);
  const done = store("readwrite", (kept) => kept.put(draft, place(key)));
  const at = clock(draft.at);
  const stands = () => [active, offered].some((known) => known.has(key)); // the server may have answered meanwhile
  await done.then(() => stands() && tell(form, `${words.kept} ${at}${left && `. ${left}`}`, `${words.newer} ${at}`), () => tell(form, words.failed));
}

// As the server writes moments: 24 hours, the day before the month.
const tongue = document.documentElement.lang.replace(/^en$/, "en-GB");
const SHORT = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const LONG = { ...SHORT, day: "numeric", month: "long", year: "numeric", timeZoneName: "short" };
const clock = (at, form = SHORT) => new Date(at).toLocaleString(tongue, form);

/** Say beside the button, and beside the version of the page, what is true about what is typed. */
function tell(form, text, above = "") {
  const lines = new Map([[[...form.querySelectorAll(".actions")].at(-1) ?? form, text], [read("status"), above]]);
  for (const [line, said] of lines) {
    line?.querySelector("[data-told]")?.remove();
    if (!line || !said) continue;
    const told = line.appendChild(document.createElement("span"));
    told.dataset.told = told.className = "quiet";
    told.textContent = said;
  }
}

/** Look whether something is kept for a form that has come onto the page. */
async function meet(form) {
  if (wiped || met.has(form)) return;
  met.add(form);
  const key = form.dataset.draft;
  const now = Object.fromEntries(fieldsOf(form).map((field) => [nameOf(field), sent(field)]));
  const held = active.get(key);
  bases.set(key, { ...now, ...basesOf(held) });
  if (held) return keep(form); // an answer that brings back what was typed
  const draft = await store("readonly", (kept) => kept.get(place(key))).catch(() => null);
  if (!draft || !form.isConnected) return;
  const here = fieldsOf(form).filter((field) => draft.fields[nameOf(field)]);
  if (here.some((field) => valueOf(field) !== draft.fields[nameOf(field)].mine)) offer(form, draft, now, here);
  else if (answered === place(key)) {
    active.set(key, draft);
    bases.set(key, { ...now, ...basesOf(draft) });
    keep(form);
  } else if (here.length) forget(key);
  else offered.set(key, draft);
}

const basesOf = (draft) => Object.fromEntries(Object.entries(draft?.fields ?? {}).map(([name, { base }]) => [name, base]));

function offer(form, draft, now, here) {
  const key = form.dataset.draft;
  const bar = read("draft-bar").content.firstElementChild.cloneNode(true);
  const moved = here.some((field) => now[nameOf(field)] !== draft.fields[nameOf(field)].base);
  offered.set(key, draft);
  bar.querySelector("[data-at]").textContent = clock(draft.at, LONG);
  for (const one of bar.querySelectorAll("[data-moved]")) one.hidden = !moved;
  const body = bar.querySelector("tbody");
  const heads = bar.querySelectorAll("thead th");
  for (const field of here) {
    const { mine, base } = draft.fields[nameOf(field)];
    const row = body.insertRow();
    const head = row.appendChild(document.createElement("th"));
    head.scope = "row";
    head.textContent = labelOf(field);
    for (const [place, value] of (moved ? [mine, now[nameOf(field)], base] : [mine, now[nameOf(field)]]).entries()) {
      const cell = row.insertCell();
      cell.textContent = shown(field, value);
      cell.dataset.label = heads[place + 1].textContent;
    }
  }
  const acts = {
    restore() {
      offered.delete(key);
      active.set(key, draft);
      bases.set(key, { ...now, ...basesOf(draft) });
      for (const field of here) {
        const { mine, base } = draft.fields[nameOf(field)];
        if (ticked(field)) field.checked = mine === "on";
        else field.value = mine;
        field.closest("details")?.setAttribute("open", "");
        // The server is to see that this was typed over an older version.
        const first = moved && hiddenOf(form).find(({ name }) => name === `initial-${field.name}`);
        if (first) first.value = base;
      }
      if (moved) for (const field of versionsOf(form)) field.value = draft.versions[field.name] ?? field.value;
      here[0].focus();
      done(words.restored);
    },
    async discard() {
      await forget(key);
      fieldsOf(form)[0]?.focus();
      done(words.discarded);
    },
    compare() {
      const table = bar.querySelector(".scroll");
      table.hidden = !table.hidden;
      bar.querySelector("[value=compare]").ariaExpanded = !table.hidden;
    },
  };
  const done = (text) => {
    bar.remove();
    say(text);
    keep(form);
  };
  bar.addEventListener("click", ({ target }) => acts[target.closest("button")?.value]?.());
  form.prepend(bar);
  say(bar.querySelector("p").textContent.trim().replace(/\s+/g, " "));
}

function labelOf(field) {
  const label = [...(field.labels ?? [])].map((one) => one.firstChild.textContent.trim()).join(" ");
  const row = field.closest("fieldset.grid-row")?.querySelector("legend")?.textContent;
  return row ? `${row}: ${label}` : label || field.name;
}

function shown(field, value) {
  if (ticked(field)) return value ? words.yes : words.no;
  return [...(field.options ?? [])].find((one) => one.value === value)?.text || value || "—";
}

// A section is marked by what the server has: what is typed and not saved is pointed at first. Pressing once more leaves it out.
document.body.addEventListener("htmx:confirm", async (event) => {
  const { elt, triggeringEvent, issueRequest } = event.detail;
  if (!elt.dataset.parts || triggeringEvent?.submitter?.value !== "yes" || document.querySelector(".unsaved")) return;
  event.preventDefault();
  const where = await unsaved(elt);
  if (!where) {
    triggeringEvent.submitter.focus(); // htmx sends the value of the button that has the focus
    return issueRequest(true);
  }
  const note = read("draft-unsaved").content.firstElementChild.cloneNode(true);
  const link = note.querySelector("a");
  link.href = where;
  elt.before(note);
  link.focus();
  say(note.textContent.trim().replace(/\s+/g, " "));
});

/** Return where something is typed and not saved: in a form of the page, else in one that is closed just now. */
async function unsaved({ dataset: { parts }, action }) {
  for (const form of document.querySelectorAll("form[data-draft]")) {
    const here = fieldsOf(form);
    const known = bases.get(form.dataset.draft);
    const field = form.querySelector(".draft") ? here[0] : here.find((one) => valueOf(one) !== (known?.[nameOf(one)] ?? sent(one)));
    if (field) return `#${field.id}`;
  }
  const all = IDBKeyRange.bound(place(parts), place(`${parts}\uffff`));
  const keys = wiped ? [] : await store("readonly", (kept) => kept.getAllKeys(all)).catch(() => []);
  const [part, row] = keys.map((key) => key.slice(place(parts).length).split("/")).find(([, row]) => row) ?? [];
  return part && new URL(`../../rows/${part}/${row === "new" ? "add" : `${row}/edit`}/`, action).pathname;
}

// A form that leaves the page was stored if the server then led elsewhere, but not to where one logs in.
let last = "";
try {
  last = sessionStorage.getItem("draft-sent") ?? "";
  sessionStorage.removeItem("draft-sent");
} catch {
  // Without it a stored draft is offered once more.
}
const way = performance.getEntriesByType("navigation")[0];
const answered = way?.redirectCount ? "" : last;
const elsewhere = way?.redirectCount && (way.responseStatus ?? 200) < 400 && !document.querySelector(".door");
if (last.startsWith(place("")) && elsewhere) forget(last.slice(place("").length));

const meetAll = (part) => part.querySelectorAll("form[data-draft]").forEach(meet);
meetAll(document);
document.body.addEventListener("htmx:load", ({ detail }) => {
  if (detail.elt.matches?.("form[data-draft]")) meet(detail.elt);
  meetAll(detail.elt);
});
document.body.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { elt, verb } = detail.requestConfig;
  const stored = detail.shouldSwap && detail.xhr.status < 400 && !/class="door"/.test(detail.xhr.responseText);
  if (stored && verb === "post" && elt.matches("form[data-draft]")) forget(elt.dataset.draft);
});

for (const name of ["input", "change"]) {
  document.addEventListener(name, ({ target }) => {
    const form = target.form;
    if (form?.dataset.draft && !timers.has(form)) timers.set(form, setTimeout(keep, 300, form));
  });
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.matches("[data-logout]")) {
    event.preventDefault();
    leave(form);
  } else if (form.dataset.draft && !wiped) {
    keep(form); // what was typed a moment ago too: the answer may refuse it
    if (form.hasAttribute("hx-post")) return;
    try {
      sessionStorage.setItem("draft-sent", place(form.dataset.draft));
    } catch {
      // As above.
    }
  }
});

// Logging out leaves nothing of this person behind, in no open tab either.
const tabs = new BroadcastChannel("drafts");
tabs.onmessage = ({ data }) => (wiped ||= data === who);

async function leave(form) {
  const all = IDBKeyRange.bound(place(""), place("\uffff"));
  const count = await store("readonly", (kept) => kept.count(all)).catch(() => 0);
  if (!count) return form.submit();
  const dialog = read("logout");
  dialog.querySelector("[data-count]").textContent = count;
  dialog.returnValue = "";
  dialog.onclose = async () => {
    if (dialog.returnValue !== "wipe") return;
    wiped = true;
    tabs.postMessage(who);
    await store("readwrite", (kept) => kept.delete(all)).catch(() => {});
    form.submit();
  };
  dialog.showModal();
}
