// Tables of a document: rows of the report, rows that come with the block, shaded numbers.

import { useMemo } from "preact/hooks";
import { rowsAt } from "../fields";
import { plural } from "../format";
import type { Store } from "../store";
import { RecordTable } from "../table/columns";
import { ShownTable } from "../table/shown";
import { FEW, type Selecting } from "../table/table";
import { Frame } from "../ui/basics";
import { ofPass } from "../ui/pass";
import type { HeatBlock, RecordBlock, Side, TableBlock } from "../wire";

const [ROW, HEAD, BAR, FILTER] = [24, 26, 30, 34]; // px
const SEEN = 20;

/** The height of so many rows, with half of the next one where there are more. */
function heightOf(rows: number, seen: number): string {
  const filter = rows > FEW ? FILTER : 0;
  return `${filter + HEAD + ROW * Math.min(rows, seen) + (rows > seen ? ROW / 2 : 1)}px`;
}

interface Row {
  id: string;
  side?: Side;
}

/** The rows of a table of the report: as high as they are, or all the room that is left. */
export function RecordRows({ store, block }: { store: Store; block: RecordBlock }) {
  const report = store.doc.value!;
  const side = store.side.value;
  const rows = useMemo(
    () => ofPass(store, rowsAt<Row>(report, block.place)),
    [store, report, block.place, side],
  );
  const table = (
    <RecordTable
      store={store}
      label={block.label}
      table={block.table}
      rows={rows}
      {...(block.none && { none: block.none })}
      {...(block.order && { order: { key: block.order, direction: "desc" } })}
    />
  );
  return (
    <>
      <div class="bar">
        <h2>{block.title}</h2>
        {block.more > 0 && <span class="faint">{`and ${block.more} more`}</span>}
        <span class="faint cut" data-tip="">
          {block.note}
        </span>
        <span class="grow" />
        <Frame store={store} name={block.frame} />
      </div>
      {block.seen === null ? (
        table
      ) : (
        <div class="blk-rows" style={{ flexBasis: heightOf(rows.length, block.seen) }}>
          {table}
        </div>
      )}
    </>
  );
}

export function OwnRows({ view, block }: { view: Selecting; block: TableBlock }) {
  const { table, call, is_open } = block;
  const rows = (
    <div
      class="blk-rows"
      style={{ flexBasis: `calc(${heightOf(table.rows.length, SEEN)} + ${BAR}px)` }}
    >
      <ShownTable store={view} table={table} code={call} />
    </div>
  );
  if (is_open === null) return rows;
  return (
    <details class="blk-fold" open={is_open}>
      <summary>
        {table.title} <span class="mut">{plural(table.rows.length + table.more, "row")}</span>
      </summary>
      {rows}
    </details>
  );
}

export interface HeatCell {
  shade: number | null;
  words: string;
  tip?: string;
  open?(): void;
}

interface HeatRow {
  label: string;
  cells: readonly HeatCell[];
}

interface HeatProps {
  corner: string;
  columns: readonly string[];
  rows: readonly HeatRow[];
  /** What the head of a column or a row means. */
  tip?: string | undefined;
}

/** Numbers, stronger the further they are from the best. */
export function HeatTable({ corner, columns, rows, tip }: HeatProps) {
  return (
    <table class="heat-table">
      <thead>
        <tr>
          {[corner, ...columns].map((words, at) => (
            <th key={at} scope="col" data-tip={tip}>
              {words}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ label, cells }) => (
          <tr key={label}>
            <th scope="row" data-tip={tip}>
              {label}
            </th>
            {cells.map(({ shade, words, tip, open }, at) =>
              shade === null ? (
                <td key={at}>{words}</td>
              ) : (
                <td
                  key={at}
                  class="shaded"
                  style={{ "--shade": shade }}
                  data-tip={tip}
                  onClick={open}
                >
                  {words}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Heat({ block }: { block: HeatBlock }) {
  const rows = block.rows.map(({ label, cells }) => ({
    label,
    cells: cells.map(([shade, words]) => ({ shade, words })),
  }));
  return (
    <details class="blk-fold" open={block.is_open}>
      <summary>
        {block.title} <span class="mut">{block.caption}</span>
      </summary>
      <div class="blk-across" tabIndex={0} role="group" aria-label={block.title}>
        <HeatTable corner={block.corner} columns={block.columns} rows={rows} />
      </div>
    </details>
  );
}
