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
  const waiting = document.querySelector("[data-login-again]");
  if (document.hidden || !waiting) return;
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
