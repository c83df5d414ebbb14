// The Memory pane and its things: storages.

import { bytes } from "../format";
import { Belongings, type CardProps, Head } from "../inspector/parts";
import type { Registration } from "../registration";
import type { Store } from "../store";
import { Facts } from "../ui/basics";
import { partOf, storageOf } from "./part";
import { MemoryPane } from "./memory";

export const memory: Registration<Store> = {
  id: "memory",
  Pane: MemoryPane,
  things: {
    storage: {
      Card: StorageCard,
      label: (id, store) => storageOf(partOf(store), id)?.value ?? id,
    },
  },
};

function StorageCard({ store, id }: CardProps) {
  const part = partOf(store);
  const row = storageOf(part, id);
  if (!part || !row) return <h2>{id}</h2>;
  return (
    <>
      <Head kind={`Storage, ${row.kind}`} title={row.value} />
      <Facts
        of="storages"
        rows={[
          ["Bytes", bytes(row.bytes)],
          ["Lives", `step ${row.start} to ${row.end ?? "the end"}`],
          ["At the peak", row.at_peak ? "yes" : "no"],
          ["Peak without it", row.lowers ? `${bytes(row.lowers)} lower` : "the same"],
          ["Module", row.module ?? "–"],
        ]}
      />
      {row.reuse && <p class="mut">{`${row.reuse}.`}</p>}
      <Belongings store={store} />
    </>
  );
}
