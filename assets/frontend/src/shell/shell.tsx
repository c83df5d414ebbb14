// The frame of a view: header, tabs, pane, inspector, status bar.

import { PANES } from "../panes";
import type { Store } from "../store";

export function Shell({ store }: { store: Store }) {
  const Pane = PANES[store.pane.value];
  return <div class="wb">{Pane ? <Pane store={store} /> : null}</div>;
}
