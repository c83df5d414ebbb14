// What the reader did in a pane, which outlives the pane: another takes its place for a while.

import { signal, type ReadonlySignal, type Signal } from "@preact/signals";

export class PaneStates {
  private readonly kept = new Map<string, unknown>();

  /** What is kept under a key of a pane; made when it is first asked for. */
  keep<T>(pane: string, key: string, make: () => T): T {
    const place = `${pane} ${key}`;
    if (!this.kept.has(place)) this.kept.set(place, make());
    return this.kept.get(place) as T;
  }

  /** A kept value that those who read it follow. */
  signal<T>(pane: string, key: string, initial: () => T): Signal<T> {
    return this.keep(pane, key, () => signal(initial()));
  }
}

/** The state of a view as far as panes keep theirs in it. */
export interface HasPaneStates {
  readonly paneStates: PaneStates;
  /** The pane that is shown. */
  readonly pane: ReadonlySignal<string>;
}
