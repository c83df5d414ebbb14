// The tables of a profile; that of the kernels draws each against its bound.

import { useMemo } from "preact/hooks";
import { microseconds, percent, plural } from "../format";
import { type Cells, columnsOf } from "../table/columns";
import { Table } from "../table/table";
import { Copy } from "../ui/basics";
import type { ProfileDocument, ProfileKind, SessionTable } from "../wire";
import { HUES } from "./painting";
import type { ProfileState, Row } from "./state";

interface RowsProps {
  state: ProfileState;
  doc: ProfileDocument;
  table: SessionTable;
}

export function Rows({ state, doc, table }: RowsProps) {
  const columns = useMemo(
    () => columnsOf<Row>(NAMELESS, table.id, table.columns, table.rows, CELLS),
    [table],
  );
  const code = `${doc.variable}.frame("${table.id}")`;
  return (
    <>
      <div class="bar">
        <h2>{table.title}</h2>
        <span class="grow" />
        {table.more > 0 && (
          <span class="mut">{`${plural(table.more, "row")} more in .frame()`}</span>
        )}
        <Copy quiet text={code} label="DataFrame" title={`Copy ${code}`} />
      </div>
      <Table<Row>
        store={state}
        label={table.title}
        columns={columns}
        rows={table.rows}
        id={(row) => String(row.row)}
        none={table.none}
      />
    </>
  );
}

/** Columns of other records name kernels of theirs: a profile's have a title. */
const NAMELESS = { kernel: () => undefined };

const CELLS: Cells<Row> = {
  title: {
    draw: (row) => (
      <span class="prof-name">
        {row.kind && <i style={{ background: `var(${HUES[row.kind as ProfileKind]})` }} />}
        {String(row.title)}
      </span>
    ),
  },
  reached: { draw: (row) => <Reached row={row} /> },
  modelled_us: { draw: (row) => <Modelled row={row} /> },
};

/** What the model expects of one call, with its error. */
function Modelled({ row }: { row: Row }) {
  if (row.modelled_us === null || row.modelled_us === undefined) return <>–</>;
  return (
    <>
      {microseconds(Number(row.modelled_us))}{" "}
      <span class="mut">{`± ${percent(Number(row.modelled_error))}`}</span>
    </>
  );
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
  const tip = [
    `Reaches ${reached.toFixed(2)} of its bound, which is the right edge.`,
    expected &&
      `The model expects ${expected.toFixed(2)} (${low!.toFixed(2)} to ${high!.toFixed(2)}).`,
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
      <span class="num">{reached.toFixed(2)}</span>
    </span>
  );
}
