// The Streams pane and its things: collectives.

import { bytes, microseconds } from "../format";
import { Belongings, Head, type RowCardProps, rowThing } from "../inspector/parts";
import type { Registration } from "../registration";
import type { Store } from "../store";
import { Facts } from "../ui/basics";
import type { CollectiveRow } from "../wire";
import { StreamsPane } from "./streams";

export const streams: Registration<Store> = {
  id: "streams",
  Pane: StreamsPane,
  things: {
    collective: rowThing((store, id) => store.row("collectives", id), {
      Card: CollectiveCard,
      label: ({ op }) => op,
      isFollowed: true,
    }),
  },
  ties({ collectives = [] }, { both }) {
    for (const { id, kernel, wait_kernel, line } of collectives)
      for (const other of [kernel, wait_kernel, line]) if (other) both(id, other);
  },
};

function CollectiveCard({ store, row }: RowCardProps<CollectiveRow>) {
  return (
    <>
      <Head kind="Collective" title={row.op} />
      <Facts
        of="collectives"
        rows={[
          ["Message", row.bytes === null ? "–" : bytes(row.bytes)],
          ["Group", row.group],
          ["Modelled, µs", microseconds(row.est_us)],
          ["Exposed, µs", microseconds(row.exposed_us)],
          ["By", row.said],
          ["Place", row.place],
        ]}
      />
      <Belongings store={store} />
    </>
  );
}
