// The selection spelt out, which is also what a screen reader is told.

import { chainOf } from "../chain";
import type { Store } from "../store";

export function StatusBar({ store }: { store: Store }) {
  const id = store.selected.value;
  const graphs = store.links.value?.kernelGraphs ?? new Set<string>();
  const steps = id === null ? [] : chainOf(store.related.value, graphs, store.relatedLines.value);
  return (
    <div class="status">
      <span class="path" role="status" aria-live="polite">
        {id === null ? "Nothing selected" : <b>{store.labelOf(id)}</b>}
        {steps.map((step) => (
          <>
            <span class="sep" aria-hidden="true">
              →
            </span>
            <span>{step}</span>
          </>
        ))}
      </span>
      <span class="grow" />
      <span class="wide keys" aria-hidden="true">
        <kbd>Esc</kbd> clear
      </span>
      <span class="keys" aria-hidden="true">
        <kbd>Alt</kbd> <kbd>←</kbd> <kbd>→</kbd> history
      </span>
      <span class="keys" aria-hidden="true">
        <kbd>?</kbd> keys
      </span>
    </div>
  );
}
