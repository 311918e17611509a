// What the pages do beyond HTML. Every write is a plain form and works without this file.
(() => {
  "use strict";

  const narrow = window.matchMedia("(max-width: 767.98px)");
  const find = (selector, root = document) => [...root.querySelectorAll(selector)];

  function announce(text) {
    const region = document.querySelector("[data-announce]");
    if (!region) return;
    // Emptied first: the same words twice are otherwise announced once.
    region.textContent = "";
    window.setTimeout(() => (region.textContent = text), 50);
  }

  // --- Menus: details.oc-menu -----------------------------------------------------------------------------------
  const openMenus = () => find("details.oc-menu[open]");

  document.addEventListener("click", (event) => {
    for (const menu of openMenus()) if (!menu.contains(event.target)) menu.open = false;
  });

  function closeMenus() {
    for (const menu of openMenus()) {
      const hadFocus = menu.contains(document.activeElement);
      menu.open = false;
      if (hadFocus) menu.querySelector("summary").focus();
    }
  }

  // --- Folds: open in the HTML, closed on a phone unless the address points into them -----------------------------
  const folded = new WeakSet();

  function closeFolds() {
    for (const fold of find("details.oc-fold")) {
      if (folded.has(fold)) continue;
      folded.add(fold);
      if (narrow.matches && !fold.contains(addressed())) fold.open = false;
    }
  }

  function addressed() {
    return location.hash ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  }

  function openAddressed() {
    const target = addressed();
    if (!target?.closest("details:not([open])")) return;
    for (let shut = target; (shut = shut.closest("details:not([open])")); ) shut.open = true;
    target.scrollIntoView();
  }

  window.addEventListener("hashchange", openAddressed);

  // --- Live regions: this only says when to ask --------------------------------------------------------------------
  // <div id="live" data-live="/path?seen=VERSION" data-live-state="running|waiting|watching|done">. The answer is 204, or the
  // same element anew with its new version. Back-off from the first to the last delay, in milliseconds.
  // After news it asks more slowly than at first: ten open pages must not cost the server ten requests a second.
  const FIRST = { running: 500, waiting: 2000 };
  const AFTER_NEWS = 1500;
  const LAST = 10000;
  const live = new Map();

  function watch(region) {
    if (region.dataset.liveState === "done") {
      live.delete(region.id);
      return;
    }
    const state = { delay: firstDelay(region), heard: Date.now(), timer: 0 };
    live.set(region.id, state);
    askLater(region.id, state);
  }

  const firstDelay = (region) => FIRST[region.dataset.liveState] ?? LAST;

  function askLater(id, state) {
    window.clearTimeout(state.timer);
    if (!document.hidden) state.timer = window.setTimeout(() => ask(id), state.delay);
  }

  function ask(id) {
    const region = document.getElementById(id);
    if (!region || document.hidden) return;
    const swap = { source: region, target: region, swap: "morph:outerHTML" };
    // A failure is dealt with in htmx:afterRequest; here it would be an unhandled rejection.
    window.htmx.ajax("GET", region.dataset.live, swap).catch(() => {});
  }

  function askNow() {
    for (const [id, state] of live) {
      state.delay = FIRST.running;
      askLater(id, state);
    }
  }

  function isLive(event) {
    return event.target instanceof Element && event.target.matches("[data-live]") && live.has(event.target.id);
  }

  // A page that is not the region (sign-in, after the session ended) must not take its place.
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (!isLive(event) || !event.detail.shouldSwap) return;
    const { body } = new DOMParser().parseFromString(event.detail.serverResponse, "text/html");
    if (body.childElementCount === 1 && body.firstElementChild.id === event.target.id) return;
    event.detail.shouldSwap = false;
    stop(event.target.id);
  });

  document.addEventListener("htmx:afterRequest", (event) => {
    if (!isLive(event)) return;
    const region = document.getElementById(event.target.id);
    const state = live.get(region.id);
    const status = event.detail.xhr.status;
    if ([401, 403, 404, 410].includes(status)) {
      stop(region.id);
      return;
    }
    const heard = status === 200 || status === 204;
    if (heard) state.heard = Date.now();
    showLost(heard ? null : state.heard);
    state.delay = status === 200 ? Math.max(firstDelay(region), AFTER_NEWS) : Math.min(state.delay * 1.5, LAST);
    if (region.dataset.liveState !== "done") askLater(region.id, state);
    else {
      live.delete(region.id);
      if ("liveAround" in region.dataset) refreshAround();
    }
  });

  // The end changes more than the region: buttons, choices of the forms, the timeline. The page is morphed once, and
  // what the reader typed or opened stays.
  function refreshAround() {
    const swap = { source: document.body, target: "#main", select: "#main", swap: "morph:outerHTML show:none" };
    window.htmx.ajax("GET", location.pathname + location.search, swap).then(() => find("[data-live]").forEach(watchNew), () => {});
  }

  function watchNew(region) {
    if (!live.has(region.id)) watch(region);
  }

  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.target.id === "main" && !event.detail.serverResponse.includes('id="timeline"')) event.detail.shouldSwap = false;
  });

  function showLost(since) {
    for (const banner of find("[data-live-lost]")) {
      banner.hidden = since === null;
      const age = banner.querySelector("[data-live-age]");
      if (age && since !== null) age.textContent = `Last news ${Math.round((Date.now() - since) / 1000)} s ago.`;
    }
  }

  function stop(id) {
    window.clearTimeout(live.get(id)?.timer);
    live.delete(id);
    showLost(null);
    for (const banner of find("[data-live-over]")) banner.hidden = false;
  }

  document.addEventListener("visibilitychange", askNow);
  window.addEventListener("online", askNow);
  document.addEventListener("htmx:afterSettle", closeFolds);

  // What the reader did survives a refresh: open details, and what was typed.
  function keepWhatTheReaderDid(defaults) {
    defaults.ignoreActiveValue = true;
    defaults.callbacks.beforeAttributeUpdated = (name, element) => !(name === "open" && element.matches("details, dialog"));
    defaults.callbacks.beforeNodeMorphed = (old) => !isDirty(old);
  }

  function isDirty(node) {
    if (!(node instanceof Element)) return false;
    if (node.matches("input[type=checkbox], input[type=radio]")) return node.checked !== node.defaultChecked;
    if (node.matches("input, textarea")) return node.value !== node.defaultValue;
    if (node.matches("select")) return [...node.options].some((option) => option.selected !== option.defaultSelected);
    return false;
  }

  // --- Copy: [data-copy] holds the stored text, [data-copy-from] names the element that does --------------------------
  // The latter may be a link to the same text, for whoever has no script.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy], [data-copy-from]");
    if (!button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const text = button.dataset.copy ?? document.getElementById(button.dataset.copyFrom)?.textContent;
    if (text === undefined) return;
    event.preventDefault();
    const copied = await copy(text);
    announce(copied ? "Copied" : "Not copied. Select the text and copy it by hand.");
    if (copied) showTick(button);
  });

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return copyBySelection(text);
    }
  }

  // The clipboard is there in a secure context only; a plain http address of a local network is none.
  function copyBySelection(text) {
    const field = document.createElement("textarea");
    const focused = document.activeElement;
    field.value = text;
    field.className = "visually-hidden";
    document.body.append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    focused?.focus();
    return copied;
  }

  function showTick(button) {
    const symbol = button.querySelector("use");
    if (!symbol || button.dataset.copied) return;
    const before = symbol.getAttribute("href");
    button.dataset.copied = "yes";
    symbol.setAttribute("href", before.replace(/#.*/, "#i-check"));
    window.setTimeout(() => {
      delete button.dataset.copied;
      symbol.setAttribute("href", before);
    }, 2000);
  }

  // --- Toasts ------------------------------------------------------------------------------------------------------
  const TOAST_MS = 6000;
  // One with a button stays long enough to be reached by keys.
  const UNDO_MS = 20000;

  function fade(toast) {
    window.setTimeout(
      () => {
        if (toast.matches(":hover, :focus-within")) fade(toast);
        else toast.remove();
      },
      toast.querySelector("form") ? UNDO_MS : TOAST_MS,
    );
  }

  // --- Forms: one press sends once ---------------------------------------------------------------------------------
  // aria-disabled, not disabled: a disabled button loses its name and value, and the focus. Freed again where the page
  // stays: after an htmx request, when the reader comes back to it, and in case the request never left.
  const FREE_MS = 10000;
  const sent = new Map();

  document.addEventListener(
    "submit",
    (event) => {
      const form = event.target;
      if (form.getAttribute("method")?.toLowerCase() !== "post") return;
      if (sent.has(form)) {
        event.preventDefault();
        event.stopImmediatePropagation();
        return;
      }
      sent.set(form, event.submitter);
      event.submitter?.setAttribute("aria-disabled", "true");
      window.setTimeout(() => free(form), FREE_MS);
    },
    true,
  );

  function free(form) {
    sent.get(form)?.removeAttribute("aria-disabled");
    sent.delete(form);
  }

  document.addEventListener("htmx:afterRequest", (event) => free(event.target));
  window.addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    for (const form of [...sent.keys()]) free(form);
    askNow();
  });

  function sendForm(field) {
    const buttons = find("button:not([type=button]):not(.btn-danger)", field.form);
    const button = buttons.find((each) => each.matches(".btn-primary")) ?? buttons[0];
    if (button) field.form.requestSubmit(button);
  }

  // --- Keys --------------------------------------------------------------------------------------------------------
  // A control says its single key in aria-keyshortcuts: a field is focused, everything else is pressed. A link that may
  // stand in a closed menu says its keys in data-keys: "?", or "g i" for two in a row. Before that, other scripts hear
  // of the key by the event oc:key.
  const FIELDS = "input, textarea, select, [contenteditable]";
  const FIRST_OF_TWO = "g";
  const BOTH_WITHIN_MS = 1500;
  let firstAt = -BOTH_WITHIN_MS;

  document.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const field = event.target.closest?.(FIELDS);
    if (event.key === "Escape") closeMenus();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && field?.form) sendForm(field);
    else if (mayPress(event, field)) press(event);
  });

  function mayPress(event, field) {
    const modified = event.ctrlKey || event.metaKey || event.altKey || event.getModifierState("AltGraph");
    const plain = !modified && !event.repeat && event.key.length === 1;
    const busy = field || openMenus().length || document.querySelector("dialog[open]");
    return plain && !busy && document.body.dataset.shortcuts !== "off";
  }

  function press(event) {
    const isSecond = event.timeStamp - firstAt < BOTH_WITHIN_MS;
    firstAt = event.key === FIRST_OF_TWO && !isSecond ? event.timeStamp : -BOTH_WITHIN_MS;
    const keys = isSecond ? `${FIRST_OF_TWO} ${event.key}` : event.key;
    const link = find("[data-keys]").find((each) => each.dataset.keys === keys);
    if (link) {
      event.preventDefault();
      link.click();
    } else if (!isSecond) pressControl(event);
  }

  function pressControl(event) {
    document.dispatchEvent(new CustomEvent("oc:key", { detail: event.key }));
    const control = find("[aria-keyshortcuts]").find(
      (each) => each.getAttribute("aria-keyshortcuts").split(" ").includes(event.key) && each.checkVisibility(),
    );
    if (!control) return;
    event.preventDefault();
    if (control.matches(FIELDS)) control.focus();
    else control.click();
  }

  // --- Theme: what "as the system" shows decides which theme the button offers --------------------------------------
  function offerOtherTheme(button) {
    if (document.documentElement.dataset.bsTheme !== "dark" || button.value === "light") return;
    button.value = "light";
    button.setAttribute("aria-label", "Change to the light theme");
    const symbol = button.querySelector("use");
    symbol.setAttribute("href", symbol.getAttribute("href").replace(/#.*/, "#i-sun"));
    const word = button.querySelector("[data-theme-word]");
    if (word) word.textContent = "Light theme";
  }

  // --- Start: this file is deferred, so the page is there -----------------------------------------------------------
  closeFolds();
  openAddressed();
  find(".oc-toast").forEach(fade);
  find("[data-theme-button]").forEach(offerOtherTheme);
  if (window.htmx && window.Idiomorph) {
    keepWhatTheReaderDid(window.Idiomorph.defaults);
    find("[data-live]").forEach(watch);
  }
})();
