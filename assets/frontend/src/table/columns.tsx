// The columns of a table from what Python says of them; a pane draws only what needs its own way.

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { fieldOf } from "../fields";
import { writtenIn } from "../format";
import { kindOf } from "../ids";
import type { Store } from "../store";
import { Mark, type Naming, Soft, Tag } from "../ui/basics";
import { termOf } from "../ui/terms";
import type { State } from "../ui/words";
import type { ColumnSpec } from "../wire";
import type { Sortable } from "./sorting";
import { type Column, Table, type TableProps } from "./table";

/** What a pane does its own way in a column, by the key of the column. */
export type Cells<Row> = Readonly<
  Record<string, Partial<Pick<Column<Row>, "value" | "draw" | "full">>>
>;

/** The columns of a table of the document; `cells` has to be the same as long as it does the same. */
export function useColumns<Row extends object>(
  store: Store,
  table: string,
  rows: readonly Row[],
  cells: Cells<Row> = NOTHING,
): Column<Row>[] {
  const specs = store.doc.value?.columns[table] ?? NONE;
  return useMemo(
    () => columnsOf(store, table, specs, rows, cells),
    [store, table, specs, rows, cells],
  );
}

interface RecordProps<Row> extends Omit<TableProps<Row>, "store" | "columns"> {
  store: Store;
  /** The name of its columns. */
  table: string;
  cells?: Cells<Row> | undefined;
}

/** A table of the document as Python has it; see `useColumns` for what `cells` are. */
export function RecordTable<Row extends object>(props: RecordProps<Row>) {
  const columns = useColumns(props.store, props.table, props.rows, props.cells);
  return <Table {...props} columns={columns} />;
}

const NONE: readonly ColumnSpec[] = [];
const NOTHING = {};

export function columnsOf<Row extends object>(
  store: Naming,
  table: string,
  specs: readonly ColumnSpec[],
  rows: readonly Row[],
  cells: Cells<Row>,
): Column<Row>[] {
  return specs.map((spec) => ({
    ...usual(store, spec, rows),
    tip: termOf(table, spec.title) ?? spec.hint,
    ...cells[spec.key],
  }));
}

/** The column as its spec alone has it. */
function usual<Row extends object>(
  store: Naming,
  spec: ColumnSpec,
  rows: readonly Row[],
): Column<Row> {
  const { key, title, width, kind = "text", field = key } = spec;
  const value = (row: Row) => {
    const found = fieldOf(row, field);
    return Array.isArray(found) ? found.length : (found as Sortable); // of a list how long it is
  };
  const full = fullOf<Row>(store, spec);
  const draw = drawOf(store, spec, rows, value);
  const look = spec.look ?? (kind === "code" ? "mono" : undefined);
  return {
    key,
    title,
    width,
    value,
    ...(draw && { draw }),
    ...(full && { full }),
    ...(look && { look }),
    number: kind === "number" || kind === "length",
    wide: spec.is_wide ?? false,
  };
}

function fullOf<Row extends object>(
  store: Naming,
  { key, field = key, kind, unit, full, hint, written }: ColumnSpec,
): Column<Row>["full"] {
  if (kind === "kernel") return (row) => nameOf(store, fieldOf(row, field));
  if (kind === "kernels") return (row) => (fieldOf(row, field) as string[]).join(", ");
  if (kind === "bar" && !full && unit) return (row) => writtenIn(unit, Number(fieldOf(row, field)));
  if (!full) return hint === undefined ? undefined : () => hint;
  return (row) => {
    const gist = fieldOf(row, field);
    const whole = fieldOf(row, full) ?? hint ?? gist ?? "";
    const isApart = typeof gist === "string" && !written && !String(whole).includes(gist);
    return isApart && whole !== ""
      ? `${gist}: ${whole}`
      : String(whole === "" ? (gist ?? "") : whole);
  };
}

function nameOf(store: Naming, kernel: unknown): string {
  return kernel === null ? "" : (store.kernel(kernel as string)?.name ?? String(kernel));
}

