// Where the reader was in a cell, for the view that takes the place of another when it runs again.

import { batch, effect } from "@preact/signals";
import type { CostKind } from "../wire";
import { chosenCost } from "../cost/cost";
import type { Place, Store } from "../store";

/** A place, with the words of what was selected: a changed cell numbers its lines anew. */
interface Left extends Place {
  words: string | null;
  cost: CostKind | null;
}

/** A cell of JupyterLab, which stays when its outputs go; nothing of this is in the notebook. */
interface Cell extends Element {
  workbenchPlaces?: Map<string, Left>;
}

/** Opens a view that begins anew where the last one of its cell and its program was left. */
export function followCell(store: Store, el: Element, isNew: boolean): () => void {
  let places: Map<string, Left> | undefined;
  return effect(() => {
    const report = store.doc.value;
    const [pane, id] = [store.pane.value, store.selected.value];
    const cost = chosenCost(store);
    const left: Left = {
      ...{ pane, selected: id, isCode: store.isCode.value },
      ...{ words: id && wordsOf(store, id), cost: cost.value },
    };
    if (!report) return;
    const name = report.name.split("(")[0]!;
    if (places) return void places.set(name, left);
    const cell: Cell | null = el.closest(".jp-Cell");
    places = cell ? (cell.workbenchPlaces ??= new Map()) : new Map();
    const before = places.get(name);
    // of what was chosen while it compiled, or by the cell, nothing is taken back
    if (!before || !isNew || pane !== "overview" || id !== null) return;
    if (!report.panes.some((head) => head.id === before.pane)) return;
    const selected = found(store, before);
    const isCode = before.isCode === true && selected !== null;
    batch(() => {
      store.begin({ pane: before.pane, selected, isCode });
      cost.value = before.cost;
    });
  });
}

function wordsOf(store: Store, id: string): string | null {
  return (store.line(id)?.text ?? store.kernel(id)?.name) || null;
}

/** The line or the kernel that was selected, by its words where its number is another's now. */
export function found(store: Store, { selected, words }: Left): string | null {
  if (selected === null || words === null) return null;
  if (wordsOf(store, selected) === words) return selected;
  const { sources, kernels } = store.doc.peek()!;
  const same = selected.startsWith("L:")
    ? sources.flatMap(({ id, first, lines }) =>
        lines.flatMap((text, at) => (text === words ? [`L:${id}:${first + at}`] : [])),
      )
    : kernels.flatMap(({ id, name }) => (name === words ? [id] : []));
  return same.length === 1 ? same[0]! : null;
}
