// A pane of a report that Python describes by blocks.

import type { Store } from "../store";
import type { Block } from "../wire";
import { Blocks, type Owns } from "./blocks";

interface Props {
  store: Store;
  title: string;
  blocks: readonly Block[];
  own?: Owns | undefined;
}

/** Its blocks; where several are beside one another the pane itself scrolls. */
export function BlocksPane({ store, title, blocks, own = {} }: Props) {
  const drawn = <Blocks view={store} store={store} own={own} blocks={blocks} isPane />;
  if (!blocks.some(({ kind }) => kind === "columns")) return drawn;
  return (
    <div class="scroll facts-pane" tabIndex={0} role="group" aria-label={title}>
      {drawn}
    </div>
  );
}
