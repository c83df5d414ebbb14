// The Accesses pane and its things: what the memory sees of each line of a kernel.

import { amount, bytes, percent } from "../format";
import { Belongings, Head, type RowCardProps, rowThing } from "../inspector/parts";
import { Section } from "../inspector/sections";
import type { Registration } from "../registration";
import type { Store } from "../store";
import { Facts } from "../ui/basics";
import { NamedOffer } from "../ui/offer";
import type { Access } from "../wire";
import { AccessesPane } from "./accesses";

export const accesses: Registration<Store> = {
  id: "accesses",
  Pane: AccessesPane,
  things: {
    access: rowThing((store, id) => store.row("accesses", id), {
      Card: AccessCard,
      label: ({ argument, kind }) => `${kind} ${argument}`,
      isFollowed: true,
    }),
  },
  offer: "Count…",
  Remedy: ({ store }) => (
    <NamedOffer store={store} pane="accesses" ask="accesses" words="Count accesses" />
  ),
  ties({ accesses = [] }, { both }) {
    for (const { id, kernel, line } of accesses) {
      both(id, kernel);
      if (line) both(id, line);
    }
  },
};

function AccessCard({ store, row }: RowCardProps<Access>) {
  return (
    <>
      <Head kind={`Access, ${row.kind}`} title={`${row.argument}, ${row.place}`} />
      <Facts
        of="accesses"
        rows={[
          ["Width", row.vector_bytes === null ? "–" : bytes(row.vector_bytes)],
          ["Sectors", row.sectors === null ? "–" : amount(row.sectors)],
          ["Least", row.least_sectors === null ? "–" : amount(row.least_sectors)],
          ["Used", row.used === null ? "–" : percent(row.used)],
          ["Used, L1", row.used_l1 === null ? "–" : percent(row.used_l1)],
        ]}
      />
      {row.said && (
        <Section title="Why">
          <p>{row.said}</p>
        </Section>
      )}
      <Section title="Layout">
        <p>{row.layout || "not known"}</p>
        {row.looked && <p class="mut">Counted: {row.looked}</p>}
      </Section>
      <Belongings store={store} />
    </>
  );
}
