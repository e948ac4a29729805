// Passkeys: a form marked data-passkey is sent only with what the browser's passkey answered.

const form = document.querySelector("form[data-passkey]");
const trouble = form.querySelector("[role=alert]");

function say(which) {
  trouble.textContent = trouble.dataset[which];
  trouble.hidden = false;
}

/** Ask the browser for a new passkey, or for an answer of one that is known. */
async function ask(kind) {
  const options = JSON.parse(document.getElementById("passkey-options").textContent);
  if (kind === "create") {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options.creation_options.publicKey);
    return navigator.credentials.create({ publicKey });
  }
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options.request_options.publicKey);
  return navigator.credentials.get({ publicKey });
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  trouble.hidden = true;
  if (!navigator.credentials || !window.PublicKeyCredential?.parseRequestOptionsFromJSON) return say("missing");
  try {
    const passkey = await ask(form.dataset.passkey);
    form.elements.credential.value = JSON.stringify(passkey.toJSON());
    form.submit();
  } catch (error) {
    say({ InvalidStateError: "known", SecurityError: "missing" }[error.name] ?? "refused");
  }
});
