// A table of a session or a profile as Python has it, under its title.

import { useMemo } from "preact/hooks";
import { plural } from "../format";
import { Copy } from "../ui/basics";
import type { TableRows } from "../wire";
import { type Cells, columnsOf } from "./columns";
import { type Column, type Selecting, Table, type TableProps } from "./table";

export type ShownRow = TableRows["rows"][number];

interface Props extends Pick<TableProps<ShownRow>, "open" | "click"> {
  store: Selecting;
  table: TableRows;
  /** What gives all rows in the notebook. */
  code: string;
  cells?: Cells<ShownRow>;
  /** What stands beside the title. */
  note?: string | undefined;
}

const NO_CELLS = {};
/** The kernels in these tables have titles: none is looked up. */
const NAMELESS = { kernel: () => undefined };

const SHARES = /^minmax\((\d+)px, [\d.]+fr\)$/;
const LETTER = 7.3; // px, of code at 12 px
const BOLD = 8.6;
const MOST_LETTERS = 24;

/** The longest text takes the room that is left, what else there is no more than it has. */
function fitted(columns: Column<ShownRow>[], rows: readonly ShownRow[]): Column<ShownRow>[] {
  const texts = columns.map((column) => longestOf(column, rows));
  const longest = texts.indexOf(Math.max(...texts));
  return columns.map((column, at) => {
    const [, given] = SHARES.exec(column.width) ?? [];
    const letters = texts[at]!;
    if ((at === longest && !column.number) || given === undefined || !letters) return column;
    const head = Math.ceil(BOLD * column.title.length);
    const least = column.number ? Math.max(Number(given), head) : Number(given);
    const most = Math.max(least, head, Math.ceil(LETTER * Math.min(letters, MOST_LETTERS)));
    return { ...column, width: `minmax(${least}px, ${most}px)` };
  });
}

/** How many letters the texts of a column have at most; of what is drawn otherwise 0. */
function longestOf(column: Column<ShownRow>, rows: readonly ShownRow[]): number {
  const lengths = rows.map((row) => {
    const shown = column.draw ? column.draw(row) : column.value(row);
    return typeof shown === "object" && shown !== null ? Infinity : String(shown ?? "").length;
  });
  const most = Math.max(column.title.length, ...lengths);
  return Number.isFinite(most) ? most : 0;
}

export function ShownTable({ store, table, code, cells = NO_CELLS, note, ...does }: Props) {
  const specs = JSON.stringify(table.columns);
  const columns = useMemo(
    () => fitted(columnsOf<ShownRow>(NAMELESS, table.id, table.columns, [], cells), table.rows),
    [table.id, specs, cells, table.rows],
  );
  return (
    <>
      <div class="bar">
        <h2>{table.title}</h2>
        <span class="mut cut">{note}</span>
        <span class="grow" />
        {table.more > 0 && (
          <span class="mut">{`${plural(table.more, "row")} more in .frame()`}</span>
        )}
        {code && <Copy quiet text={code} label="DataFrame" title={`Copy ${code}`} />}
      </div>
      <Table<ShownRow>
        store={store}
        label={table.title}
        columns={columns}
        rows={table.rows}
        id={(row) => String(row.row)}
        none={table.none}
        {...does}
      />
    </>
  );
}
