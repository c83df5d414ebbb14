// One figure over two axes as a table with shades; of several rows in a cell the best.

import { type HeatCell, HeatTable } from "../../blocks/tables";
import { Select } from "../../ui/basics";
import { usePaneState } from "../../ui/kept";
import { termOf } from "../../ui/terms";
import type { SweepDocument } from "./wire";
import { type Cell, cellKey, cells } from "./geometry";
import { isNoisy, type SweepState } from "./state";

export function Heat({ state, doc }: { state: SweepState; doc: SweepDocument }) {
  const longest = doc.axes
    .map((_, n) => n)
    .sort((a, b) => doc.axes[b]!.values.length - doc.axes[a]!.values.length);
  const [across, setAcross] = usePaneState(state, "across", longest[0] ?? 0);
  const [down, setDown] = usePaneState(state, "down", longest[1] ?? longest[0] ?? 0);
  const [figure, setFigure] = usePaneState(state, "figure", doc.by);
  const isMore = doc.figures.find(({ id }) => id === figure)?.is_better === "more";
  const found = cells(state.rows.value, [across, down], (row) => state.figure(row, figure), isMore);
  const columns = doc.axes[across]?.values ?? [];
  const lines = across === down ? [""] : (doc.axes[down]?.values ?? []);
  const names = doc.axes.map(({ name }, n): [string, string] => [String(n), name]);
  const figures = doc.figures.map(({ id, title }): [string, string] => [id, title]);
  return (
    <>
      <div class="bar">
        <Choice label="Figure" value={figure} options={figures} set={setFigure} />
        <Choice label="Across" value={`${across}`} options={names} set={(n) => setAcross(+n)} />
        <Choice label="Down" value={`${down}`} options={names} set={(n) => setDown(+n)} />
      </div>
      <div class="scroll sweep-chart" tabIndex={0} role="group" aria-label="Heat map">
        <p class="mut">
          Stronger is further from the best. Each cell shows its best configuration; noisy ones have
          no shade.
        </p>
        <HeatTable
          corner={across === down ? "" : (doc.axes[down]?.name ?? "")}
          columns={columns.map((value) => `${doc.axes[across]?.name}=${value}`)}
          rows={lines.map((line) => ({
            label: line || (doc.axes[across]?.name ?? ""),
            cells: columns.map((value) => cellOf(state, found.get(cellKey(line, value)), figure)),
          }))}
          tip={termOf("sweep", "*")}
        />
      </div>
    </>
  );
}

function cellOf(state: SweepState, cell: Cell | undefined, figure: string): HeatCell {
  if (!cell) return { shade: null, words: "–" };
  const { row, shade } = cell;
  return {
    shade: isNoisy(row) ? 0 : shade,
    words: state.words(row, figure),
    tip: row.id,
    open: () => void state.open(row),
  };
}

interface ChoiceProps {
  label: string;
  value: string;
  options: [string, string][];
  set(value: string): void;
}

function Choice({ label, value, options, set }: ChoiceProps) {
  return (
    <label class="row">
      <span class="mut">{label}</span>
      <Select of={options} value={value} set={set} />
    </label>
  );
}
