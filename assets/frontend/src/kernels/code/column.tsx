// A column: its head with name, size, search and copy, and the editor below with what it marks.

import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Store } from "../../store";
import { Button, Copy } from "../../ui/basics";
import { CodeEditor, type Scrolled } from "./editor";
import { asSubset, overlaps, placesOf, type Rows, type Spans, spansIn } from "./rows";

interface ColumnProps extends EditorProps {
  note: string;
  /** Why there is nothing to show. */
  missing: string | null;
  share: number;
  /** What chooses the lines in sight. */
  filters?: ComponentChildren;
}

export function CodeColumn(props: ColumnProps) {
  const { title, note, rows, missing, share, filters } = props;
  const holder = useRef<HTMLDivElement>(null);
  const editor = useColumnEditor(props, holder);
  return (
    <section class="code-column" role="group" style={{ flexGrow: share }} aria-label={title}>
      <header class="code-head">
        <b>{title}</b>
        <span class="cut mut" data-tip="">
          {note}
        </span>
        <span class="grow" />
        {rows && filters}
        <Button
          look="icon quiet"
          icon="search"
          label={`Search in ${title}`}
          tip={`Search in ${title} (Ctrl F)`}
          disabled={!rows}
          press={() => editor.current?.find()}
        />
        {rows && <Copy quiet text={rows.raw} label="" title={`Copy ${title}`} />}
      </header>
      {missing && !rows && <p class="code-missing">{missing}</p>}
      <div ref={holder} class="code-editor" hidden={!rows} />
    </section>
  );
}

interface EditorProps {
  store: Store;
  title: string;
  rows: Rows | null;
  /** What to bring into sight before all else, best first. */
  home: readonly string[];
  /** Whether the last of several marked lines matters most: a wrapper defines, then calls. */
  prefersLast?: boolean;
  /** Another column that scrolls along. */
  twin?: Twin;
  /** Goes to the next difference, or back. */
  onJump?(by: 1 | -1): void;
  /** A line without an id was clicked. */
  onLine?(line: number): void;
}

type EditorRef = RefObject<CodeEditor | null>;
type HolderRef = RefObject<HTMLDivElement | null>;

/** Makes the editor in `holder` and keeps it current. */
function useColumnEditor(props: EditorProps, holder: HolderRef): EditorRef {
  const { store, rows, home, twin, title, prefersLast = false } = props;
  const left = store.paneStates.keep<Left>("kernels", `column ${title}`, () => ({ ...NOWHERE }));
  const editor = useMade(props, holder, left);
  const places = useMemo(() => (rows ? placesOf(rows) : new Map<string, number>()), [rows]);
  const selected = store.selected.value;
  const related = store.related.value;
  const runs = store.relatedLines.value;
  const hovered = store.hoveredRelated.value;
  const hoveredRuns = store.hoveredLines.value;
  const marks = useMemo(() => {
    if (!rows) return null;
    const line = selected === null ? null : (places.get(selected) ?? null);
    const all = spansIn(related, runs, rows, places);
    return { selected: line, related: asSubset(all, rows, line) };
  }, [rows, places, selected, related, runs]);
  const last = useRef<typeof marks>(null);
  useLayoutEffect(() => {
    if (!rows || !marks) return;
    editor.current?.show(rows);
    const isNew = last.current !== marks;
    last.current = marks;
    const under = spansIn(hovered, hoveredRuns, rows, places);
    const all = { ...marks, hovered: asSubset(under, rows, null) };
    const isBack = left.scrolled && left.text === rows.text && left.selected === selected;
    if (isBack) editor.current?.restore(left.scrolled!);
    Object.assign(left, { text: rows.text, selected, scrolled: null });
    const known = home.map((id) => places.get(id)).filter((line) => line !== undefined);
    // Of two that scroll together, the one with the selection leads.
    const leads = twin === undefined || marks.selected !== null;
    editor.current?.mark(
      all,
      isNew && leads && !isBack ? goalOf(marks, known, prefersLast) : undefined,
    );
  }, [rows, marks, hovered, hoveredRuns, places, title]);
  useEffect(() => () => void (store.hovered.value = null), []);
  return editor;
}

const NOWHERE = { text: "", selected: null, scrolled: null };

/** How a column was left: its text, what was selected, and how far it was scrolled. */
interface Left {
  text: string;
  selected: string | null;
  /** Null while the column is shown. */
  scrolled: Scrolled | null;
}

function useMade(props: EditorProps, holder: HolderRef, left: Left): EditorRef {
  const editor = useRef<CodeEditor | null>(null);
  const now = useRef(props);
  now.current = props;
  const { store, title, twin } = props;
  useLayoutEffect(() => {
    const idAt = (line: number | null) =>
      line === null ? null : (now.current.rows?.ids[line] ?? null);
    const listener = {
      choose: (line: number) => {
        const id = idAt(line);
        if (id) store.select(id);
        else now.current.onLine?.(line);
      },
      hover: (line: number | null) => {
        const id = idAt(line);
        if (store.hovered.peek() !== id) store.hovered.value = id;
      },
      jump: (by: 1 | -1) => {
        now.current.onJump?.(by);
        return now.current.onJump !== undefined;
      },
    };
    const made = new CodeEditor(holder.current!, title, listener);
    editor.current = made;
    const leave = twin?.join(made);
    return () => {
      leave?.();
      left.scrolled = made.scrolled();
      made.close();
      editor.current = null;
    };
  }, [title, twin]);
  return editor;
}

/** The line to bring into sight: the selected, a marked one that is at home here, or home itself. */
function goalOf(
  marks: { selected: number | null; related: Spans },
  known: readonly number[],
  prefersLast: boolean,
): number | null {
  if (marks.selected !== null) return marks.selected;
  if (marks.related.length === 0) return known[0] ?? null;
  if (prefersLast) return marks.related[marks.related.length - 1]![1];
  return known.find((line) => overlaps(marks.related, line, line)) ?? null;
}

const SETTLED = 120; // ms without scrolling

export class Twin {
  private readonly editors = new Set<CodeEditor>();
  /** The one that is being scrolled: what the other answers, late or cut short, moves nothing. */
  private leader: CodeEditor | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** Gives what takes the editor out again. */
  join(editor: CodeEditor): () => void {
    this.editors.add(editor);
    editor.onScroll(() => {
      if (this.leader === null || this.leader === editor) this.lead(editor);
    });
    return () => {
      this.editors.delete(editor);
      clearTimeout(this.timer);
    };
  }

  private lead(editor: CodeEditor): void {
    this.leader = editor;
    this.follow(editor);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.follow(editor); // a column that was only being laid out could not go there at once
      this.timer = setTimeout(() => (this.leader = null), SETTLED);
    }, SETTLED);
  }

  private follow(leader: CodeEditor): void {
    for (const other of this.editors) if (other !== leader) other.scrollTo(...leader.place());
  }
}
