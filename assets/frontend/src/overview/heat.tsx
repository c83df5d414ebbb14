// The user's source: the state of each line, the kernels it ends in, what it costs.

import type { ComponentChildren } from "preact";
import { useId, useMemo, useRef } from "preact/hooks";
import { costTip, shownCost, type ShownCost } from "../cost/cost";
import { plural } from "../format";
import type { Store } from "../store";
import { target } from "../table/table";
import { Frame } from "../ui/basics";
import { Icon } from "../ui/icons";
import { useReveal } from "../ui/kept";
import { termOf } from "../ui/terms";
import { type Rows, useRows } from "../ui/virtual";
import { baseName, iconOf, STATES, wordOf } from "../ui/words";
import type { Source } from "../wire";
import { HeatRow, type Row, rowsOf } from "./row";

const HEIGHTS = { head: 26, line: 19, note: 24 };
const HEAD = 26;

interface HeatProps {
  store: Store;
  sources: Source[];
  /** What else can be shown in its place. */
  choice: ComponentChildren;
}

function heightOf(row: Row): number {
  return HEIGHTS[row.kind];
}

export function Heat({ store, sources, choice }: HeatProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const prefix = useId();
  const rows = useMemo(() => rowsOf(sources), [sources]);
  const cost = shownCost(store).value;
  const selected = store.selected.value;
  const list = useRows({
    rows,
    scroller,
    size: heightOf,
    head: HEAD,
    key: (row) => row.key,
  });
  useRevealed(store, rows, list);
  const active = list.items.find((item) => rows[item.index]?.key === selected);
  return (
    <>
      <SourceBar store={store} sources={sources} choice={choice} />
      <div
        ref={scroller}
        class="scroll heats"
        role="grid"
        aria-label="Source with the state of each line"
        aria-rowcount={rows.length + 1}
        aria-activedescendant={active ? `${prefix}-${active.index}` : undefined}
        tabIndex={0}
        onKeyDown={(event) => move(event, store, rows)}
      >
        <Head cost={cost} />
        <div class="tbody" role="rowgroup" style={{ height: `${list.height}px` }}>
          {list.items.map(({ index, start }) => (
            <div
              key={rows[index]?.key}
              data-index={index}
              ref={list.measure}
              class="place"
              role="presentation"
              style={{ transform: `translateY(${start}px)` }}
            >
              <HeatRow store={store} row={rows[index]} id={`${prefix}-${index}`} cost={cost} />
            </div>
          ))}
        </div>
      </div>
    </>
  );
}

/** Keeps the selected line, or the first related one, in sight. */
function useRevealed(store: Store, rows: Row[], list: Rows): void {
  const selected = store.selected.value;
  const related = store.related.value;
  const isOpened = useMemo(
    () => store.paneStates.signal("overview", "lines opened", () => false),
    [store],
  );
  useReveal(store, "lines", selected, [selected, related, rows], () => {
    let at = rows.findIndex((row) => row.kind === "line" && row.id === selected);
    if (at < 0) at = rows.findIndex((row) => row.kind === "line" && related.has(row.id));
    // A view opens where something was compiled, not on a signature and its docstring.
    if (at < 0 && !isOpened.peek()) at = rows.findIndex((row) => row.kind === "line" && row.mark);
    isOpened.value = true;
    if (at >= 0) list.reveal(at);
  });
}

/** Arrows walk the lines that have a state. */
function move(
  event: KeyboardEvent & { currentTarget: HTMLElement },
  store: Store,
  rows: Row[],
): void {
  const lines = rows.filter((row) => row.kind === "line" && row.mark !== null);
  const current = lines.findIndex((line) => line.key === store.selected.peek());
  const here = current < 0 ? undefined : current;
  const to = target(event.key, here, lines.length, event.currentTarget);
  const line = to === null ? undefined : lines[to];
  if (!line || event.altKey) return;
  event.preventDefault();
  store.select(line.key);
}

function Head({ cost }: { cost: ShownCost | null }) {
  return (
    <div role="rowgroup" class="heat-top">
      <div class="heat hd" role="row">
        <span class="st" role="columnheader" data-tip={termOf("source", "State")}>
          <span class="sr">State</span>
        </span>
        <span class="no" role="columnheader" data-tip={termOf("source", "Line")}>
          Line
        </span>
        <span role="columnheader" data-tip={termOf("source", "Source")}>
          Source
        </span>
        <span class="ks" role="columnheader" data-tip={termOf("source", "Ends in")}>
          Ends in
        </span>
        <span class="mb" role="columnheader" data-tip={costTip("source", "Cost", cost)}>
          {cost?.title ?? "Cost"}
        </span>
      </div>
    </div>
  );
}

function SourceBar({ store, sources, choice }: HeatProps) {
  const first = sources[0];
  const name = sources.length === 1 && first ? baseName(first.file) : "Source";
  const met = new Set(sources.flatMap((source) => source.marks.map((mark) => mark.state)));
  const more = sources.length === 1 ? (first?.name ?? "") : plural(sources.length, "function");
  return (
    <div class="bar">
      <h2 data-tip={first?.file}>{name}</h2>
      <span class="faint wide cut">{more}</span>
      <span class="grow" />
      <span class="legend">
        {STATES.filter((state) => met.has(state)).map((state) => (
          <span key={state}>
            <span class={`st st-${state}`}>
              <Icon name={iconOf(state)} />
            </span>
            {wordOf(state)}
          </span>
        ))}
      </span>
      {choice}
      <span class="wide">
        <Frame store={store} name="costs" then={`.explode("lines")`} />
      </span>
    </div>
  );
}
