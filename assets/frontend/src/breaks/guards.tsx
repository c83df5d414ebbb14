// The tree of guards: kept ones first, then dropped ones, each with its reason.

import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import type { Store } from "../store";
import { target } from "../table/table";
import { Frame } from "../ui/basics";
import { Icon } from "../ui/icons";
import { useEvenRows } from "../ui/even";
import { guardKind } from "../ui/words";
import type { Guard } from "../wire";
import { filterGuards, flatten, guardTree, type Branch, type TreeRow } from "./tree";

const ROW = 22;
/** So many guards are shown with every branch open. */
const OPEN = 120;

export function GuardTree({ store, guards }: { store: Store; guards: Guard[] }) {
  const [words, setWords] = useState("");
  const [turned, setTurned] = useState<ReadonlySet<string>>(new Set());
  const found = useMemo(() => filterGuards(guards, words), [guards, words]);
  const kept = useMemo(() => found.filter((guard) => guard.kept), [found]);
  const dropped = useMemo(() => found.filter((guard) => !guard.kept), [found]);
  const rows = useMemo(() => {
    const isOpen = (branch: Branch, level: number) => {
      const atRest = words.trim() !== "" || level < 3 || guards.length <= OPEN;
      return turned.has(branch.key) ? !atRest : atRest;
    };
    const trees = [
      guardTree("kept", "Kept, checked on every call", kept),
      guardTree("dropped", "Dropped, not portable", dropped),
    ];
    return trees.filter((tree) => tree.count).flatMap((tree) => flatten(tree, isOpen));
  }, [kept, dropped, turned, words]);
  const turn = (key: string) => {
    const next = new Set(turned);
    if (!next.delete(key)) next.add(key);
    setTurned(next);
  };
  return (
    <>
      <div class="bar">
        <h2>Guards</h2>
        <span class="faint cut">{`${kept.length} kept · ${dropped.length} dropped`}</span>
        <span class="grow" />
        <input
          class="filter"
          type="text"
          placeholder="Filter"
          aria-label="Filter guards"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
        <Frame store={store} name="guards" />
      </div>
      <Rows store={store} rows={rows} turn={turn} />
    </>
  );
}

interface RowsProps {
  store: Store;
  rows: TreeRow[];
  turn(key: string): void;
}

function Rows({ store, rows, turn }: RowsProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const prefix = useId();
  const [active, setActive] = useState<string | null>(null);
  const selected = store.selected.value;
  const list = useEvenRows(scroller, { count: rows.length, row: ROW });
  const here = rows.findIndex((row) => row.key === (active ?? selected));
  useEffect(() => {
    const at = rows.findIndex((row) => row.key === selected);
    if (at >= 0) list.reveal(at);
  }, [selected]);
  const goTo = (row: TreeRow | undefined, at: number) => {
    if (!row) return;
    setActive(row.key);
    list.reveal(at);
    if (row.kind === "guard") store.select(row.guard.id);
  };
  const key = (event: KeyboardEvent) => {
    if (event.altKey) return;
    const row = rows[here];
    const to = target(event.key, here < 0 ? undefined : here, rows.length, scroller.current);
    if (to !== null) goTo(rows[to], to);
    else if (row?.kind === "branch" && event.key === (row.isOpen ? "ArrowLeft" : "ArrowRight"))
      turn(row.key);
    else if (row?.kind === "branch" && (event.key === "Enter" || event.key === " ")) turn(row.key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      ref={scroller}
      class="scroll tree"
      role="tree"
      aria-label="Guards"
      tabIndex={0}
      aria-activedescendant={here < 0 ? undefined : `${prefix}-${here}`}
      onKeyDown={key}
    >
      <div class="tbody" role="presentation" style={{ height: `${list.height}px` }}>
        {list.indexes.map((index) => {
          const row = rows[index];
          if (!row) return null;
          const press = () => {
            setActive(row.key);
            if (row.kind === "branch") turn(row.key);
            else store.select(row.guard.id);
          };
          const look = row.key === selected ? "sel" : here === index ? "here" : "";
          return (
            <div
              key={row.key}
              id={`${prefix}-${index}`}
              role="treeitem"
              aria-level={row.level}
              aria-selected={row.key === selected}
              aria-expanded={row.kind === "branch" ? row.isOpen : undefined}
              class={`g ${row.kind} ${look} ${row.level === 1 ? "top" : ""}`}
              style={{
                transform: `translateY(${list.top(index)}px)`,
                paddingLeft: `${row.level === 1 ? 12 : (row.level - 1) * 14}px`,
              }}
              onClick={press}
            >
              {row.kind === "branch" ? <BranchRow row={row} /> : <GuardRow row={row} />}
            </div>
          );
        })}
      </div>
      {rows.length === 0 && <p class="none">No guard matches.</p>}
    </div>
  );
}

function BranchRow({ row }: { row: Extract<TreeRow, { kind: "branch" }> }) {
  return (
    <>
      <span class="faint turn">
        <Icon name={row.isOpen ? "down" : "right"} />
      </span>
      <span class={row.level === 1 ? "cut" : "cut mono"} title={row.branch.label}>
        {row.branch.label}
      </span>
      <span class="why">{row.branch.count}</span>
    </>
  );
}

/** What is checked, without the source that the branches above already name. */
function shortText(guard: Guard): string {
  const { source, text } = guard;
  return source && text.startsWith(`${source} `) ? text.slice(source.length + 1) : text;
}

function GuardRow({ row }: { row: Extract<TreeRow, { kind: "guard" }> }) {
  const { guard, label } = row;
  const kind = guardKind(guard);
  const why = guard.why_dropped ?? kind;
  const what = shortText(guard) || (label ? "" : kind);
  return (
    <>
      <span class={guard.kept ? "st-captured" : "faint"}>
        <Icon name={guard.kept ? "captured" : "cross"} />
        <span class="sr">{guard.kept ? "kept" : "dropped"}</span>
      </span>
      <span class="cut" title={`${guard.source} ${guard.text}`}>
        {label && <span class="mono">{label} </span>}
        <span class={what === kind ? "mut" : "mut mono"}>{what}</span>
      </span>
      {why !== what && (
        <span class="why cut" title={`${guard.kind}: ${why}`}>
          {why}
        </span>
      )}
    </>
  );
}
