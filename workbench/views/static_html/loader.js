// The script of a saved view. Replaces the plain summary by the interactive view, and lets only one
// view be seen: this one, or the live one of the same cell when its kernel is there.
(() => {
  const AGAIN = 250, LAB_WAITS = 1500, LOOKS = 15000; // milliseconds
  const shared = (window.workbenchViews ??= { modules: {}, waiting: new Set() });
  const script = document.currentScript;
  const root = script?.closest(".wb-saved") ?? document.querySelector(".wb-saved:not([data-started])");
  if (!root || root.dataset.started) return;
  root.dataset.started = "1";
  const kind = root.dataset.kind;
  const summary = root.querySelector(".wb-summary");
  const cell = root.closest(".jp-OutputArea-child");
  const rendered = root.closest(".jp-RenderedHTMLCommon");
  const isLab = !!document.getElementById("jupyter-config-data");
  const began = Date.now();
  let isShown = false;

  async function unpack(text) {
    const letters = atob(text.trim());
    const bytes = new Uint8Array(letters.length);
    for (let n = 0; n < letters.length; n++) bytes[n] = letters.charCodeAt(n);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  // The front end, loaded once a page; null when no output of this page carries it.
  function frontend(hash) {
    if (shared.modules[hash]) return shared.modules[hash];
    const found = document.querySelector(`script.wb-bundle[data-hash="${hash}"]`);
    if (!found) return null;
    shared.modules[hash] = (async () => {
      const { js, css } = await unpack(found.textContent);
      const style = document.createElement("style");
      style.className = "wb-style"; // a live view in a shadow root takes a copy
      style.textContent = css;
      document.head.append(style);
      const address = URL.createObjectURL(new Blob([js], { type: "text/javascript" }));
      try {
        return await import(address);
      } finally {
        URL.revokeObjectURL(address);
      }
    })();
    for (const wake of [...shared.waiting]) wake();
    return shared.modules[hash];
  }

  function hint(text) {
    let line = root.querySelector(".wb-hint");
    if (!line) {
      line = document.createElement("div");
      line.className = "wb-hint";
      line.style.cssText = "font-size: 11px; opacity: 0.75; margin: 4px 0";
      root.prepend(line);
    }
    line.textContent = text;
    return line;
  }

  async function show() {
    const record = root.querySelector("script.wb-record");
    if (!record || isShown) return;
    const loading = frontend(root.dataset.bundle);
    if (!loading) {
      hint("The interactive view is in another cell of this notebook that is not here yet; run this cell again to see it.");
      shared.waiting.add(show);
      return;
    }
    isShown = true;
    shared.waiting.delete(show);
    const place = document.createElement("div");
    try {
      const [module, embedded] = await Promise.all([loading, unpack(record.textContent)]);
      root.append(place);
      module.mount(place, embedded, kind);
      root.querySelector(".wb-hint")?.remove();
      summary.style.display = "none";
      rendered?.classList.remove("jp-RenderedHTMLCommon"); // its rules are for text, not for a view
      for (const style of document.querySelectorAll("style.wb-of-summary")) style.remove();
    } catch (error) {
      place.remove();
      summary.style.display = "";
      hint(`The interactive view could not be opened (${error}); this is its summary.`);
    }
    document.documentElement.classList.remove("wb-opening");
  }

  // The live view of the same cell stands before this output.
  function live() {
    for (let other = cell?.previousElementSibling; other; other = other.previousElementSibling) {
      if (other.dataset.wbOf && other.dataset.wbOf !== root.id) continue;
      if (other.querySelector(".wb-saved")) break;
      if (other.querySelector(".wb")) return ["alive", other];
      if (/Error (displaying|creating) widget|model not found/i.test(other.textContent)) return ["dead", other];
      const widget = ".jupyter-widgets, .jp-OutputArea-output[data-mime-type*='widget-view']";
      if (other.querySelector(widget)) return ["pending", other];
    }
    return ["none", null];
  }

  function look() {
    const [state, other] = live();
    const waited = Date.now() - began;
    if (other) other.dataset.wbOf = root.id;
    if (state === "alive") {
      other.style.display = "";
      cell.style.display = "none";
    } else if (state !== "pending" || !isLab || waited > LAB_WAITS) {
      if (other) other.style.display = "none";
      if (cell) cell.style.display = "";
      show();
    }
    if (cell && waited < LOOKS) setTimeout(look, AGAIN);
  }

  frontend(root.dataset.bundle);
  look();
})();
