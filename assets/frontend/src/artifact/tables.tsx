// What the file holds, needs, takes and gives, and the outputs of a round trip: as tables.

import { written } from "../format";
import type { Store } from "../store";
import { type Cells, RecordTable } from "../table/columns";
import { Frame, Tag } from "../ui/basics";
import type { Member, Requirement, Tone, TripLeaf } from "../wire";

const ROW = 24;
const HEAD = 26;
const SHOWN = 8;

interface Props<Row> {
  store: Store;
  title: string;
  rows: readonly Row[];
  /** The name of its columns, and of its DataFrame where that is another. */
  table: string;
  frame?: string;
  cells?: Cells<Row>;
  more?: number | undefined;
}

/** A table as high as its rows, up to some: the pane itself scrolls. */
export function Part<Row extends { id: string }>(props: Props<Row>) {
  const { store, title, rows, table, frame = table } = props;
  if (!rows.length) return null;
  const height = HEAD + ROW * Math.min(rows.length, SHOWN) + (rows.length > SHOWN ? ROW / 2 : 1);
  return (
    <section class="art-part">
      <div class="bar">
        <h2>{title}</h2>
        {props.more ? <span class="faint">{`and ${props.more} more`}</span> : null}
        <span class="grow" />
        <Frame store={store} name={frame} />
      </div>
      <div class="art-table" style={{ height: `${height}px` }}>
        <RecordTable store={store} label={title} table={table} rows={rows} cells={props.cells} />
      </div>
    </section>
  );
}

/** What the file holds. */
export const MEMBERS: Cells<Member> = {
  name: { draw: (member) => shortName(member.name), full: (member) => member.name },
};

const TONES: Record<Requirement["verdict"], Tone> = {
  pass: "captured",
  warn: "fallback",
  fail: "break",
  "not checked": "plain",
};

export function Verdict({ verdict }: { verdict: Requirement["verdict"] }) {
  return (
    <Tag tone={TONES[verdict]} icon={verdict === "fail" ? "cross" : null}>
      {verdict}
    </Tag>
  );
}

/** What it needs of the machine. */
export const NEEDS: Cells<Requirement> = {
  verdict: { draw: (row) => <Verdict verdict={row.verdict} /> },
  found: { full: (row) => (row.advice ? `${row.found}: ${row.advice}` : row.found) },
};

/** How one output compares with eager's, in a few words. */
export function comparedWords(row: TripLeaf): string {
  if (row.bit_exact) return "bit-exact";
  if (row.max_abs_error === null) return row.note || "differs";
  return `${row.ok ? "within" : "differs by"} ${written(row.max_abs_error, "difference")}`;
}

/** The outputs of its round trip. */
export const LEAVES: Cells<TripLeaf> = {
  compared: {
    value: (row) => (row.bit_exact ? 0 : (row.max_abs_error ?? Infinity)),
    full: (row) => row.note || `allowed: ${row.tolerance}`,
    draw: (row) => <Tag tone={row.ok ? "captured" : "break"}>{comparedWords(row)}</Tag>,
  },
};

/** A kernel's hash is shortened: `kernels/avx2/f25647210950….so`. */
export function shortName(name: string): string {
  // what tells them apart stands last
  return name.replace(/\b([0-9a-f]{8})[0-9a-f]{56}\b/, "$1…").replace(/\/.+\//, "/…/");
}
