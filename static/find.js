// Find as a dialog, and the list of keys. Without this file both links lead to pages that show the same.
(() => {
  "use strict";

  const dialog = document.querySelector("[data-find-dialog]");
  if (!dialog) return;
  const input = dialog.querySelector("input");
  const list = dialog.querySelector("[role=listbox]");
  const form = dialog.querySelector("form");
  const DELAY_MS = 150;
  // On a Mac Control+K cuts a line in every field; Command+K is free.
  const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
  let asked = null;
  let timer = 0;
  let shownFor = null;

  const options = () => [...list.querySelectorAll("[role=option]")];
  const chosen = () => list.querySelector("[aria-selected=true]");

  function choose(option) {
    chosen()?.setAttribute("aria-selected", "false");
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-expanded", String(options().length > 0));
  }

  function move(step) {
    const all = options();
    if (all.length) choose(all[(all.indexOf(chosen()) + step + all.length) % all.length]);
  }

  async function look() {
    asked?.abort();
    asked = new AbortController();
    const words = input.value;
    try {
      const address = `${dialog.dataset.findResults}?find=${encodeURIComponent(words)}`;
      const answer = await fetch(address, { signal: asked.signal });
      // Sent to sign in: the page of its own does that, and comes back.
      if (answer.redirected) return form.submit();
      if (!answer.ok) throw new Error(answer.statusText);
      list.innerHTML = await answer.text();
      shownFor = words;
      choose(options()[0]);
    } catch (error) {
      if (error.name === "AbortError") return;
      list.textContent = "This did not work. Enter tries again on a page of its own.";
      choose(null);
    }
  }

  function open() {
    if (document.querySelector("dialog[open]")) return;
    dialog.showModal();
    input.select();
    look();
  }

  input.addEventListener("input", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(look, DELAY_MS);
  });

  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && chosen() && shownFor === input.value) {
      // What is shown answers these very words; else the form is sent, to the page of its own.
      event.preventDefault();
      chosen().click();
    }
  });

  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });

  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-find], [data-help-keys]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    link.closest("details")?.removeAttribute("open");
    if (link.matches("[data-find]")) open();
    else showKeys(link);
  });

  document.addEventListener("keydown", (event) => {
    const modified = isMac ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey;
    if (!modified || event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return;
    if (document.body.dataset.shortcuts === "off") return;
    event.preventDefault();
    open();
  });

  // --- The keys, taken from the help page -----------------------------------------------------------------------------
  async function showKeys(link) {
    if (document.querySelector("dialog[open]")) return;
    try {
      const answer = await fetch(link.href);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const keys = page.querySelector("[data-keys-list]");
      const shown = document.querySelector("[data-keys-dialog]");
      shown.querySelector("[data-keys-here]").replaceChildren(keys);
      nameKeys(shown);
      shown.showModal();
    } catch {
      location.assign(link.href);
    }
  }

  function nameKeys(root) {
    if (isMac) for (const each of root.querySelectorAll("[data-mod]")) each.textContent = each.dataset.mod;
  }

  nameKeys(document);
})();
