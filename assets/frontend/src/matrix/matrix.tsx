// The Matrix pane: every kernel on several GPUs, as a heat map of one figure and as a table of all.

import { useMemo } from "preact/hooks";
import { plural } from "../format";
import type { Store } from "../store";
import { type Cells, RecordTable } from "../table/columns";
import { CompareAgain } from "../targets/dialog";
import { Frame, Segments, Select } from "../ui/basics";
import { usePaneState } from "../ui/kept";
import type { MatrixRow } from "../wire";
import { CellStrip } from "./cell";
import { HeatMap } from "./heatmap";
import "./matrix.css";
import {
  type CellRow,
  cellRows,
  type FigureId,
  figuresOf,
  inOrder,
  type MatrixFigure,
  partnerOf,
} from "./rows";

export function MatrixPane({ store }: { store: Store }) {
  const report = store.doc.value;
  const all = report?.matrix ?? [];
  const targets = report?.matrix_targets ?? [];
  const specs = report?.columns["matrix"];
  const figures = useMemo(() => figuresOf(specs ?? []), [specs]);
  const [chosen, choose] = usePaneState<FigureId | null>(store, "figure", null);
  const figure = figures.find((each) => each.id === chosen) ?? (figures[0] as MatrixFigure);
  const rows = useMemo(() => inOrder(all, figure), [all, figure]);
  const [marked, mark] = usePaneState<string | null>(store, "marked", null);
  const partner = partnerOf(rows, store.selected.value, marked);
  return (
    <>
      {report?.matrix_says && <p class="pane-says">{report.matrix_says}</p>}
      <div class="bar">
        <h2 data-tip={`${plural(rows.length, "kernel")} on ${plural(targets.length, "GPU")}`}>
          Kernels on GPUs
        </h2>
        <Chooser figures={figures} figure={figure} choose={choose} />
        <span class="grow" />
        <CompareAgain store={store} />
        <Frame store={store} name="matrix" />
      </div>
      <HeatMap
        store={store}
        rows={rows}
        targets={targets}
        figure={figure}
        mark={mark}
        partner={partner}
      />
      <CellStrip
        store={store}
        figures={figures}
        rows={rows}
        targets={targets}
        partner={partner}
        mark={mark}
      />
      <CellTable store={store} rows={rows} targets={targets} />
    </>
  );
}

interface ChooserProps {
  figures: readonly MatrixFigure[];
  figure: MatrixFigure;
  choose(figure: FigureId): void;
}

/** The figures side by side, or a list where there is no room. */
function Chooser({ figures, figure, choose }: ChooserProps) {
  const choice = { label: "Figure", value: figure.id, set: (id: string) => choose(id as FigureId) };
  return (
    <>
      <Segments
        {...choice}
        look="wide"
        of={figures.map(({ id, title, words }) => [id, title, words])}
      />
      <Select {...choice} look="if-narrow" of={figures.map(({ id, title }) => [id, title])} />
    </>
  );
}

interface TableProps {
  store: Store;
  rows: readonly MatrixRow[];
  targets: readonly string[];
}

function CellTable({ store, rows, targets }: TableProps) {
  const cells = useMemo(() => cellRows(rows, targets), [rows, targets]);
  return (
    <RecordTable
      store={store}
      label="Kernels on GPUs"
      table="matrix"
      cells={CELLS}
      rows={cells}
      open={(row) => store.select(row.id, { pane: "kernels" })}
    />
  );
}

const CELLS: Cells<CellRow> = { choice: { full: (row) => row.note ?? row.choice } };
