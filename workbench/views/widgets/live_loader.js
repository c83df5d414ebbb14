// The front end of a live view: it is in the page already, or in the one model that all views of a
// kernel share; so that neither a message nor a saved notebook holds it once more for each view.
const HASH = "HASH_OF_BUNDLE", AGAIN = 250, LOOKS = 40; // milliseconds, times
const shared = (globalThis.workbenchViews ??= { modules: {}, waiting: new Set() });

async function inModel(model) {
  const id = String(model.get("front_end")).replace("IPY_MODEL_", "");
  const manager = model.widget_manager;
  for (let look = 0; look < LOOKS && manager.has_model?.(id) === false; look++) {
    await new Promise((resolve) => setTimeout(resolve, AGAIN)); // a page that is being restored
  }
  return (await manager.get_model(id)).get("packed");
}

// A host without a manager of models: the kernel is asked.
function byMessage(model) {
  const id = Math.floor(Math.random() * 2 ** 40);
  return new Promise((resolve) => {
    const receive = (answer, buffers) => {
      if (answer.id !== id) return;
      model.off("msg:custom", receive);
      resolve(buffers[0]);
    };
    model.on("msg:custom", receive);
    model.send({ id, ask: "front-end" });
  });
}

async function packed(model) {
  const found = document.querySelector(`script.wb-bundle[data-hash="${HASH}"]`);
  if (found) {
    const letters = atob(found.textContent.trim());
    const bytes = new Uint8Array(letters.length);
    for (let n = 0; n < letters.length; n++) bytes[n] = letters.charCodeAt(n);
    return bytes;
  }
  return model.widget_manager?.get_model ? inModel(model) : byMessage(model);
}

async function load(model) {
  const bytes = await packed(model);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const { js, css } = JSON.parse(await new Response(stream).text());
  const style = document.createElement("style");
  style.className = "wb-style";
  style.textContent = css;
  document.head.append(style);
  const address = URL.createObjectURL(new Blob([js], { type: "text/javascript" }));
  try {
    return await import(address);
  } finally {
    URL.revokeObjectURL(address);
  }
}

// The style of the page ends at a shadow root, in which marimo shows its widgets.
function dress(el) {
  const tree = el.getRootNode();
  if (!(tree instanceof ShadowRoot) || tree.querySelector("style.wb-style")) return;
  const style = document.head.querySelector("style.wb-style");
  if (style) tree.append(style.cloneNode(true));
}

async function render(context) {
  const loading = (shared.modules[HASH] ??= load(context.model));
  for (const wake of [...shared.waiting]) wake();
  try {
    const { default: frontend } = await loading;
    dress(context.el);
    return frontend.render(context);
  } catch (error) {
    delete shared.modules[HASH];
    context.el.textContent = `The view could not be opened (${error}): run the cell again.`;
  }
}

export default { render };
