// Where the cost goes: the user's lines with what they call, or the modules, as one tree.

import { useId, useMemo, useRef } from "preact/hooks";
import { columnOf } from "../cost/column";
import { costTip, type ShownCost } from "../cost/cost";
import { askedInspector, Inspector } from "../inspector/inspector";
import type { Store } from "../store";
import { target } from "../table/table";
import { useReveal, usePaneState } from "../ui/kept";
import { termOf } from "../ui/terms";
import { useRows } from "../ui/virtual";
import type { TreeRow } from "../wire";
import {
  byCost,
  openAtFirst,
  type Placed,
  placed,
  type Shown,
  shownRows,
  standsFor,
  waysTo,
  wrongInside,
} from "./rows";
import { TreeLine, type TreeLook, wrongOf } from "./treeline";
import "./tree.css";

const HEAD = 24;
const HEIGHTS = { row: 20, quiet: 20, note: 24 };

interface TreeProps {
  store: Store;
  rows: TreeRow[];
  /** What the columns show; without one there are none. */
  cost: ShownCost | null;
  /** What the rows are: the key of what is kept of the tree, too. */
  view: "lines" | "modules";
}

export function Tree({ store, rows, view, cost }: TreeProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const prefix = useId();
  const kind = cost?.kind;
  const markOf = (id: string) => store.line(id)?.mark;
  const ordered = useMemo(() => {
    const known = rows.filter((row) => row.kind !== "rest" || !kind || row.total[kind]);
    return placed(view === "modules" && kind ? byCost(known, kind) : known);
  }, [rows, view, kind]);
  const [open, setOpen] = usePaneState<ReadonlySet<string>>(store, `open ${view}`, () =>
    openAtFirst(ordered, kind, markOf),
  );
  const [active, setActive] = usePaneState<string | null>(store, `row ${view}`, null);
  const hasText = (id: string) => !!store.line(id)?.text.trim();
  const shown = useMemo(() => shownRows(ordered, open, markOf, hasText), [ordered, open]);
  const list = useRows({
    rows: shown,
    scroller,
    size: (row) => HEIGHTS[row.kind],
    head: HEAD,
    key: (row) => row.key,
  });
  const look = useMemo(() => lookOf(ordered, cost), [ordered, cost]);
  const inside = useMemo(() => wrongInside(ordered, (id) => wrongOf(markOf(id))), [ordered]);
  const selected = store.selected.value;
  const related = store.related.value;
  const here = activeOf(shown, active, selected);
  useReveal(store, `tree ${view}`, selected, [selected, ordered, related], () => {
    if (!selected) return;
    const place = placeOf(ordered, selected, related, here?.at);
    if (place === null) return;
    const ways = waysTo(ordered, place);
    const own = ordered[place]!;
    const isFolded = own.row.kind === "fold";
    const wanted = new Set([...open, ...ways, ...(isFolded ? [own.key] : [])]);
    if (wanted.size > open.size) setOpen(wanted);
    const after = shownRows(ordered, wanted, markOf, hasText);
    const key = isFolded ? `${own.key}/${selected}` : own.key;
    if (standsFor(own.row, selected)) setActive(key);
    const at = after.findIndex((row) => row.key === key);
    // The list has the rows that were just opened only when it is drawn again.
    if (at >= 0) requestAnimationFrame(() => list.reveal(at));
  });
  const turn = (row: Placed, isOpen = !open.has(row.key)) => {
    const next = new Set(open);
    if (isOpen) next.add(row.key);
    else next.delete(row.key);
    setOpen(next);
  };
  const choose = (row: Shown) => {
    setActive(row.key);
    const id = idOf(row);
    if (id) store.select(id);
  };
  const walk = (event: KeyboardEvent & { currentTarget: HTMLElement }) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target instanceof Element && event.target.closest(".in-place")) return;
    const at = here ? shown.indexOf(here) : -1;
    if ((event.key === "ArrowRight" || event.key === "ArrowLeft") && here?.kind === "row") {
      event.preventDefault();
      const isRight = event.key === "ArrowRight";
      const { placed: row } = here;
      if (row.isParent && isRight !== open.has(row.key)) turn(row, isRight);
      else if (isRight && row.isParent && shown[at + 1]) choose(shown[at + 1]!);
      else if (!isRight) {
        const up = shown.find((each) => each.kind === "row" && each.at === row.parent);
        if (up) choose(up);
      }
      return;
    }
    const steps = shown.filter(({ kind }) => kind !== "note");
    const now = here ? steps.indexOf(here) : -1;
    const to = target(event.key, now < 0 ? undefined : now, steps.length, event.currentTarget);
    const row = to === null ? undefined : steps[to];
    if (!row) return;
    event.preventDefault();
    choose(row);
    list.reveal(shown.indexOf(row));
  };
  const opened = useOpened(store, ordered, shown, here);
  const drawn = list.items.find(({ index }) => shown[index] === here);
  return (
    <div
      ref={scroller}
      class={cost ? "scroll tree" : "scroll tree free"}
      role="treegrid"
      aria-label={view === "lines" ? "Cost by line" : "Cost by module"}
      aria-rowcount={shown.length + 1}
      aria-activedescendant={drawn ? `${prefix}-${drawn.index}` : undefined}
      tabIndex={0}
      onKeyDown={walk}
    >
      <Head view={view} cost={cost} look={look} />
      {opened === TOP && <InPlace store={store} />}
      <div class="tbody" role="rowgroup" style={{ height: `${list.height}px` }}>
        {list.items.map(({ index, start }) => {
          const row = shown[index];
          return (
            row && (
              <div
                key={row.key}
                data-index={index}
                ref={list.measure}
                class="place"
                role="presentation"
                style={{ transform: `translateY(${start}px)` }}
              >
                <TreeLine
                  store={store}
                  id={`${prefix}-${index}`}
                  row={row}
                  look={look}
                  inside={row.kind === "row" && !open.has(row.key) ? inside.get(row.at) : undefined}
                  isOpen={row.kind === "row" && open.has(row.key)}
                  isActive={row === here}
                  choose={() => choose(row)}
                  turn={() => row.kind === "row" && turn(row.placed)}
                />
                {opened === row.key && <InPlace store={store} />}
              </div>
            )
          );
        })}
      </div>
    </div>
  );
}

