// The heat map: a row for each kernel, a cell for each GPU; the value stands in it.

import { useId, useRef } from "preact/hooks";
import type { Store } from "../store";
import { Mark } from "../ui/basics";
import { useReveal } from "../ui/kept";
import { termOf } from "../ui/terms";
import { useRows } from "../ui/virtual";
import type { MatrixCell, MatrixRow } from "../wire";
import { type MatrixFigure, nextCell, shadeOf, spotOf, totalOf, valueOf } from "./rows";

const ROW = 26;
const HEAD = 26;

interface Props {
  store: Store;
  rows: readonly MatrixRow[];
  targets: readonly string[];
  figure: MatrixFigure;
  partner: MatrixCell | null;
  /** Takes a cell as the second of a comparison. */
  mark(id: string): void;
}

export function HeatMap({ store, rows, targets, figure, partner, mark }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const prefix = useId();
  const list = useRows({ rows, scroller, size: ROW, head: 2 * HEAD });
  const callsOf = (kernel: string) => store.kernel(kernel)?.calls ?? 1;
  const total = totalOf(rows, figure, targets.length, callsOf);
  const selected = store.selected.value;
  const spot = spotOf(rows, selected);
  useReveal(store, "cells", selected, [selected, rows], () => {
    const at = spot?.row ?? rows.findIndex((row) => store.related.peek().has(row.kernel));
    if (at >= 0) list.reveal(at);
  });
  const cells = `repeat(${targets.length}, minmax(76px, 1fr))`;
  const tracks = { gridTemplateColumns: `minmax(168px, 2fr) ${cells}` };
  const nameOf = (row: number, column: number) => `${prefix}-${row}-${column}`;
  return (
    <div
      ref={scroller}
      class="scroll heatmap"
      role="grid"
      aria-label={`${figure.words}, by kernel and GPU. Enter opens the code.`}
      aria-rowcount={rows.length + 2}
      aria-colcount={targets.length + 1}
      aria-activedescendant={spot ? nameOf(spot.row, spot.column) : undefined}
      tabIndex={0}
      onKeyDown={(event) => press(event, store, rows)}
    >
      <div role="rowgroup" class="thead">
        <div role="row" class="hm" style={tracks} aria-rowindex={1}>
          <span role="columnheader" data-tip={termOf("matrix", "Most different first")}>
            Most different first
          </span>
          {targets.map((target) => (
            <span key={target} role="columnheader" class="num" data-tip={termOf("matrix", target)}>
              {target}
            </span>
          ))}
        </div>
        <div role="row" class="hm total" style={tracks} aria-rowindex={2}>
          <span
            role="rowheader"
            data-tip={termOf("matrix", total.words.replace(/^Total.*/, "Total"))}
          >
            {total.words}
          </span>
          {total.values.map((value, at) => (
            <span key={targets[at]} role="gridcell" class="num">
              {value === null ? "–" : figure.write(value)}
            </span>
          ))}
        </div>
      </div>
      <div role="rowgroup" class="tbody" style={{ height: `${list.height}px` }}>
        {list.items.map(({ index, start }) => {
          const row = rows[index] as MatrixRow;
          const look =
            selected === row.kernel ? "sel" : store.related.value.has(row.kernel) ? "rel" : "";
          return (
            <div
              key={row.kernel}
              role="row"
              class={`hm ${look}`}
              aria-rowindex={index + 3}
              style={{ ...tracks, transform: `translateY(${start}px)` }}
            >
              <RowName store={store} kernel={row.kernel} />
              {row.cells.map((cell, column) => (
                <Cell
                  key={targets[column]}
                  id={nameOf(index, column)}
                  cell={cell}
                  target={targets[column] ?? ""}
                  row={row}
                  figure={figure}
                  isSelected={cell !== null && cell.id === selected}
                  isPartner={cell !== null && cell.id === partner?.id}
                  choose={(isSecond) => cell && (isSecond ? mark(cell.id) : store.select(cell.id))}
                  open={() => cell && store.select(cell.id, { pane: "kernels" })}
                />
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function RowName({ store, kernel }: { store: Store; kernel: string }) {
  const found = store.kernel(kernel);
  const often = found && found.calls > 1 ? ` × ${found.calls}` : "";
  return (
    <span
      role="rowheader"
      class="hm-name cut"
      data-tip={`${kernel}${often} ${found?.label ?? ""}: ${found?.name ?? ""}`}
      onClick={() => store.select(kernel)}
    >
      <Mark store={store} kernel={kernel} />
      {often && <b>{often}</b>}
      <span class="mut">{` ${found?.label ?? ""}`}</span>
    </span>
  );
}

interface CellProps {
  id: string;
  cell: MatrixCell | null;
  target: string;
  row: MatrixRow;
  figure: MatrixFigure;
  isSelected: boolean;
  isPartner: boolean;
  choose(isSecond: boolean): void;
  open(): void;
}

function Cell({ id, cell, target, row, figure, isSelected, isPartner, choose, open }: CellProps) {
  const value = valueOf(cell, figure);
  const shade = cell === null ? 0 : shadeOf(cell, row, figure);
  const tip = cell && (cell.note ?? `${row.kernel} on ${target}: ${words(value, figure)}`);
  const look = `${isSelected ? "sel" : ""} ${isPartner ? "second" : ""} ${value === null ? "void" : ""}`;
  return (
    <span
      id={id}
      role="gridcell"
      aria-selected={isSelected}
      class={`hm-cell num ${look}`}
      data-tip={tip ?? ""}
      style={{ "--shade": shade.toFixed(3) }}
      onClick={(event) => choose(event.shiftKey)}
      onDblClick={open}
    >
      {value === null
        ? cell
          ? cell.note
            ? "no code"
            : "–"
          : "not compiled"
        : figure.write(value)}
      {value !== null && <i aria-hidden="true" />}
    </span>
  );
}

function words(value: number | null, figure: MatrixFigure): string {
  return value === null
    ? `${figure.title.toLowerCase()} unknown`
    : `${figure.write(value)}, ${figure.words.toLowerCase()}`;
}

/** Arrows walk the cells, Enter opens the code. */
function press(event: KeyboardEvent, store: Store, rows: readonly MatrixRow[]): void {
  if (event.altKey) return;
  const selected = store.selected.peek();
  const next = nextCell(rows, spotOf(rows, selected), event.key);
  if (next) store.select(next.id);
  else if (event.key === "Enter" && selected !== null) store.show("kernels");
  else if (!event.key.startsWith("Arrow")) return;
  event.preventDefault();
  event.stopPropagation();
}
