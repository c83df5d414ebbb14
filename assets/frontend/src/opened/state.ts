// What a view of many records has opened in its own place: a report or a comparison.

import { signal, type Signal } from "@preact/signals";
import { DiffState } from "../diff/state";
import { PANES } from "../panes";
import { Store } from "../store";
import type { DiffDocument, PaneId } from "../wire";
import type { RecordsHost } from "./host";

export type Opened =
  | { kind: "asked"; title: string }
  | { kind: "failed"; title: string; text: string }
  | { kind: "report"; title: string; store: Store }
  | { kind: "diff"; title: string; state: DiffState };

export class Opening {
  readonly opened: Signal<Opened | null> = signal(null);
  private asked = 0;

  constructor(private readonly host: RecordsHost<unknown>) {}

  /** Opens the record of a row, at a thing of it where one is given. */
  row(id: string, title = id, at?: { pane: PaneId; selected: string }): Promise<void> {
    return this.present(title, async () => {
      const store = new Store(await this.host.row(id), PANES);
      if (at) store.begin(at);
      return { kind: "report", title, store };
    });
  }

  compare(a: string, b: string): Promise<void> {
    const title = `${a} and ${b}`;
    return this.present(title, async () => {
      const shown = await this.host.part<DiffDocument>("compare-rows", { rows: [a, b] });
      return { kind: "diff", title, state: new DiffState(shown) };
    });
  }

  back(): void {
    this.asked += 1; // what is still on its way does not open any more
    const before = this.opened.value;
    if (before?.kind === "report") before.store.close();
    this.opened.value = null;
  }

  close(): void {
    this.back();
    this.host.close();
  }

  private async present(title: string, make: () => Promise<Opened>): Promise<void> {
    this.asked += 1;
    const mine = this.asked;
    this.opened.value = { kind: "asked", title };
    let made: Opened;
    try {
      made = await make();
    } catch (error) {
      made = { kind: "failed", title, text: (error as Error).message };
    }
    if (mine === this.asked) this.opened.value = made;
    else if (made.kind === "report") made.store.close();
  }
}
