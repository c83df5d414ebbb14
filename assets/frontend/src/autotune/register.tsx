// The Autotune pane and its things: choices that were timed, configurations that a model ranked.

import { bytes, microseconds, percent, plural, seconds, sentence } from "../format";
import { kindOf } from "../ids";
import { Head, type RowCardProps, rowThing } from "../inspector/parts";
import type { Registration } from "../registration";
import type { Store } from "../store";
import { Chips, Facts, Prose, Tag } from "../ui/basics";
import { MaxAutotune } from "../ui/offer";
import type { Choice, Ranked } from "../wire";
import { AutotunePane } from "./autotune";

export const autotune: Registration<Store> = {
  id: "autotune",
  Pane: AutotunePane,
  offer: "Try max-autotune…",
  Remedy: MaxAutotune,
  things: {
    choice: rowThing((store, id) => store.row("choices", id), {
      Card: ChoiceCard,
      label: ({ choice }) => choice,
    }),
    ranked: rowThing((store, id) => store.row("ranked", id), {
      Card: RankedCard,
      label: (row) => `${row.kernel} with ${row.choice}, ${plural(row.warps, "warp")}`,
    }),
  },
  ties(report, { both }) {
    for (const choice of report.choices)
      if (kindOf(choice.op) === "kernel") both(choice.id, choice.op);
  },
};

function ChoiceCard({ row: choice }: RowCardProps<Choice>) {
  return (
    <>
      <Head kind={`Choice for ${choice.op}`} title={choice.choice} />
      {choice.chosen && <Tag tone="captured">Chosen</Tag>}
      <Facts
        of="choices"
        rows={[
          ["Kind", choice.kind],
          ["Time", choice.time_ms === null ? "not timed" : seconds(choice.time_ms / 1e3)],
        ]}
      />
      {choice.note && (
        <p>
          <Prose text={choice.note} />
        </p>
      )}
    </>
  );
}

function RankedCard({ store, row }: RowCardProps<Ranked>) {
  return (
    <>
      <Head kind={`Configuration of ${row.kernel} on ${row.target}`} title={row.choice} />
      {row.rejection && (
        <p>
          <Tag tone="fallback">{row.rejection}</Tag>
        </p>
      )}
      <p>Compiled, not run: its time is what a model gives it.</p>
      <Facts of="ranked" rows={factsOf(row)} />
      {row.note && <p>{`${sentence(row.note)}.`}</p>}
      <Chips store={store} title="Kernel" ids={[row.kernel]} />
    </>
  );
}

function factsOf(row: Ranked): [string, string][] {
  const facts: [string, string | null][] = [
    ["Rank", row.rank === null ? null : String(row.rank)],
    ["Time (estimate)", row.model_us === null ? null : microseconds(row.model_us)],
    ["With the prior", row.placed_us === null ? null : microseconds(row.placed_us)],
    ["Warps, stages", `${row.warps}, ${row.stages}`],
    ["Registers", row.registers === null ? null : String(row.registers)],
    ["Spills", row.spills === null ? null : String(row.spills)],
    ["Shared memory", row.smem_bytes === null ? null : bytes(row.smem_bytes)],
    ["Occupancy (estimate)", row.occupancy === null ? null : percent(row.occupancy)],
    ["Limited by", row.limiter],
  ];
  return facts.flatMap(([name, value]) => (value === null ? [] : [[name, value]]));
}
