// The Checks pane and its things: findings in hand-written kernels, each on its line.

import { Belongings, Head, type RowCardProps, rowThing } from "../inspector/parts";
import type { Registration } from "../registration";
import type { Store } from "../store";
import { Facts, Prose } from "../ui/basics";
import { NamedOffer } from "../ui/offer";
import type { CheckFinding } from "../wire";
import { ChecksPane } from "./checks";

export const checks: Registration<Store> = {
  id: "checks",
  Pane: ChecksPane,
  things: {
    finding: rowThing((store, id) => store.row("check_findings", id), {
      Card: FindingCard,
      label: ({ kind, number }) => (number === null ? kind : `${kind}, line ${number}`),
    }),
  },
  offer: "Run…",
  Remedy: ({ store }) => (
    <NamedOffer store={store} pane="checks" ask="check-kernels" words="Run under watch" />
  ),
  ties({ check_findings = [] }, { both }) {
    for (const { id, line } of check_findings) if (line) both(id, line);
  },
};

function FindingCard({ store, row }: RowCardProps<CheckFinding>) {
  return (
    <>
      <Head kind="Finding" title={row.kind} />
      <p>
        <Prose text={row.text} />
      </p>
      <Facts
        of="check_findings"
        rows={[
          ["Kernel", row.kernel],
          ["Argument", row.argument || "–"],
          ["Call", row.case || "as given"],
        ]}
      />
      <Belongings store={store} />
    </>
  );
}
