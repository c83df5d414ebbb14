// The configurations of a static sweep over two parameters: what the model gives the best of each pair.

import { useId, useMemo } from "preact/hooks";
import { microseconds } from "../format";
import { nextCell, type Spot } from "../matrix/rows";
import type { Store } from "../store";
import { termOf } from "../ui/terms";
import type { Ranked } from "../wire";

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
      aria-label={`Modelled time by ${down} and ${across}`}
      aria-activedescendant={spot ? nameOf(spot.row, spot.column) : undefined}
      tabIndex={0}
      onKeyDown={press}
    >
      <div role="rowgroup" class="thead">
        <div role="row" class="hm" style={tracks}>
          <span
            role="columnheader"
            class="cut"
            data-tip={termOf("plane", "*")}
          >{`${down} by ${across}`}</span>
          {plane.across.map((value) => (
            <span key={value} role="columnheader" class="num" data-tip={termOf("ranked", across)}>
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
      {best?.rank === 1 && countBest(rows) === 1 && <b class="hm-first">first </b>}
      {best ? microseconds(best.model_us) : "–"}
      {!isVoid && <i aria-hidden="true" />}
    </span>
  );
}

/** The times by which rows are ranked: the model's, or with a prior those that it changed. */
export function rankedBy(rows: readonly Ranked[]): number[] {
  return rows.flatMap(({ rank, placed_us, model_us }) => (rank && (placed_us ?? model_us)) || []);
}

/** How many have the least time of the model; it tells no more than this apart. */
export function countBest(rows: readonly Ranked[]): number {
  const times = rankedBy(rows);
  const best = Math.min(...times);
  return times.filter((time) => time < best * 1.005).length;
}

/** The parameters of a configuration: the sizes of its blocks, its warps, its stages. */
export function parameters(row: Ranked): Record<string, number> {
  return { ...row.sizes, warps: row.warps, stages: row.stages };
}

/** The parameters that take more than one value, the sizes of blocks first. */
export function varied(rows: readonly Ranked[]): string[] {
  const values = new Map<string, Set<number>>();
  for (const row of rows)
    for (const [name, value] of Object.entries(parameters(row)))
      values.set(name, (values.get(name) ?? new Set()).add(value));
  const found = [...values].filter(([, known]) => known.size > 1).map(([name]) => name);
  const isOwn = (name: string) => (name === "warps" ? 1 : name === "stages" ? 2 : 0);
  return found.sort((a, b) => isOwn(a) - isOwn(b));
}

/** The two parameters to begin with: the first size of a block, and the warps if they vary. */
export function firstAxes(names: readonly string[]): [string, string] {
  const down = names[0] ?? "warps";
  const across = names.includes("warps") && down !== "warps" ? "warps" : names[1];
  return [down, across ?? (down === "warps" ? "stages" : "warps")];
}

interface Tile {
  /** The best configuration with these two values, and how many there are. */
  best: Ranked;
  count: number;
}

/** For each pair of values the configuration that the model puts first. */
export function planeOf(rows: readonly Ranked[], down: string, across: string) {
  const valuesOf = (name: string) =>
    [...new Set(rows.map((row) => parameters(row)[name] ?? 0))].sort((a, b) => a - b);
  const plane = { down: valuesOf(down), across: valuesOf(across) };
  const tiles = plane.down.map((y) =>
    plane.across.map((x) => {
      const here = rows.filter((row) => {
        const own = parameters(row);
        return (own[down] ?? 0) === y && (own[across] ?? 0) === x;
      });
      const [best] = [...here].sort(byRank);
      return best ? { best, count: here.length } : null;
    }),
  );
  return { ...plane, tiles };
}

export function byRank(a: Ranked, b: Ranked): number {
  const last = Number.POSITIVE_INFINITY;
  return (a.rank ?? last) - (b.rank ?? last) || (a.model_us ?? last) - (b.model_us ?? last) || 0;
}

/** How much slower the model finds a configuration than the best, as a part of the slowest. */
export function slowness(row: Ranked, rows: readonly Ranked[]): number {
  const known = rows.flatMap((each) => each.model_us ?? []);
  const most = Math.max(...known, 0);
  if (row.model_us === null || !(most > 0)) return 0;
  return (row.model_us - Math.min(...known)) / most;
}

/** A kernel on a GPU whose configurations were ranked. */
export function subjects(rows: readonly Ranked[]): { kernel: string; target: string }[] {
  const found = new Map(rows.map((row) => [`${row.kernel} ${row.target}`, row]));
  return [...found.values()].map(({ kernel, target }) => ({ kernel, target }));
}
