// The inbox beyond HTML: ticked rows, and moving through the rows by keys. Every act is a plain form without this file.
(() => {
  "use strict";

  const rows = [...document.querySelectorAll("[data-rows] > li")];
  const form = document.querySelector("[data-bulk]");
  const link = (row) => row.querySelector(".oc-row-title");
  const tick = (row) => row?.querySelector("input[name=nr]");

  // --- Ticked rows: the buttons wait for one, and the head counts them ---------------------------------------------
  const ticks = form ? [...form.querySelectorAll("input[name=nr]")] : [];
  const all = form?.querySelector("[data-bulk-all]");
  let lastTicked = -1;

  function count() {
    if (!form) return;
    const ticked = ticks.filter((each) => each.checked).length;
    all.checked = ticked === ticks.length;
    all.indeterminate = ticked > 0 && ticked < ticks.length;
    form.querySelector("[data-bulk-count]").textContent = ticked ? `${ticked} selected` : "Select";
    for (const button of form.querySelectorAll("[data-bulk-act]")) button.disabled = ticked === 0;
  }

  function toggle(box) {
    box.checked = !box.checked;
    count();
  }

  form?.addEventListener("change", (event) => {
    if (event.target === all) for (const each of ticks) each.checked = all.checked;
    count();
  });

  // Shift and a click tick everything from the last one to here.
  form?.addEventListener("click", (event) => {
    const place = ticks.indexOf(event.target);
    if (place < 0) return;
    if (event.shiftKey && lastTicked >= 0) {
      const [from, to] = [Math.min(place, lastTicked), Math.max(place, lastTicked)];
      for (const each of ticks.slice(from, to + 1)) each.checked = event.target.checked;
    }
    lastTicked = place;
  });

  // Enter in a checkbox would press the form's first button.
  form?.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("input[type=checkbox]")) event.preventDefault();
  });

  // --- Keys: copilot.js decides whether a key counts, and says so ---------------------------------------------------
  let current = -1;

  function mark(place) {
    rows[current]?.removeAttribute("aria-current");
    current = place;
    rows[current]?.setAttribute("aria-current", "true");
  }

  function move(step) {
    const place = Math.min(Math.max(current + step, 0), rows.length - 1);
    if (place < 0) return;
    mark(place);
    link(rows[place]).focus();
    rows[place].scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("focusin", (event) => {
    const place = rows.findIndex((row) => link(row) === event.target || tick(row) === event.target);
    if (place >= 0) mark(place);
  });

  document.addEventListener("oc:key", (event) => {
    const box = tick(rows[current]);
    if (event.detail === "j" || event.detail === "k") move(event.detail === "j" ? 1 : -1);
    else if (event.detail === "x" && box) toggle(box);
    // With nothing ticked, the row that one is at is meant; the button does the rest.
    else if (event.detail === "a" && box && !ticks.some((each) => each.checked)) toggle(box);
  });

  // --- Start: a browser that comes back to the page ticks what was ticked --------------------------------------------
  if (all) all.hidden = false;
  count();
  window.addEventListener("pageshow", count);
})();
