// The state of the view of a sweep: the pane, the rows that are picked, what was opened.

import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { PaneStates } from "../../panestates";
import { isAwake } from "../../host";
import type { RecordsHost } from "../../opened/host";
import { Opening } from "../../opened/state";
import type { Selecting } from "../../table/table";
import type { SweepDocument, SweepRow } from "./wire";

const TABS = [
  { id: "table", title: "Configurations" },
  { id: "pareto", title: "Against compile time" },
  { id: "heat", title: "Heat map" },
  { id: "axes", title: "Axes" },
  { id: "rounds", title: "Forest plot" },
] as const;

export type SweepPane = (typeof TABS)[number]["id"];

const NO_ROWS: readonly SweepRow[] = [];

export class SweepState implements Selecting {
  readonly paneStates = new PaneStates();
  readonly pane: Signal<SweepPane> = signal("table");
  readonly selected: Signal<string | null> = signal(null);
  /** At most two rows, the one that was picked first in front. */
  readonly picked: Signal<readonly string[]> = signal([]);
  readonly related: ReadonlySignal<ReadonlySet<string>>;
  readonly opening: Opening;
  readonly isCancelling: Signal<boolean> = signal(false);
  readonly doc: ReadonlySignal<SweepDocument | null>;
  readonly rows: ReadonlySignal<readonly SweepRow[]>;
  /** Rows that can be drawn: those with the figure that rows are compared by. */
  readonly measured: ReadonlySignal<readonly SweepRow[]>;

  constructor(readonly host: RecordsHost<SweepDocument>) {
    this.opening = new Opening(host);
    this.doc = computed(() => host.document.value);
    this.rows = computed(() => this.doc.value?.rows ?? NO_ROWS);
    this.measured = computed(() => this.rows.value.filter((row) => this.figure(row) !== null));
    this.related = computed(() => new Set(this.picked.value));
  }

  get panes(): readonly (typeof TABS)[number][] {
    if (!this.measured.value.length) return TABS.slice(0, 1);
    return TABS.filter(({ id }) => id !== "rounds" || this.rows.value.some((r) => r.rounds.length));
  }

  /** A figure of a row, by default the one that rows are compared by. */
  figure(row: SweepRow, id: string = this.doc.value?.by ?? "speedup"): number | null {
    return row.figures[this.column(id)] ?? null;
  }

  /** A figure with its unit, as Python writes it. */
  words(row: SweepRow, id: string = this.doc.value?.by ?? "speedup"): string {
    return row.words[this.column(id)] ?? "–";
  }

  row(id: string | null): SweepRow | undefined {
    return id === null ? undefined : this.rows.value.find((row) => row.id === id);
  }

  canOpen(row: SweepRow): boolean {
    return row.can_open && isAwake(this.host);
  }

  select(id: string): void {
    this.selected.value = id;
  }

  show(pane: SweepPane): void {
    this.pane.value = pane;
  }

  /** Picks a row for the comparison, or takes it back; the third takes the place of the first. */
  pick(id: string): void {
    const now = this.picked.value;
    this.picked.value = now.includes(id)
      ? now.filter((each) => each !== id)
      : [...now, id].slice(-2);
  }

  /** Opens the record of a row; what cannot be opened is selected only. */
  async open(row: SweepRow): Promise<void> {
    this.select(row.id);
    if (!this.canOpen(row)) return;
    await this.opening.row(row.id);
  }

  async compare(): Promise<void> {
    const [a, b] = this.picked.value;
    if (a !== undefined && b !== undefined) await this.opening.compare(a, b);
  }

  async cancel(): Promise<void> {
    this.isCancelling.value = true;
    try {
      await this.host.part("cancel");
    } catch {
      // it has ended meanwhile, or the kernel was not listening: the words beside the button say so
    }
  }

  close(): void {
    this.opening.close();
  }

  private column(id: string): number {
    return this.doc.value?.figures.findIndex((figure) => figure.id === id) ?? -1;
  }
}

/** Whether a row was timed, and the pairs allow no verdict. */
export function isNoisy(row: SweepRow): boolean {
  return row.verdict === "too noisy to say";
}

/** How many rows ended how: done, failed in any way, running, waiting. */
export function counted(rows: readonly SweepRow[]): Record<"done" | "failed" | "running", number> {
  const found = { done: 0, failed: 0, running: 0 };
  for (const { status } of rows) {
    if (status === "done" || status === "running") found[status] += 1;
    else if (status !== "waiting" && status !== "cancelled") found.failed += 1;
  }
  return found;
}
