// Copy buttons. "Copied" is said only after it happened; where the clipboard is refused, the text is selected.

const words = document.getElementById("announce").dataset;
const say = (text) => document.dispatchEvent(new CustomEvent("say", { detail: text }));

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
  if (label.trim()) button.textContent = words.copied;
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
    say(words.copyFailed);
    tell(button, words.copyFailed);
    button.dispatchEvent(new CustomEvent("copy-failed", { bubbles: true }));
    return;
  }
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // No clipboard here (refused, or the page is not served securely).
    const message = select(button) ? words.copyRefused : words.copyFailed;
    say(message);
    tell(button, message);
    return;
  }
  say(words.copied);
  showCopied(button);
}

// On a line of its own, behind all that stands around the button: nothing is pushed aside or squeezed.
function tell(button, message) {
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
