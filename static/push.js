// While a page is looked at, the server tells it that there is news for its reader; what asks for news asks then.

const AGAIN = 60_000; // ms until another try, where the server has no line free
const address = document.body.dataset.news;
let line;
let held = false;

function call() {
  if (line || document.hidden) return;
  line = new EventSource(address);
  line.addEventListener("open", () => {
    if (held) tell(); // whatever was told while nobody listened
    held = true;
  });
  line.addEventListener("news", tell);
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

const tell = () => htmx.trigger(document.body, "news");

if (address) {
  call();
  document.addEventListener("visibilitychange", () => (document.hidden ? hangUp() : call()));
  addEventListener("pagehide", hangUp);
  addEventListener("pageshow", call);
}