function drawOf<Row extends object>(
  store: Naming,
  spec: ColumnSpec,
  rows: readonly Row[],
  value: (row: Row) => Sortable,
): Column<Row>["draw"] {
  const { kind, unit, absent, written } = spec;
  switch (kind) {
    case "tag":
      return (row) => <Tagged row={row} spec={spec} value={value(row)} />;
    case "number":
      return (row) => numberOf(value(row), unit, absent);
    case "kernel":
      return (row) => {
        const kernel = value(row);
        if (kernel === null) return "–";
        const isKernel = kindOf(String(kernel)) === "kernel";
        return isKernel ? <Mark store={store} kernel={String(kernel)} /> : String(kernel);
      };
    case "kernels":
      return (row) => (
        <Marks store={store} kernels={fieldOf(row, spec.field ?? spec.key) as string[]} />
      );
    case "bar":
      return barOf(rows, value, spec.tone);
    default:
      return written === undefined ? undefined : (row) => String(fieldOf(row, written) ?? "–");
  }
}

function numberOf(value: Sortable, unit: ColumnSpec["unit"], absent?: string): ComponentChildren {
  if (typeof value === "string") return value; // words at the right: "360 → 384"
  if (value !== null && value !== undefined) return writtenIn(unit ?? "", Number(value));
  return absent === undefined ? "–" : <span class="mut">{absent}</span>;
}

/** A word in its tone; muted where it has none. */
function Tagged({ row, spec, value }: { row: object; spec: ColumnSpec; value: Sortable }) {
  const words = String(spec.written ? fieldOf(row, spec.written) : (value ?? "–"));
  const tone = spec.tone && (fieldOf(row, spec.tone) as State | "");
  return tone ? (
    <Tag tone={tone} icon={words === "fail" ? "cross" : null}>
      {words}
    </Tag>
  ) : (
    <span class="mut">{words}</span>
  );
}

/** A bar as long as its part of the largest; grey where a row has no tone. */
function barOf<Row extends object>(
  rows: readonly Row[],
  value: (row: Row) => Sortable,
  tone: string | undefined,
): Column<Row>["draw"] {
  const share = shareOf(rows, (row) => Number(value(row) ?? 0));
  const look = (row: Row) => (tone && !fieldOf(row, tone) ? "" : "accent");
  return (row) => <Bars parts={[{ share: share(row), look: look(row) }]} />;
}

/** The part that a row has of the largest. */
export function shareOf<Row>(
  rows: readonly Row[],
  value: (row: Row) => number,
): (row: Row) => number {
  const most = rows.reduce((largest, row) => Math.max(largest, value(row)), 0);
  return (row) => (most > 0 ? value(row) / most : 0);
}

/** Bars over one another, each with its share of the width. */
export function Bars({ parts }: { parts: readonly { share: number; look?: string }[] }) {
  return (
    <span class="meter">
      {parts.map(({ share, look }, at) => (
        <b key={at} class={look} style={{ width: `${share * 100}%` }} />
      ))}
    </span>
  );
}

const MARKS = 6;

function Marks({ store, kernels }: { store: Naming; kernels: string[] }) {
  if (!kernels.length) return <>none</>;
  return (
    <span class="ks">
      {kernels.slice(0, MARKS).map((kernel) => (
        <Mark key={kernel} store={store} kernel={kernel} />
      ))}
      {kernels.length > MARKS && <span class="faint">{`+${kernels.length - MARKS}`}</span>}
    </span>
  );
}

interface ListingProps<Row> {
  store: Store;
  label: string;
  /** The name of its columns. */
  table: string;
  rows: readonly Row[];
}

export function Listing<Row extends object>({ store, label, table, rows }: ListingProps<Row>) {
  const columns = useColumns(store, table, rows);
  return (
    <table class="listing" aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ key, title, tip, number }) => (
            <th key={key} scope="col" class={number ? "num" : undefined} data-tip={tip}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <tr key={at}>
            {columns.map((column) => (
              <td key={column.key} class={lookOf(column)}>
                {column.draw ? column.draw(row) : <Soft text={`${column.value(row) ?? "–"}`} />}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function lookOf<Row>({ number, look }: Column<Row>): string | undefined {
  return [number && "num", look].filter(Boolean).join(" ") || undefined;
}
