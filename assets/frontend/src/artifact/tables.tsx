// What the file holds, needs, takes and gives, and the outputs of a round trip: as tables.

import { written } from "../format";
import type { Store } from "../store";
import { type Cells, useColumns } from "../table/columns";
import { Table } from "../table/table";
import { Frame, Tag } from "../ui/basics";
import type { Member, Requirement, Tone, TripLeaf } from "../wire";

const ROW = 24;
const HEAD = 26;
const SHOWN = 8;

interface Props<Row> {
  store: Store;
  title: string;
  frame: string;
  /** The name of its columns. */
  table: string;
  cells?: Cells<Row>;
  rows: readonly Row[];
  more?: number;
}

/** A table as high as its rows, up to some: the pane itself scrolls. */
function Part<Row extends { id: string }>(props: Props<Row>) {
  const { store, title, frame, rows } = props;
  const columns = useColumns(store, props.table, rows, props.cells);
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
        <Table store={store} label={title} columns={columns} rows={rows} id={(row) => row.id} />
      </div>
    </section>
  );
}

export function Members({ store }: { store: Store }) {
  const rows = store.doc.value?.file?.members ?? [];
  const more = store.doc.value?.omitted?.members;
  return (
    <Part
      store={store}
      title="What the file holds"
      frame="members"
      table="members"
      cells={MEMBERS}
      rows={rows}
      more={more}
    />
  );
}

const MEMBERS: Cells<Member> = {
  name: { draw: (member) => shortName(member.name), full: (member) => member.name },
};

const TONES: Record<Requirement["verdict"], Tone> = {
  pass: "captured",
  warn: "fallback",
  fail: "break",
};

export function Requirements({ store }: { store: Store }) {
  const rows = store.doc.value?.file?.requirements ?? [];
  return (
    <Part
      store={store}
      title="Does it load on this machine?"
      frame="requirements"
      table="requirements"
      cells={NEEDS}
      rows={rows}
    />
  );
}

export function Verdict({ verdict }: { verdict: Requirement["verdict"] }) {
  return (
    <Tag tone={TONES[verdict]} icon={verdict === "fail" ? "cross" : null}>
      {verdict}
    </Tag>
  );
}

const NEEDS: Cells<Requirement> = {
  verdict: { draw: (row) => <Verdict verdict={row.verdict} /> },
  found: { full: (row) => (row.advice ? `${row.found}: ${row.advice}` : row.found) },
};

export function Contract({ store }: { store: Store }) {
  const rows = store.doc.value?.file?.contract ?? [];
  return (
    <Part
      store={store}
      title="What it takes and gives"
      frame="contract"
      table="contract"
      rows={rows}
    />
  );
}

export function Outputs({ store }: { store: Store }) {
  const rows = store.doc.value?.file?.leaves ?? [];
  return (
    <Part
      store={store}
      title="Outputs beside eager"
      frame="roundtrip_leaves"
      table="leaves"
      cells={LEAVES}
      rows={rows}
    />
  );
}

/** How one output compares with eager's, in a few words. */
export function comparedWords(row: TripLeaf): string {
  if (row.bit_exact) return "bit-exact";
  if (row.max_abs_error === null) return row.note || "differs";
  return `${row.ok ? "within" : "differs by"} ${written(row.max_abs_error, "difference")}`;
}

const LEAVES: Cells<TripLeaf> = {
  compared: {
    value: (row) => (row.bit_exact ? 0 : (row.max_abs_error ?? Infinity)),
    full: (row) => row.note || `allowed: ${row.tolerance}`,
    draw: (row) => <Tag tone={row.ok ? "captured" : "break"}>{comparedWords(row)}</Tag>,
  },
};

/** A kernel's hash is shortened: `kernels/avx2/f25647210950….so`. */
export function shortName(name: string): string {
  return name.replace(/\b([0-9a-f]{12})[0-9a-f]{52}\b/, "$1…");
}
