// How the kernels of a profile are drawn in their table: each against its bound.

import { microseconds, percent } from "../../format";
import type { Cells } from "../../table/columns";
import type { ProfileKind } from "./wire";
import { HUES } from "./painting";
import type { Row } from "./state";

export const CELLS: Cells<Row> = {
  title: {
    draw: (row) => (
      <span class="prof-name">
        {row.kind && <i style={{ background: `var(${HUES[row.kind as ProfileKind]})` }} />}
        <span class="cut">{String(row.title)}</span>
      </span>
    ),
  },
  reached: { draw: (row) => <Reached row={row} /> },
  modelled_us: { draw: (row) => <Modelled row={row} /> },
};

/** What the model expects of one call, with its error. */
function Modelled({ row }: { row: Row }) {
  if (row.modelled_us === null || row.modelled_us === undefined) return <>–</>;
  const error = row.modelled_error === null ? "?" : percent(Number(row.modelled_error));
  return [microseconds(Number(row.modelled_us)), <span class="mut">{` ± ${error}`}</span>];
}

/** How near one comes to its bound, which is the right edge, beside what the model expects. */
function Reached({ row }: { row: Row }) {
  const reached = row.reached as number | null;
  if (reached === null) return <span class="mut">–</span>;
  const [bound, modelled, error] = [row.bound_us, row.modelled_us, row.modelled_error].map(Number);
  const expected = row.modelled_us ? Math.min(1, bound! / modelled!) : null;
  const [low, high] = expected
    ? [expected / (1 + error!), Math.min(1, expected / Math.max(0.01, 1 - error!))]
    : [0, 0];
  const isKnown = row.modelled_error !== null;
  const range = isKnown ? `${partOf(low!)} to ${partOf(high!)}` : "error not measured";
  const tip = [
    `Reaches ${partOf(reached)} of its bound (right edge).`,
    expected && `Modelled: ${partOf(expected)} (${range}).`,
  ];
  const width = `${Math.min(1, reached) * 100}%`;
  return (
    <span class="prof-near" data-tip={tip.filter(Boolean).join("\n")}>
      <span class="track">
        <i style={{ width, background: `var(${HUES[row.kind as ProfileKind] ?? "--control"})` }} />
        {expected !== null && (
          <>
            <b style={{ left: `${low! * 100}%`, width: `${(high! - low!) * 100}%` }} />
            <u style={{ left: `${expected * 100}%` }} />
          </>
        )}
      </span>
      <span class="num">{partOf(reached)}</span>
    </span>
  );
}

/** A part of a whole; what is there is not said to be nothing. */
function partOf(value: number): string {
  return value > 0 && value < 0.005 ? "<0.01" : value.toFixed(2);
}
