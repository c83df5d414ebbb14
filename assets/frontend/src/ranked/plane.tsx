// A heat map over two parameters: what the model gives the best configuration with both values.

import { useId, useMemo } from "preact/hooks";
import { microseconds } from "../format";
import { nextCell, type Spot } from "../matrix/rows";
import type { Store } from "../store";
import type { Ranked } from "../wire";
import { planeOf, slowness, type Tile } from "./axes";

interface Props {
  store: Store;
  rows: readonly Ranked[];
  down: string;
  across: string;
}

export function Plane({ store, rows, down, across }: Props) {
  const prefix = useId();
  const plane = useMemo(() => planeOf(rows, down, across), [rows, down, across]);
  const selected = store.selected.value;
  const tiles = plane.tiles.map((row) => ({ cells: row.map((tile) => tile?.best ?? null) }));
  const spot = spotOf(tiles, selected);
  const tracks = {
    gridTemplateColumns: `168px repeat(${plane.across.length}, minmax(76px, 1fr))`,
  };
  const nameOf = (row: number, column: number) => `${prefix}-${row}-${column}`;
  const press = (event: KeyboardEvent) => {
    if (event.altKey || !event.key.startsWith("Arrow")) return;
    const next = nextCell(tiles, spot, event.key);
    if (next) store.select(next.id);
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      class="scroll heatmap"
      role="grid"
      aria-label={`Time by the model, by ${down} and ${across}`}
      aria-activedescendant={spot ? nameOf(spot.row, spot.column) : undefined}
      tabIndex={0}
      onKeyDown={press}
    >
      <div role="rowgroup" class="thead">
        <div role="row" class="hm" style={tracks}>
          <span role="columnheader" class="cut">{`${down} by ${across}`}</span>
          {plane.across.map((value) => (
            <span key={value} role="columnheader" class="num">
              {`${across} ${value}`}
            </span>
          ))}
        </div>
      </div>
      <div role="rowgroup" class="hm-body">
        {plane.down.map((value, y) => (
          <div key={value} role="row" class="hm" style={tracks}>
            <span role="rowheader" class="hm-name num">{`${down} ${value}`}</span>
            {plane.across.map((other, x) => (
              <PlaneCell
                key={other}
                id={nameOf(y, x)}
                tile={plane.tiles[y]?.[x] ?? null}
                rows={rows}
                isSelected={spot?.row === y && spot.column === x}
                choose={(id) => store.select(id)}
              />
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}

function spotOf(
  rows: readonly { cells: readonly (Ranked | null)[] }[],
  id: string | null,
): Spot | null {
  for (const [row, { cells }] of rows.entries()) {
    const column = cells.findIndex((cell) => cell !== null && cell.id === id);
    if (column >= 0) return { row, column };
  }
  return null;
}

interface CellProps {
  id: string;
  tile: Tile | null;
  rows: readonly Ranked[];
  isSelected: boolean;
  choose(id: string): void;
}

function PlaneCell({ id, tile, rows, isSelected, choose }: CellProps) {
  const best = tile?.best;
  const shade = best ? slowness(best, rows) : 0;
  const isVoid = !best || best.model_us === null;
  const more = tile && tile.count > 1 ? `, the best of ${tile.count}` : "";
  const why = best?.rejection ?? best?.note;
  return (
    <span
      id={id}
      role="gridcell"
      aria-selected={isSelected}
      class={`hm-cell num ${isSelected ? "sel" : ""} ${isVoid ? "void" : ""}`}
      style={{ "--shade": shade.toFixed(3) }}
      data-tip={best ? `${best.choice}${more}${why ? `: ${why}` : ""}` : "No such configuration"}
      onClick={() => best && choose(best.id)}
    >
      {best?.rejection && <span class="hm-loses">loses </span>}
      {best?.rank === 1 && <b class="hm-first">first </b>}
      {best ? microseconds(best.model_us) : "–"}
      {!isVoid && <i aria-hidden="true" />}
    </span>
  );
}
