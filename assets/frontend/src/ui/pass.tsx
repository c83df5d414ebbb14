// Forward or backward: one filter for all panes, where a compilation has both.

import type { Store } from "../store";
import type { Side } from "../wire";

/** The rows of the pass that is shown; what belongs to both always is. */
export function ofPass<Row extends { side: Side }>(store: Store, rows: readonly Row[]): Row[] {
  const side = store.side.value;
  return rows.filter((row) => !side || !row.side || row.side === side);
}

export function PassFilter({ store }: { store: Store }) {
  const report = store.doc.value;
  if (![...(report?.graphs ?? []), ...(report?.kernels ?? [])].some((row) => row.side)) return null;
  return (
    <select
      class="btn"
      aria-label="Pass"
      value={store.side.value}
      onChange={(event) => (store.side.value = event.currentTarget.value as Side)}
    >
      <option value="">Both passes</option>
      <option value="forward">Forward</option>
      <option value="backward">Backward</option>
    </select>
  );
}