const TOP = "";

/** The key of the row that the inspector opens under; `TOP` for none of them, null for nowhere. */
function useOpened(
  store: Store,
  rows: readonly Placed[],
  shown: readonly Shown[],
  here: Shown | undefined,
): string | null {
  const asked = askedInspector(store).value;
  const selected = store.selected.value;
  const isPaired = store.pair.picked.value.length === 2;
  if (!(asked ?? (isPaired || selected !== null))) return null;
  if (here && selected !== null && idOf(here) === selected) return here.key;
  const own = here?.kind === "row" ? here.at : undefined;
  const at = selected === null ? null : placeOf(rows, selected, store.related.value, own);
  const key = at === null ? TOP : rows[at]!.key;
  return shown.some((row) => row.key === key) ? key : TOP;
}

/** The inspector as a row of the tree. */
function InPlace({ store }: { store: Store }) {
  return (
    <div class="in-place" role="row">
      <div role="gridcell">
        <Inspector store={store} />
      </div>
    </div>
  );
}

/** What is selected with a row; functions and folds are only opened. */
export function idOf(row: Shown): string | null {
  if (row.kind === "quiet") return row.id;
  if (row.kind === "note") return row.note.select ?? null;
  const { kind, id } = row.placed.row;
  return kind === "line" || (kind === "module" && id !== "M:") ? id : null;
}

/** The row that arrows go on from: the one chosen last, as long as nothing else is selected. */
function activeOf(shown: Shown[], active: string | null, selected: string | null) {
  const kept = shown.find((row) => row.key === active);
  const own = kept && idOf(kept);
  if (kept && (own === null || own === selected)) return kept;
  return selected ? shown.find((row) => row.kind !== "note" && idOf(row) === selected) : undefined;
}

/** Where a selection stands: in the row that it was chosen in, its own, or one that belongs to it. */
function placeOf(
  rows: readonly Placed[],
  selected: string,
  related: ReadonlySet<string>,
  here: number | undefined,
): number | null {
  if (here !== undefined && rows[here] && standsFor(rows[here].row, selected)) return here;
  const own = rows.findIndex(({ row }) => standsFor(row, selected));
  if (own >= 0) return own;
  const belongs = ({ row }: Placed) =>
    row.kind === "module"
      ? !!row.lines?.includes(selected) || !!row.kernels?.includes(selected)
      : row.kind === "line" && related.has(row.id);
  const at = rows.findIndex(belongs);
  return at < 0 ? null : at;
}

/** One unit and one scale for all rows: the largest below the only root is full. */
function lookOf(rows: readonly Placed[], cost: ShownCost | null): TreeLook {
  const roots = rows.filter(({ row }) => row.depth === 0 && row.kind !== "rest");
  const hasOneRoot = roots.length === 1;
  const kind = cost?.kind ?? "";
  const amounts = rows
    .filter(({ row }) => !(hasOneRoot && row.depth === 0))
    .map(({ row }) => row.total[kind] ?? 0);
  const all = rows.map(({ row }) => row.total[kind] ?? 0);
  const unit = cost?.unit ?? "";
  const column = columnOf(unit, Math.max(0, ...all));
  return { kind, unit, column, most: Math.max(0, ...amounts), hasOneRoot };
}

function Head({ view, cost, look }: { view: string; cost: ShownCost | null; look: TreeLook }) {
  const name = view === "lines" ? "Line" : "Module";
  return (
    <div role="rowgroup" class="tree-top">
      <div class="crow hd" role="row">
        <span class="t" role="columnheader" data-tip={termOf("tree", name)}>
          {name}
        </span>
        {cost && (
          <>
            <span role="columnheader" class="cbar" data-tip={termOf("tree", "Share")}>
              Share<span class="extra">, dark is self</span>
            </span>
            <span class="num" role="columnheader" data-tip={costTip("tree", "Total", cost)}>
              {`Total, ${look.column.unit}`}
            </span>
            <span class="num" role="columnheader" data-tip={costTip("tree", "Self", cost)}>
              {`Self, ${look.column.unit}`}
            </span>
          </>
        )}
      </div>
    </div>
  );
}
