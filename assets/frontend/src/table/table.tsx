// The table of every pane: a sticky head, rows drawn as they come into sight, sorting, selection.

import type { ReadonlySignal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useContext, useId, useMemo, useRef } from "preact/hooks";
import { plural } from "../format";
import type { HasPaneStates } from "../panestates";
import { lookOf } from "../pair";
import { usePaneState, useReveal } from "../ui/kept";
import { RoomContext, useWidth } from "../ui/size";
import { type Rows, useRows } from "../ui/virtual";
import { type Order, type Sortable, sorted, turned } from "./sorting";

export interface Column<Row> {
  key: string;
  title: string;
  /** A track of CSS grid, such as `minmax(0, 2fr)` or `80px`. */
  width: string;
  /** What is compared, copied and shown in full when the cell is cut. */
  value(row: Row): Sortable;
  /** What is drawn; the text of `value` without it. */
  draw?(row: Row): ComponentChildren;
  /** The full text, where `value` is not it. */
  full?(row: Row): string;
  /** What the column is, over its head. */
  tip?: string | undefined;
  look?: string;
  number?: boolean;
  /** Hidden in a narrow view. */
  wide?: boolean;
}

/** What a table needs of the state that it is part of. */
export interface Selecting extends HasPaneStates {
  readonly selected: ReadonlySignal<string | null>;
  readonly related: ReadonlySignal<ReadonlySet<string>>;
  select(id: string): void;
}

export interface TableProps<Row> {
  store: Selecting;
  label: string;
  columns: Column<Row>[];
  rows: readonly Row[];
  /** What a row selects; its `id` without it. */
  id?(row: Row): string;
  order?: Order;
  /** What is said when there are no rows. */
  none?: string;
  /** What Enter and a double click do with a row. */
  open?(row: Row): void;
  /** What a click does in place of selecting. */
  click?(row: Row): void;
  /** Whether the pane has a filter of its own. */
  isFiltered?: boolean;
}

/** A table of more rows has a filter. */
export const FEW = 12;

