// What the file holds, needs, takes and gives, and the outputs of a round trip: as tables.

import { bytes } from "../format";
import type { Store } from "../store";
import { Table, type Column } from "../table/table";
import { Frame, Tag } from "../ui/basics";
import type { ContractLeaf, Member, Requirement, Tone, TripLeaf } from "../wire";
import { shortName } from "./names";

const ROW = 24;
const HEAD = 26;
const SHOWN = 8;

interface Props<Row> {
  store: Store;
  title: string;
  frame: string;
  columns: Column<Row>[];
  rows: readonly Row[];
  more?: number;
}

/** A table as high as its rows, up to some: the pane itself scrolls. */
function Part<Row extends { id: string }>(props: Props<Row>) {
  const { store, title, frame, columns, rows } = props;
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
      columns={MEMBERS}
      rows={rows}
      more={more}
    />
  );
}

const MEMBERS: Column<Member>[] = [
  {
    key: "name",
    title: "Member",
    width: "minmax(120px, 1.6fr)",
    value: (member) => member.name,
    draw: (member) => shortName(member.name),
    full: (member) => member.name,
    look: "mono",
  },
  {
    key: "what",
    title: "What",
    width: "minmax(90px, 1fr)",
    value: (member) => member.what,
    look: "mut",
  },
  {
    key: "size",
    title: "Size",
    width: "64px",
    value: (member) => member.size,
    draw: (member) => bytes(member.size),
    number: true,
  },
];

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
      columns={NEEDS}
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

const NEEDS: Column<Requirement>[] = [
  {
    key: "verdict",
    title: "Check",
    width: "62px",
    value: (row) => row.verdict,
    draw: (row) => <Verdict verdict={row.verdict} />,
  },
  { key: "name", title: "Of", width: "minmax(76px, 0.8fr)", value: (row) => row.name },
  {
    key: "needed",
    title: "Needs",
    width: "minmax(76px, 1fr)",
    value: (row) => row.needed,
    look: "mono",
  },
  {
    key: "found",
    title: "Here",
    width: "minmax(76px, 1fr)",
    value: (row) => row.found,
    full: (row) => (row.advice ? `${row.found}: ${row.advice}` : row.found),
    look: "mono",
  },
];

export function Contract({ store }: { store: Store }) {
  const rows = store.doc.value?.file?.contract ?? [];
  const several = rows.some((row) => row.model);
  const columns = several ? [MODEL, ...CONTRACT] : CONTRACT;
  return (
    <Part
      store={store}
      title="What it takes and gives"
      frame="contract"
      columns={columns}
      rows={rows}
    />
  );
}

const MODEL: Column<ContractLeaf> = {
  key: "model",
  title: "Model",
  width: "minmax(60px, 0.6fr)",
  value: (row) => row.model,
};

const CONTRACT: Column<ContractLeaf>[] = [
  { key: "side", title: "Side", width: "56px", value: (row) => row.side, look: "mut" },
  {
    key: "name",
    title: "Name",
    width: "minmax(90px, 1.3fr)",
    value: (row) => row.name,
    look: "mono",
  },
  {
    key: "dtype",
    title: "Dtype",
    width: "minmax(64px, 0.6fr)",
    value: (row) => row.dtype,
    look: "mono",
  },
  {
    key: "shape",
    title: "Shape",
    width: "minmax(90px, 1.2fr)",
    value: (row) => row.shape,
    look: "mono",
  },
];

export function Outputs({ store }: { store: Store }) {
  const rows = store.doc.value?.file?.leaves ?? [];
  return (
    <Part
      store={store}
      title="Outputs beside eager"
      frame="roundtrip_leaves"
      columns={LEAVES}
      rows={rows}
    />
  );
}

/** How one output compares with eager's, in a few words. */
export function comparedWords(row: TripLeaf): string {
  if (row.bit_exact) return "bit-exact";
  if (row.max_abs_error === null) return row.note || "differs";
  return `${row.ok ? "within" : "differs by"} ${row.max_abs_error.toPrecision(2)}`;
}

const LEAVES: Column<TripLeaf>[] = [
  { key: "way", title: "Way", width: "minmax(110px, 1fr)", value: (row) => row.way },
  {
    key: "leaf",
    title: "Output",
    width: "minmax(90px, 1fr)",
    value: (row) => row.leaf,
    look: "mono",
  },
  {
    key: "compared",
    title: "Difference",
    width: "minmax(100px, 1fr)",
    value: (row) => (row.bit_exact ? 0 : (row.max_abs_error ?? Infinity)),
    full: (row) => row.note || `allowed: ${row.tolerance}`,
    draw: (row) => <Tag tone={row.ok ? "captured" : "break"}>{comparedWords(row)}</Tag>,
  },
];
