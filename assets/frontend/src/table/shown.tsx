// A table of a session or a profile as Python has it, under its title.

import { useMemo } from "preact/hooks";
import { plural } from "../format";
import { Copy } from "../ui/basics";
import type { SessionTable } from "../wire";
import { type Cells, columnsOf } from "./columns";
import { type Selecting, Table, type TableProps } from "./table";

export type ShownRow = SessionTable["rows"][number];

interface Props extends Pick<TableProps<ShownRow>, "open" | "click"> {
  store: Selecting;
  table: SessionTable;
  /** What the record is called in the notebook. */
  variable: string;
  cells?: Cells<ShownRow>;
  /** What stands beside the title. */
  note?: string | undefined;
}

const NO_CELLS = {};
/** The kernels in these tables have titles: none is looked up. */
const NAMELESS = { kernel: () => undefined };

export function ShownTable({ store, table, variable, cells = NO_CELLS, note, ...does }: Props) {
  const specs = JSON.stringify(table.columns);
  const columns = useMemo(
    () => columnsOf<ShownRow>(NAMELESS, table.id, table.columns, [], cells),
    [table.id, specs, cells],
  );
  const code = `${variable}.frame("${table.id}")`;
  return (
    <>
      <div class="bar">
        <h2>{table.title}</h2>
        <span class="mut cut">{note}</span>
        <span class="grow" />
        {table.more > 0 && (
          <span class="mut">{`${plural(table.more, "row")} more in .frame()`}</span>
        )}
        <Copy quiet text={code} label="DataFrame" title={`Copy ${code}`} />
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
