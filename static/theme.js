// Sets the theme for "as the system", before anything is painted. The server has written every other choice.
(() => {
  const root = document.documentElement;
  if (root.dataset.theme !== "system") return;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    root.dataset.bsTheme = dark.matches ? "dark" : "light";
  };
  apply();
  dark.addEventListener("change", apply);
})();
