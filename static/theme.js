// Runs before the first paint, so that a chosen theme does not flash; everything else waits for the page.
(() => {
  const root = document.documentElement;
  const themes = ["system", "light", "dark"];
  root.dataset.js = "";

  const stored = () => {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null; // storage may be forbidden: the system's theme it is
    }
  };
  const show = (theme) => {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
  };
  show(stored());

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.querySelector("[data-theme-switch]");
    if (!button) return;
    const name = (theme) => {
      button.title = button.dataset[theme];
      button.querySelector(".visually-hidden").textContent = button.dataset[theme];
    };
    name(root.dataset.theme ?? "system");
    button.addEventListener("click", () => {
      const theme = themes[(themes.indexOf(root.dataset.theme ?? "system") + 1) % themes.length];
      show(theme);
      name(theme);
      document.dispatchEvent(new CustomEvent("say", { detail: button.dataset[theme] }));
      try {
        localStorage.setItem("theme", theme);
      } catch {
        // The choice holds for this page only.
      }
    });
  });
})();