/** The rows that have every one of these words in their cells. */
export function matching<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  words: string,
): readonly Row[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (!wanted.length) return rows;
  return rows.filter((row) => {
    const text = columns
      .map((column) => textOf(column, row))
      .join("\n")
      .toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

/** What a cell shows and what it stands for; of marks only the latter. */
function textOf<Row>(column: Column<Row>, row: Row): string {
  const drawn = column.draw?.(row);
  const shown = typeof drawn === "string" ? drawn : "";
  return `${column.value(row) ?? ""} ${shown} ${column.full?.(row) ?? ""}`;
}

const ROW = 24;
const HEAD = 26;

export function Table<Row>(given: TableProps<Row>) {
  const props = { id: ownId<Row>, ...given };
  const { store, rows, id } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const prefix = useId();
  const columns = useColumns(props.columns, scroller);
  const [order, setOrder] = usePaneState<Order | null>(
    store,
    `order ${props.label}`,
    props.order ?? null,
  );
  const [words, setWords] = usePaneState(store, `filter ${props.label}`, "");
  const hasFilter = !props.isFiltered && rows.length > FEW;
  const shown = useMemo(() => {
    const column = order && columns.find((each) => each.key === order.key);
    const found = hasFilter ? matching(rows, props.columns, words) : rows;
    return column ? sorted(found, column.value, order.direction) : found;
  }, [rows, order, columns, words, hasFilter]);
  const list = useRows({ rows: shown, scroller, size: ROW, head: HEAD });
  const current = useCurrent(props, shown, list);
  const tracks = { gridTemplateColumns: columns.map((column) => column.width).join(" ") };
  const filter = hasFilter && (
    <div class="bar rows-filter">
      <input
        class="filter"
        type="text"
        placeholder="Filter"
        aria-label={`Filter ${props.label}`}
        value={words}
        onInput={(event) => setWords(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Escape" && setWords("")}
      />
      <span class="faint" role="status">
        {words && `${shown.length} of ${plural(rows.length, "row")}`}
      </span>
    </div>
  );
  if (!shown.length)
    return (
      <>
        {filter}
        <div ref={scroller} class="scroll table">
          <p class="none">
            {rows.length
              ? "No row matches all of these words."
              : (props.none ?? "Nothing to list.")}
          </p>
        </div>
      </>
    );
  return (
    <>
      {filter}
      <div
        ref={scroller}
        class="scroll table"
        role="grid"
        aria-label={props.label}
        aria-rowcount={shown.length + 1}
        aria-activedescendant={current === undefined ? undefined : `${prefix}-${current}`}
        tabIndex={0}
        onKeyDown={(event) => press(event, props, shown, current)}
      >
        <div role="rowgroup" class="thead">
          <div role="row" class="tr" aria-rowindex={1} style={tracks}>
            {columns.map((column) => (
              <Head
                key={column.key}
                column={column}
                order={order}
                sort={() => setOrder(turned(order, column.key, sample(rows, column), props.order))}
              />
            ))}
          </div>
        </div>
        <div role="rowgroup" class="tbody" style={{ height: `${list.height}px` }}>
          {list.items.map(({ index, start }) => {
            const row = shown[index] as Row;
            const place = { index, top: start, prefix, tracks };
            return (
              <TableRow key={id(row)} table={props} columns={columns} row={row} place={place} />
            );
          })}
        </div>
      </div>
    </>
  );
}

type Props<Row> = Required<Pick<TableProps<Row>, "id">> & TableProps<Row>;

function ownId<Row>(row: Row): string {
  return (row as { id: string }).id;
}

/** The columns that the room allows: of those for a wide view the last ones fall away first. */
function useColumns<Row>(
  columns: Column<Row>[],
  box: RefObject<HTMLElement | null>,
): Column<Row>[] {
  const isNarrow = useContext(RoomContext) === "narrow";
  const width = useWidth(box, Infinity);
  return useMemo(() => {
    const kept = columns.filter((column) => !(isNarrow && column.wide));
    while (leastWidth(kept) > width) {
      const last = kept.findLastIndex(({ wide }) => wide);
      if (last < 0) break;
      kept.splice(last, 1);
    }
    return kept;
  }, [columns, isNarrow, width]);
}

const GAP = 16;

/** Pixels that the columns take at least, with the gaps between them and the sides. */
function leastWidth<Row>(columns: readonly Column<Row>[]): number {
  return (
    columns.reduce((sum, { width }) => sum + Number(/\d+/.exec(width)), 0) +
    GAP * columns.length +
    GAP / 2
  );
}

/** The index of the selected row; brings it, or the first related one, into sight. */
function useCurrent<Row>(
  { store, id, label }: Props<Row>,
  shown: readonly Row[],
  list: Rows,
): number | undefined {
  const selected = store.selected.value;
  const related = store.related.value;
  const isNeeded = selected !== null;
  const places = useMemo(
    () => new Map(isNeeded ? shown.map((row, i) => [id(row), i]) : []),
    [shown, isNeeded],
  );
  const current = selected === null ? undefined : places.get(selected);
  useReveal(store, label, selected, [selected, related], () => {
    const at = current ?? firstRelated(places, related);
    if (at !== undefined) list.reveal(at);
  });
  return current;
}

function press<Row>(
  event: KeyboardEvent & { currentTarget: HTMLElement },
  { store, id, open }: Props<Row>,
  shown: readonly Row[],
  current: number | undefined,
): void {
  const to = target(event.key, current, shown.length, event.currentTarget);
  const row = to === null ? undefined : shown[to];
  if (row !== undefined && !event.altKey) {
    event.preventDefault();
    store.select(id(row));
  } else if (event.key === "Enter" && current !== undefined && open && isRow(event.target)) {
    event.preventDefault();
    event.stopPropagation();
    open(shown[current] as Row);
  }
}

/** Whether a key was meant for the rows and not for a button in the head. */
function isRow(where: EventTarget | null): boolean {
  return !(where instanceof Element && where.closest("button"));
}

interface RowProps<Row> {
  table: Props<Row>;
  columns: Column<Row>[];
  row: Row;
  place: { index: number; top: number; prefix: string; tracks: { gridTemplateColumns: string } };
}

function TableRow<Row>({ table, columns, row, place }: RowProps<Row>) {
  const { store } = table;
  const key = table.id(row);
  const isSelected = store.selected.value === key;
  const look = lookOf(store, key);
  return (
    <div
      id={`${place.prefix}-${place.index}`}
      role="row"
      class={`tr ${look}`}
      aria-rowindex={place.index + 2}
      aria-selected={isSelected}
      style={{ ...place.tracks, transform: `translateY(${place.top}px)` }}
      onClick={() => (table.click ? table.click(row) : store.select(key))}
      onDblClick={() => table.open?.(row)}
    >
      {columns.map((column) => (
        <Cell key={column.key} column={column} row={row} />
      ))}
    </div>
  );
}

function Head<Row>({ column, order, sort }: HeadProps<Row>) {
  const isSorted = order?.key === column.key;
  const direction = order?.direction === "asc" ? "ascending" : "descending";
  const arrow = order?.direction === "asc" ? "↑" : "↓";
  return (
    <div
      role="columnheader"
      class={column.number ? "th num" : "th"}
      aria-sort={isSorted ? direction : "none"}
    >
      <button
        type="button"
        onClick={sort}
        data-tip={[column.tip, SORTS].filter(Boolean).join("\n")}
      >
        {isSorted && column.number && <span aria-hidden="true">{arrow}</span>}
        {column.title}
        {isSorted && !column.number && <span aria-hidden="true">{` ${arrow}`}</span>}
      </button>
    </div>
  );
}

const SORTS = "Click to sort by this column.";

interface HeadProps<Row> {
  column: Column<Row>;
  order: Order | null;
  sort(): void;
}

function Cell<Row>({ column, row }: { column: Column<Row>; row: Row }) {
  const value = column.value(row);
  const text = value === null || value === undefined ? "–" : String(value);
  return (
    <div
      role="gridcell"
      class={["td", column.number && "num", column.look].filter(Boolean).join(" ")}
      data-tip={column.full?.(row) ?? (column.number ? undefined : text)}
      data-tip-of={column.title}
    >
      {column.draw ? column.draw(row) : text}
    </div>
  );
}

function sample<Row>(rows: readonly Row[], column: Column<Row>): Sortable {
  for (const row of rows.slice(0, 50)) {
    const value = column.value(row);
    if (value !== null && value !== undefined) return value;
  }
  return null;
}

function firstRelated(
  places: Map<string, number>,
  related: ReadonlySet<string>,
): number | undefined {
  let first: number | undefined;
  for (const id of related) {
    const at = places.get(id);
    if (at !== undefined && (first === undefined || at < first)) first = at;
  }
  return first;
}

/** The row that a key leads to, or null. */
export function target(
  key: string,
  current: number | undefined,
  count: number,
  box: HTMLElement | null,
): number | null {
  if (!count) return null;
  const page = Math.max(1, Math.floor(((box?.clientHeight ?? 300) - HEAD) / ROW) - 1);
  const steps: Record<string, number> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: page,
    PageUp: -page,
  };
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  const step = steps[key];
  if (step === undefined) return null;
  if (current === undefined) return step > 0 ? 0 : count - 1;
  return Math.min(count - 1, Math.max(0, current + step));
}
