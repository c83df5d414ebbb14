// Forward or backward: one filter for all panes, where a compilation has both.

import type { Store } from "../store";
import type { Side } from "../wire";
import { Select } from "./basics";

/** The rows of the pass that is shown; what belongs to both always is. */
export function ofPass<Row extends { side?: Side }>(store: Store, rows: readonly Row[]): Row[] {
  const side = store.side.value;
  return rows.filter((row) => !side || !row.side || row.side === side);
}

const PASSES = [
  ["", "Forward and backward"],
  ["forward", "Forward"],
  ["backward", "Backward"],
] as const;

export function PassFilter({ store }: { store: Store }) {
  const report = store.doc.value;
  if (![...(report?.graphs ?? []), ...(report?.kernels ?? [])].some((row) => row.side)) return null;
  return (
    <Select
      label="Pass"
      of={PASSES}
      value={store.side.value}
      set={(side) => (store.side.value = side as Side)}
    />
  );
}
