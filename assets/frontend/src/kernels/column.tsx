// A column: its head with name, size, search and copy, and the editor below.

import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Store } from "../store";
import { Copy } from "../ui/basics";
import { Icon } from "../ui/icons";
import { CodeEditor } from "./editor";
import { linesIn, placesOf, type Rows } from "./rows";

interface Props {
  store: Store;
  title: string;
  note: string;
  rows: Rows | null;
  /** Why there is nothing to show. */
  missing: string | null;
  share: number;
  /** What to bring into sight before all else, best first. */
  home: readonly string[];
  /** Whether the last of several marked lines matters most: a wrapper defines, then calls. */
  prefersLast?: boolean;
}

export function CodeColumn({
  store,
  title,
  note,
  rows,
  missing,
  share,
  home,
  prefersLast = false,
}: Props) {
  const holder = useRef<HTMLDivElement>(null);
  const editor = useRef<CodeEditor | null>(null);
  const now = useRef(rows);
  now.current = rows;
  const places = useMemo(() => (rows ? placesOf(rows) : new Map<string, number>()), [rows]);
  useLayoutEffect(() => {
    const listener = {
      choose: (line: number) => {
        const id = now.current?.ids[line];
        if (id) store.select(id);
      },
      hover: (line: number | null) => {
        const id = line === null ? null : (now.current?.ids[line] ?? null);
        if (store.hovered.peek() !== id) store.hovered.value = id;
      },
    };
    const made = new CodeEditor(holder.current!, title, listener);
    editor.current = made;
    return () => {
      made.close();
      editor.current = null;
    };
  }, [title]);
  const selected = store.selected.value;
  const related = store.related.value;
  const hovered = store.hoveredRelated.value;
  const marks = useMemo(() => {
    if (!rows) return null;
    return {
      selected: selected === null ? null : (places.get(selected) ?? null),
      related: linesIn(related, rows, places),
    };
  }, [rows, places, selected, related]);
  const last = useRef<typeof marks>(null);
  useLayoutEffect(() => {
    if (!rows || !marks) return;
    editor.current?.show(rows);
    const isNew = last.current !== marks;
    last.current = marks;
    const all = { ...marks, hovered: linesIn(hovered, rows, places) };
    const goal = () =>
      goalOf(
        marks,
        home.map((id) => places.get(id)),
        prefersLast,
      );
    editor.current?.mark(all, isNew ? goal() : undefined);
  }, [rows, marks, hovered, places, title]);
  useEffect(() => () => void (store.hovered.value = null), []);
  return (
    <section class="code-column" style={{ flexGrow: share }} aria-label={title}>
      <header class="code-head">
        <b>{title}</b>
        <span class="cut mut">{note}</span>
        <span class="grow" />
        <button
          type="button"
          class="btn icon quiet"
          title={`Search in ${title} (Ctrl F)`}
          aria-label={`Search in ${title}`}
          disabled={!rows}
          onClick={() => editor.current?.find()}
        >
          <Icon name="search" />
        </button>
        {rows && <Copy quiet text={rows.raw} label="" title={`Copy ${title}`} />}
      </header>
      {missing && !rows && <p class="code-missing">{missing}</p>}
      <div ref={holder} class="code-editor" hidden={!rows} />
    </section>
  );
}

/** The line to bring into sight: the selected, a marked one that is at home here, or home itself. */
function goalOf(
  marks: { selected: number | null; related: readonly number[] },
  home: readonly (number | undefined)[],
  prefersLast: boolean,
): number | null {
  if (marks.selected !== null) return marks.selected;
  const known = home.filter((line) => line !== undefined);
  if (marks.related.length === 0) return known[0] ?? null;
  if (prefersLast) return marks.related[marks.related.length - 1]!;
  const marked = new Set(marks.related);
  return known.find((line) => marked.has(line)) ?? null;
}
