// The tree of guards: kept ones first, then dropped ones, each with its reason; walked by arrow keys.

import { useId, useMemo, useRef } from "preact/hooks";
import { toggled } from "../lists";
import type { Store } from "../store";
import { target } from "../table/table";
import { Frame } from "../ui/basics";
import { Icon } from "../ui/icons";
import { usePaneState, useReveal } from "../ui/kept";
import { useRows } from "../ui/virtual";
import type { ColumnSpec, Guard } from "../wire";
import {
  type Branch,
  filterGuards,
  flatten,
  guardKind,
  guardTree,
  standsFor,
  type TreeRow,
} from "./tree";

/** So many guards are shown with every branch open. */
const OPEN = 120;

export function GuardTree({ store, guards }: { store: Store; guards: Guard[] }) {
  const [words, setWords] = usePaneState(store, "words", "");
  const [turned, setTurned] = usePaneState<ReadonlySet<string>>(store, "turned", new Set());
  const specs = store.doc.value?.columns["guards"];
  const found = useMemo(
    () => filterGuards(guards, words, fieldsOf(specs ?? [])),
    [guards, words, specs],
  );
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
  const turn = (key: string) => setTurned(toggled(turned, key));
  const none = guards.length ? "No guard matches." : "No guards: nothing was compiled.";
  const counts = `${kept.length} kept · ${dropped.length} dropped`;
  return (
    <>
      <GuardBar store={store} counts={counts} words={words} setWords={setWords} />
      <GuardRows store={store} rows={rows} none={none} turn={turn} />
    </>
  );
}

/** What is searched: whatever a table of guards shows. */
function fieldsOf(specs: readonly ColumnSpec[]): (keyof Guard)[] {
  return specs.map(({ key, field = key }) => field as keyof Guard);
}

interface BarProps {
  store: Store;
  counts: string;
  words: string;
  setWords(words: string): void;
}

function GuardBar({ store, counts, words, setWords }: BarProps) {
  return (
    <div class="bar">
      <h2>Guards</h2>
      <span class="faint cut">{counts}</span>
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
  );
}

const ROW = 22;

interface RowsProps {
  store: Store;
  rows: TreeRow[];
  /** What is said without a row. */
  none: string;
  turn(key: string): void;
}

function GuardRows({ store, rows, none, turn }: RowsProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const prefix = useId();
  const [active, setActive] = usePaneState<string | null>(store, "active", null);
  const selected = store.selected.value;
  const list = useRows({ rows, scroller, size: ROW });
  const chosen = rows.findIndex((row) => standsFor(row, selected));
  const here = active === null ? chosen : rows.findIndex((row) => row.key === active);
  useReveal(store, "guards", selected, [selected], () => {
    if (chosen >= 0) list.reveal(chosen);
  });
  const goTo = (at: number, isPress: boolean) => {
    const row = rows[at];
    if (!row) return;
    setActive(row.key);
    list.reveal(at);
    if (row.kind === "guard") store.select(row.same.guard.id);
    else if (isPress) turn(row.key);
  };
  const key = (event: KeyboardEvent) => {
    if (event.altKey) return;
    const to = target(event.key, here < 0 ? undefined : here, rows.length, scroller.current);
    if (to !== null) goTo(to, false);
    else if (turns(event.key, rows[here])) turn(rows[here]!.key);
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
        {list.items.map(({ index: at, start }) => (
          <Item
            key={rows[at]?.key}
            id={`${prefix}-${at}`}
            row={rows[at]!}
            top={start}
            isSelected={at === chosen}
            isHere={at === here}
            press={() => goTo(at, true)}
          />
        ))}
      </div>
      {rows.length === 0 && <p class="none">{none}</p>}
    </div>
  );
}

/** Whether a key opens or closes a branch. */
function turns(key: string, row: TreeRow | undefined): boolean {
  if (row?.kind !== "branch") return false;
  return key === "Enter" || key === " " || key === (row.isOpen ? "ArrowLeft" : "ArrowRight");
}

interface ItemProps {
  id: string;
  row: TreeRow;
  top: number;
  isSelected: boolean;
  isHere: boolean;
  press(): void;
}

function Item({ id, row, top, isSelected, isHere, press }: ItemProps) {
  const look = isSelected ? "sel" : isHere ? "here" : "";
  return (
    <div
      id={id}
      role="treeitem"
      aria-level={row.level}
      aria-selected={isSelected}
      aria-expanded={row.kind === "branch" ? row.isOpen : undefined}
      class={`g ${row.kind} ${look} ${row.level === 1 ? "top" : ""}`}
      style={{
        transform: `translateY(${top}px)`,
        paddingLeft: `${row.level === 1 ? 12 : (row.level - 1) * 14}px`,
      }}
      onClick={press}
    >
      {row.kind === "branch" ? <BranchRow row={row} /> : <GuardRow row={row} />}
    </div>
  );
}

function BranchRow({ row }: { row: Extract<TreeRow, { kind: "branch" }> }) {
  return (
    <>
      <span class="faint turn">
        <Icon name={row.isOpen ? "down" : "right"} />
      </span>
      <span class={row.level === 1 ? "cut" : "cut mono"} data-tip="">
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
  const { label, same } = row;
  const { guard, ids } = same;
  const kind = guardKind(guard);
  const why = guard.why_dropped ?? kind;
  const what = shortText(guard) || (label ? "" : kind);
  return (
    <>
      <span class={guard.kept ? "st-captured" : "faint"}>
        <Icon name={guard.kept ? "captured" : "cross"} />
        <span class="sr">{guard.kept ? "kept" : "dropped"}</span>
      </span>
      <span class="cut" data-tip={`${guard.source} ${guard.text || kind}`}>
        {label && <span class="mono">{label} </span>}
        <span class={what === kind ? "mut" : "mut mono"}>{what}</span>
      </span>
      <span class="why cut" data-tip={`${guard.kind}: ${why}`}>
        {why !== what && why}
        {ids.length > 1 && <b data-tip={`${ids.length} graphs have this guard`}> × {ids.length}</b>}
      </span>
    </>
  );
}
