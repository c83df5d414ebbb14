// One read-only CodeMirror: a text with numbers, a strip, marks and search; no document is made
// twice.

import { standardKeymap } from "@codemirror/commands";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import {
  highlightSelectionMatches,
  openSearchPanel,
  search,
  searchKeymap,
} from "@codemirror/search";
import { EditorState, type Extension, type StateEffect } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { LOOKS } from "../../ui/highlight";
import { PYTHON } from "../../ui/python";
import { explaining } from "./explain";
import { simple } from "./languages";
import { differing, markField, type Marks, setMarks, strip } from "./marks";
import { type Language, overlaps, type Rows, type Spans } from "./rows";

const COLOURS = HighlightStyle.define(LOOKS);

/** The keys of a text that is only read: moves and selections, none that would change it. */
const READING = standardKeymap.filter(({ key, mac }) =>
  /Arrow|Page|Home|End|Mod-a/.test(key ?? mac ?? ""),
);

/** Scrolls the text alone to a line: CodeMirror would scroll the notebook around it too. */
const ownScroll = EditorView.scrollHandler.of((view, range, { y, yMargin }) => {
  if (y !== "start") return false;
  view.scrollDOM.scrollTop = Math.max(0, view.lineBlockAt(range.head).top - yMargin);
  return true;
});

function grammar(language: Language): Extension {
  if (language === "python") return PYTHON;
  return language === "plain" ? [] : simple(language);
}

interface Listener {
  /** A line was chosen by pointer or key; lines count from 0. */
  choose(line: number): void;
  hover(line: number | null): void;
  /** Goes to the next difference, or back; false where nothing is compared. */
  jump(by: 1 | -1): boolean;
}

/** How far a text is scrolled, as CodeMirror keeps it. */
export type Scrolled = StateEffect<unknown>;

export class CodeEditor {
  private readonly view: EditorView;
  private rows: Rows | null = null;
  private isFresh = true;
  private marked: Marks = { selected: null, related: [], hovered: [] };

  constructor(
    private readonly parent: HTMLElement,
    private readonly label: string,
    private readonly listener: Listener,
  ) {
    this.view = new EditorView({ parent, state: EditorState.create({ doc: "" }) });
  }

  show(rows: Rows): void {
    if (rows === this.rows) return;
    this.rows = rows;
    this.view.setState(EditorState.create({ doc: rows.text, extensions: this.extensions(rows) }));
    this.view.scrollDOM.scrollTop = 0;
    this.isFresh = true;
    this.marked = { selected: null, related: [], hovered: [] };
  }

  /**
   * Draws the marks. `goal` is the line to bring into sight unless it is there: undefined leaves
   * the column where it is, null means any of the marked lines.
   */
  mark(marks: Marks, goal?: number | null): void {
    if (!isSame(marks, this.marked)) this.view.dispatch({ effects: setMarks.of(marks) });
    this.marked = marks;
    if (goal === undefined) return;
    if (goal !== null) this.reveal(goal);
    else if (this.isFresh || !overlaps(marks.related, ...this.seen()))
      this.reveal(marks.related[0]?.[0] ?? null);
  }

  /** Calls back whenever the text is scrolled. */
  onScroll(call: () => void): void {
    this.view.scrollDOM.addEventListener("scroll", call);
  }

  /** How far the text is scrolled: from the top, from the left. */
  place(): [number, number] {
    const { scrollTop, scrollLeft } = this.view.scrollDOM;
    return [scrollTop, scrollLeft];
  }

  scrollTo(top: number, left: number): void {
    const { scrollDOM } = this.view;
    if (scrollDOM.scrollTop !== top) scrollDOM.scrollTop = top;
    if (scrollDOM.scrollLeft !== left) scrollDOM.scrollLeft = left;
  }

  /** Where the text is scrolled to; stays right when the heights of lines become known. */
  scrolled(): Scrolled {
    return this.view.scrollSnapshot();
  }

  /** Goes back to a place in the same text. */
  restore(scrolled: Scrolled): void {
    this.view.dispatch({ effects: scrolled });
    this.isFresh = false;
  }

  find(): void {
    openSearchPanel(this.view);
  }

  close(): void {
    this.view.destroy();
  }

