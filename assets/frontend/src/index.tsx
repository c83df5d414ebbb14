// The two doors of the bundle: `render` for anywidget, `mount` for pages without a kernel.

import { effect } from "@preact/signals";
import { render as draw } from "preact";
import "./css/index.css";
import { liveHost, type Model } from "./hosts/live";
import { pageHost } from "./hosts/page";
import { Shell } from "./shell/shell";
import { Store } from "./store";
import type { Embedded, PaneId } from "./wire";

export interface View {
  store: Store;
  close(): void;
}

function open(el: HTMLElement, store: Store): View {
  draw(<Shell store={store} />, el);
  return {
    store,
    close() {
      draw(null, el);
      store.close();
    },
  };
}

/** Shows a document that was embedded in a page or in a saved output. */
export function mount(el: HTMLElement, embedded: Embedded, kind: "page" | "saved" = "page"): View {
  return open(el, new Store(pageHost(embedded, kind)));
}

/** Keeps the pane and the selection in the model, so that a reload finds them again. */
function keepPlace(store: Store, model: Model): () => void {
  const pane = model.get("pane") as PaneId | undefined;
  const selected = model.get("selected") as string | null | undefined;
  if (pane || selected) store.select(selected ?? null, { pane: pane ?? store.pane.peek() });
  return effect(() => {
    model.set("pane", store.pane.value);
    model.set("selected", store.selected.value);
    model.save_changes();
  });
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const host = liveHost(model);
  const store = new Store(host);
  const forget = keepPlace(store, model);
  const view = open(el, store);
  return () => {
    forget();
    view.close();
    host.close();
  };
}

export default { render };
