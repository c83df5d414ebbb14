// The state of the view of a session: the table that is shown, what is selected, what was opened.

import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { PaneStates } from "../../panestates";
import { isAwake } from "../../host";
import type { RecordsHost } from "../../opened/host";
import { Opening } from "../../opened/state";
import type { ShownRow } from "../../table/shown";
import type { Selecting } from "../../table/table";
import type { SessionBar, SessionDocument } from "./wire";

export type Row = ShownRow;

export const ADVICE = "advice";
const NO_BARS: readonly SessionBar[] = [];

export class SessionState implements Selecting {
  readonly paneStates = new PaneStates();
  /** The pane that was chosen, else the first that says something: while it runs, the compiles. */
  readonly pane: ReadonlySignal<string>;
  private readonly chosen = signal<string | null>(null);
  /** The id of a row, or of a bar of the timeline. */
  readonly selected: Signal<string | null> = signal(null);
  readonly related: ReadonlySignal<ReadonlySet<string>>;
  readonly opening: Opening;
  readonly doc: ReadonlySignal<SessionDocument | null>;
  readonly bars: ReadonlySignal<readonly SessionBar[]>;
  /** The bar that is selected, or that what is selected belongs to. */
  readonly bar: ReadonlySignal<SessionBar | undefined>;

  constructor(readonly host: RecordsHost<SessionDocument>) {
    this.opening = new Opening(host);
    this.doc = computed(() => host.document.value);
    this.pane = computed(() => {
      const { status, advice, tables } = this.doc.value ?? { advice: [], tables: [] };
      const filled = tables.find(({ rows }) => rows.length)?.id ?? "compiles";
      return this.chosen.value ?? (status === "done" && advice.length ? ADVICE : filled);
    });
    this.bars = computed(() => this.doc.value?.bars ?? NO_BARS);
    this.bar = computed(() => {
      const id = this.selected.value;
      return this.bars.value.find((bar) => idOf(bar) === id || bar.rows.includes(id ?? ""));
    });
    this.related = computed(() => {
      const bar = this.bar.value;
      return new Set(bar && idOf(bar) === this.selected.value ? bar.rows : []);
    });
  }

  /** What columns of kernels are drawn with: a session has none. */
  kernel(): undefined {
    return undefined;
  }

  select(id: string): void {
    this.selected.value = id;
  }

  show(pane: string): void {
    this.chosen.value = pane;
  }

  /** The compile that a row is about, if its report can be opened here. */
  compileOf(row: Row): Row | undefined {
    const found = this.compiles.find((each) => each === row || each.id === row.compile_id);
    return isAwake(this.host) && this.doc.value?.can_open.includes(String(found?.row))
      ? found
      : undefined;
  }

  /** Opens the report of the compile that a row is about; without one the row is selected only. */
  async open(row: Row): Promise<void> {
    this.select(String(row.row));
    const compile = this.compileOf(row);
    if (compile) await this.opening.row(String(compile.row), `${compile.id} ${compile.function}`);
  }

  /** Opens the first compile of a bar that can be opened. */
  async openBar(bar: SessionBar): Promise<void> {
    const own = this.compiles.filter((row) => bar.rows.includes(String(row.row)));
    const first = own.find((row) => this.compileOf(row));
    if (first) await this.open(first);
  }

  close(): void {
    this.opening.close();
  }

  private get compiles(): readonly Row[] {
    return this.doc.value?.tables.find(({ id }) => id === "compiles")?.rows ?? [];
  }
}

export function idOf(bar: SessionBar): string {
  return `bar:${bar.first}`;
}

/** The bar that a key leads to: a neighbour, an end, or with n and p one in which something was. */
export function barAt(
  bars: readonly SessionBar[],
  from: SessionBar | undefined,
  key: string,
): SessionBar | undefined {
  const at = from ? bars.indexOf(from) : -1;
  const before = bars.slice(0, Math.max(0, at));
  const after = bars.slice(at + 1);
  switch (key) {
    case "ArrowRight":
      return after[0];
    case "ArrowLeft":
      return before.at(-1) ?? bars[0];
    case "Home":
      return bars[0];
    case "End":
      return bars.at(-1);
    case "n":
      return after.find((bar) => bar.marks || bar.why);
    case "p":
      return before.findLast((bar) => bar.marks || bar.why);
    default:
      return undefined;
  }
}