  /** Puts a line at a third of the height unless it is in sight. */
  private reveal(line: number | null): void {
    const { doc } = this.view.state;
    if (line === null || line >= doc.lines) return;
    const { scrollDOM } = this.view;
    const { from } = doc.line(line + 1);
    const third = scrollDOM.clientHeight / 3;
    if (this.isFresh) {
      // Heights are guessed until the first measure, which this waits for.
      this.view.dispatch({
        effects: EditorView.scrollIntoView(from, { y: "start", yMargin: third }),
      });
      this.isFresh = false;
    } else if (!this.isSeen(line)) {
      scrollDOM.scrollTop = Math.max(0, this.view.lineBlockAt(from).top - third);
    }
  }

  /** The first and the last line in sight. */
  private seen(): [number, number] {
    const { scrollTop, clientHeight } = this.view.scrollDOM;
    const at = (height: number) => {
      const { from } = this.view.lineBlockAtHeight(height);
      return this.view.state.doc.lineAt(from).number - 1;
    };
    const [top, bottom] = [at(scrollTop), at(scrollTop + clientHeight)];
    return [this.isSeen(top) ? top : top + 1, this.isSeen(bottom) ? bottom : bottom - 1];
  }

  private isSeen(line: number): boolean {
    if (line >= this.view.state.doc.lines) return false;
    const { scrollTop, clientHeight } = this.view.scrollDOM;
    const block = this.view.lineBlockAt(this.view.state.doc.line(line + 1).from);
    return block.top >= scrollTop && block.bottom <= scrollTop + clientHeight;
  }

  private lineAt(event: MouseEvent): number | null {
    const { view } = this;
    const y = event.clientY - view.documentTop;
    if (y < 0 || y > view.contentHeight) return null;
    return view.state.doc.lineAt(view.lineBlockAtHeight(y).from).number - 1;
  }

  private extensions(rows: Rows): Extension[] {
    const move = (by: number) => () => {
      const from = this.marked.selected ?? this.marked.related[0]?.[0] ?? -1;
      const to = next(rows, from, by);
      if (to !== null) this.listener.choose(to);
      return true;
    };
    return [
      EditorState.readOnly.of(true),
      EditorView.editable.of(false),
      EditorView.contentAttributes.of({
        tabindex: "0",
        role: "textbox",
        "aria-multiline": "true",
        "aria-readonly": "true",
        "aria-label": this.label,
      }),
      ownScroll,
      lineNumbers({ formatNumber: (number) => rows.numbers[number - 1] ?? "" }),
      strip(rows.strip),
      markField,
      rows.differences ? differing(rows.differences) : [],
      explaining(rows, this.parent, () => this.marked.selected),
      grammar(rows.language),
      syntaxHighlighting(COLOURS),
      search({ top: true }),
      highlightSelectionMatches(),
      keymap.of([
        { key: "ArrowDown", run: move(1) },
        { key: "ArrowUp", run: move(-1) },
        { key: "n", run: () => this.listener.jump(1) },
        { key: "p", run: () => this.listener.jump(-1) },
        ...searchKeymap,
        ...READING,
      ]),
      EditorView.domEventHandlers({
        click: (event) => this.clicked(event),
        mousemove: (event) => this.listener.hover(this.lineAt(event)),
        mouseleave: () => this.listener.hover(null),
      }),
    ];
  }

  private clicked(event: MouseEvent): void {
    const selection = this.view.state.selection.main;
    const line = this.lineAt(event);
    // Text that was just marked with the pointer is being copied, not chosen.
    if (line !== null && selection.empty && !window.getSelection()?.toString())
      this.listener.choose(line);
  }
}

function isSame(a: Marks, b: Marks): boolean {
  const equal = (x: Spans, y: Spans) =>
    x === y ||
    (x.length === y.length && x.every(([a, b], at) => a === y[at]![0] && b === y[at]![1]));
  return a.selected === b.selected && equal(a.related, b.related) && equal(a.hovered, b.hovered);
}

function next(rows: Rows, from: number, by: number): number | null {
  for (let at = from + by; at >= 0 && at < rows.ids.length; at += by)
    if (rows.ids[at] !== null) return at;
  return null;
}
