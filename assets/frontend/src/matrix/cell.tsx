// The selected cell below the heat map: all its figures, the way to its code and to a comparison.

import { percent } from "../format";
import { kernelState } from "../kernels/state";
import type { Store } from "../store";
import { Button, Mark, Select } from "../ui/basics";
import type { MatrixCell, MatrixRow } from "../wire";
import { type MatrixFigure, spotOf, valueOf } from "./rows";

interface Props {
  store: Store;
  figures: readonly MatrixFigure[];
  rows: readonly MatrixRow[];
  targets: readonly string[];
  partner: MatrixCell | null;
  mark(id: string | null): void;
}

export function CellStrip({ store, figures, rows, targets, partner, mark }: Props) {
  const spot = spotOf(rows, store.selected.value);
  const row = spot && rows[spot.row];
  const cell = row?.cells[spot?.column ?? -1];
  if (!spot || !row || !cell)
    return (
      <p class="hm-strip mut">
        The darker a cell, the further it is from the best of its row. Select one for its code;
        Shift and a click on another of its row compares the two. Occupancy and roofline bound are
        estimates.
      </p>
    );
  const known = figures.filter((figure) => valueOf(cell, figure) !== null);
  return (
    <div class="hm-strip">
      <div class="row">
        <Mark store={store} kernel={row.kernel} />
        <b>{`on ${targets[spot.column]}`}</b>
        <span class="mono cut mut">{cell.choice}</span>
        <span class="grow" />
        {!cell.note && (
          <Code
            store={store}
            row={row}
            cell={cell}
            targets={targets}
            partner={partner}
            mark={mark}
          />
        )}
      </div>
      {cell.note && <div>{cell.note}</div>}
      {known.length > 0 && (
        <div class="hm-facts">
          {known.map((figure) => (
            <span key={figure.id} data-tip={figure.words}>
              <span class="mut">
                {figure.isEstimate ? `${figure.title} (estimate)` : figure.title}
              </span>{" "}
              {figure.write(valueOf(cell, figure) ?? 0)}
              {figure.id === "occupancy" && cell.limiter && ` by ${cell.limiter}`}
              {figure.id === "modelled_us" &&
                ` ± ${cell.modelled_error ? percent(cell.modelled_error) : "?"}`}
            </span>
          ))}
        </div>
      )}
    </div>
  );
}

interface CodeProps {
  store: Store;
  row: MatrixRow;
  cell: MatrixCell;
  targets: readonly string[];
  partner: MatrixCell | null;
  mark(id: string | null): void;
}

/** The code of this cell, alone or beside that of another GPU. */
function Code({ store, row, cell, targets, partner, mark }: CodeProps) {
  const others = row.cells.flatMap((each, at) =>
    each && each !== cell && !each.note ? [[each.id, `with ${targets[at] ?? ""}`] as const] : [],
  );
  return (
    <>
      <Button press={() => store.select(cell.id, { pane: "kernels" })}>Open its code</Button>
      {others.length > 0 && (
        <Select
          label="Compare its code with the code for"
          of={[["", "Compare with…"], ...others]}
          value={partner?.id ?? ""}
          set={(id) => mark(id || null)}
        />
      )}
      {partner && (
        <Button
          press={() => {
            kernelState(store).compared.value = partner.id;
            store.select(cell.id, { pane: "kernels" });
          }}
        >
          Side by side
        </Button>
      )}
    </>
  );
}
