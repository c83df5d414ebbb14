// One access: an instruction over the sectors that it touches, the layout of its block.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Store } from "../store";
import type { Access } from "../wire";
import { gridOf, sectorsOf } from "./held";
import "./accesses.css";

export function ShownAccess({ store }: { store: Store }) {
  const { accesses = [] } = store.doc.value!;
  const chosen = accesses.find(({ id }) => id === store.selected.value);
  const shown = chosen ?? accesses.find(({ lanes }) => lanes.length) ?? accesses[0];
  if (!shown) return null;
  return (
    <div class="acc-drawn scroll">
      <p class="acc-said">
        <code class="mono">{shown.text}</code> <span class="mut">{shown.place}</span>
        <br />
        {shown.said || "No problems found."}
      </p>
      <Instruction row={shown} />
      <Layout key={shown.id} row={shown} />
    </div>
  );
}

const MOST_SECTORS = 64;

/** The lanes of a warp over the sectors of one instruction. */
function Instruction({ row }: { row: Access }) {
  const sectors = useMemo(
    () => sectorsOf(row.lanes, row.vector_bytes ?? row.sector_bytes, row.sector_bytes),
    [row],
  );
  if (!sectors.length) return null;
  const least = sectors[0]!.number;
  return (
    <div class="acc-part">
      <h3>One instruction of {row.argument}</h3>
      <p class="mut">
        {row.lanes.filter((at) => at >= 0).length} of {row.lanes.length} lanes move{" "}
        {row.vector_bytes} bytes each, over {sectors.length} sectors of {row.sector_bytes} bytes
      </p>
      <ol class="sectors">
        {sectors.slice(0, MOST_SECTORS).map(({ number, parts }) => (
          <li
            key={number}
            data-tip={`Sector ${number - least}: lanes ${parts.map(({ lane }) => lane).join(", ")}`}
          >
            {parts.map(({ lane, from, to }) => (
              <b
                key={lane}
                style={{
                  left: `${(100 * from) / row.sector_bytes}%`,
                  width: `${(100 * (to - from)) / row.sector_bytes}%`,
                }}
              />
            ))}
          </li>
        ))}
      </ol>
      {sectors.length > MOST_SECTORS && (
        <p class="mut">and {sectors.length - MOST_SECTORS} more sectors</p>
      )}
    </div>
  );
}

const MOST_CELLS = 1 << 16;

/** A block as squares, those of one warp coloured by lane; hover and arrows tell who holds one. */
function Layout({ row }: { row: Access }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [warp, setWarp] = useState(0);
  const [at, setAt] = useState(0);
  const count = row.shape.reduce((a, b) => a * b, 1);
  const isDrawn = row.shape.length > 0 && row.bases.length > 0 && count <= MOST_CELLS;
  const grid = useMemo(() => (isDrawn ? gridOf(row.shape, row.bases) : null), [row, isDrawn]);
  const folds = grid ? foldOf(grid.rows, grid.columns) : { rows: 1, columns: 1 };
  useEffect(() => {
    if (canvas.current && grid) paint(canvas.current, grid, folds.columns, warp, at);
  });
  if (!grid)
    return (
      <div class="acc-part">
        <h3>Layout of the block</h3>
        <p class="mut">{row.layout || "No layout is known."}</p>
      </div>
    );
  const held = grid.holders[at] ?? [];
  const place = placeOf(at, row.shape);
  const says = held.map(
    ({ warp, lane, register }) => `warp ${warp}, lane ${lane}, register ${register}`,
  );
  const press = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -folds.columns, ArrowDown: folds.columns };
    const step = by[event.key as keyof typeof by];
    if (step === undefined || event.altKey) return;
    setAt(Math.min(count - 1, Math.max(0, at + step)));
    event.preventDefault();
    event.stopPropagation();
  };
  const hover = (event: PointerEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const x = Math.floor(((event.clientX - box.left) / box.width) * folds.columns);
    const y = Math.floor(((event.clientY - box.top) / box.height) * folds.rows);
    const next = y * folds.columns + x;
    if (x >= 0 && x < folds.columns && next >= 0 && next < count) setAt(next);
  };
  return (
    <div class="acc-part">
      <h3>Layout of the block</h3>
      <p class="mut">{row.layout}</p>
      <label class="row">
        Warp {warp}
        <input
          type="range"
          min={0}
          max={grid.warps - 1}
          value={warp}
          aria-label="Warp"
          disabled={grid.warps < 2}
          onInput={(event) => setWarp(Number(event.currentTarget.value))}
        />
      </label>
      <canvas
        ref={canvas}
        tabIndex={0}
        role="img"
        aria-label={`Elements of the block by lane of warp ${warp}; arrow keys move`}
        onKeyDown={press}
        onPointerMove={hover}
      />
      <p aria-live="polite">
        [{place.join(", ")}]: {says.slice(0, 2).join("; ")}
        {says.length > 2 && ` and ${says.length - 2} more`}
      </p>
    </div>
  );
}

const MOST_WIDE = 64;

/** How a block is laid on the sheet: one axis in rows of 64. */
function foldOf(rows: number, columns: number) {
  if (rows > 1 || columns <= MOST_WIDE) return { rows, columns };
  return { rows: Math.ceil(columns / MOST_WIDE), columns: MOST_WIDE };
}

function placeOf(at: number, shape: readonly number[]): number[] {
  const place: number[] = [];
  for (const size of [...shape].reverse()) {
    place.unshift(at % size);
    at = Math.floor(at / size);
  }
  return place;
}

const SHEET = 360; // pixels of the longer side, at most

function paint(
  canvas: HTMLCanvasElement,
  grid: ReturnType<typeof gridOf>,
  columns: number,
  warp: number,
  at: number,
) {
  const rows = Math.ceil(grid.holders.length / columns);
  const cell = Math.max(2, Math.floor(SHEET / Math.max(rows, columns)));
  const side = Math.min(14, cell);
  canvas.width = columns * side;
  canvas.height = rows * side;
  const pen = canvas.getContext("2d")!;
  const style = getComputedStyle(canvas);
  const gap = side > 4 ? 1 : 0;
  for (const [n, holders] of grid.holders.entries()) {
    const own = holders.find((each) => each.warp === warp);
    const hue = ((own?.lane ?? 0) * 300) / grid.lanes;
    pen.fillStyle = own ? `hsl(${hue} 55% 55%)` : style.getPropertyValue("--bg-3");
    pen.fillRect((n % columns) * side, Math.floor(n / columns) * side, side - gap, side - gap);
  }
  pen.strokeStyle = style.color;
  pen.lineWidth = 2;
  pen.strokeRect((at % columns) * side, Math.floor(at / columns) * side, side, side);
}
