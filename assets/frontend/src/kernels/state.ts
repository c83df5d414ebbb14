// Which kernel is shown, which columns, and how wide they are.

import { signal, type Signal } from "@preact/signals";
import { kindOf, ownerOf } from "../ids";
import type { Store } from "../store";

export type ColumnId = "python" | "nodes" | "code" | "wrapper";

export const COLUMNS: readonly ColumnId[] = ["python", "nodes", "code", "wrapper"];

export interface KernelState {
  kernel: Signal<string | null>;
  columns: Signal<readonly ColumnId[]>;
  /** Shares of the width, by column. */
  shares: Signal<Readonly<Record<ColumnId, number>>>;
}

const states = new WeakMap<Store, KernelState>();

/** The state lives as long as the view: another pane takes this one's place for a while. */
export function kernelState(store: Store): KernelState {
  let state = states.get(store);
  if (!state) {
    state = {
      kernel: signal(null),
      columns: signal(firstColumns(store)),
      shares: signal({ python: 1, nodes: 0.8, code: 1.25, wrapper: 1.1 }),
    };
    states.set(store, state);
  }
  return state;
}

/** Without source the wrapper takes its place. */
function firstColumns(store: Store): readonly ColumnId[] {
  const sources = store.doc.peek()?.sources ?? [];
  const hasLines = sources.some((source) => source.lines.length > 0);
  return hasLines ? ["python", "nodes", "code"] : ["nodes", "code", "wrapper"];
}

/** The kernel to show for a selection: its own, or the present one when that is among its. */
export function kernelFor(
  selected: string | null,
  related: ReadonlySet<string>,
  present: string | null,
  all: readonly string[],
): string | null {
  if (selected !== null) {
    const kind = kindOf(selected);
    if (kind === "kernel" && all.includes(selected)) return selected;
    if (kind === "kernel-line" && all.includes(ownerOf(selected))) return ownerOf(selected);
    if (present !== null && related.has(present)) return present;
    for (const id of all) if (related.has(id)) return id;
  }
  return present !== null && all.includes(present) ? present : (all[0] ?? null);
}

/** Turns a column on or off; in a narrow view the oldest of two makes room, and one always stays. */
export function switched(
  columns: readonly ColumnId[],
  id: ColumnId,
  most: number,
): readonly ColumnId[] {
  const shown = visible(columns, most);
  if (shown.includes(id)) return shown.length === 1 ? shown : shown.filter((each) => each !== id);
  const kept = shown.length >= most ? shown.slice(shown.length - most + 1) : shown;
  return [...kept, id];
}

/** As many columns as there is room for, the latest chosen first to stay. */
export function visible(columns: readonly ColumnId[], most: number): readonly ColumnId[] {
  return columns.slice(Math.max(0, columns.length - most));
}
