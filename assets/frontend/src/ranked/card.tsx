// A ranked configuration in the inspector.

import { bytes, microseconds, percent } from "../format";
import type { CardProps } from "../inspector/parts";
import { Chips, Facts, Tag } from "../ui/basics";
import type { Ranked } from "../wire";

export function RankedCard({ store, id }: CardProps) {
  const row = store.doc.value?.ranked.find((each) => each.id === id);
  if (!row) return <h2>{id}</h2>;
  return (
    <>
      <div class="kind">{`Configuration of ${row.kernel} on ${row.target}`}</div>
      <h2>{row.choice}</h2>
      {row.rejection && (
        <p>
          <Tag tone="fallback">{row.rejection}</Tag>
        </p>
      )}
      <p>Compiled, not run: its time is what a model gives it.</p>
      <Facts rows={factsOf(row)} />
      {row.note && <p>{row.note}</p>}
      <Chips store={store} title="Kernel" ids={[row.kernel]} />
    </>
  );
}

function factsOf(row: Ranked): [string, string][] {
  const facts: [string, string | null][] = [
    ["Rank", row.rank === null ? null : String(row.rank)],
    ["Time (estimate)", row.model_us === null ? null : microseconds(row.model_us)],
    ["Warps, stages", `${row.warps}, ${row.stages}`],
    ["Registers", row.registers === null ? null : String(row.registers)],
    ["Spills", row.spills === null ? null : String(row.spills)],
    ["Shared memory", row.smem_bytes === null ? null : bytes(row.smem_bytes)],
    ["Occupancy (estimate)", row.occupancy === null ? null : percent(row.occupancy)],
    ["Limited by", row.limiter],
  ];
  return facts.flatMap(([name, value]) => (value === null ? [] : [[name, value]]));
}
