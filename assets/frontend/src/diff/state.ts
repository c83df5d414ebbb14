// The state of the view of two compilations: the pane, the kernels that are looked at.

import { signal, type Signal } from "@preact/signals";
import { PaneStates, type HasPaneStates } from "../panestates";
import type { Tab } from "../shell/tabs";
import type { DiffDocument, DiffPart } from "../wire";

export const SUMMARY = "summary";

export class DiffState implements HasPaneStates {
  readonly paneStates = new PaneStates();
  readonly pane: Signal<string>;
  /** The kernels whose sources are shown, by index. */
  readonly kernel: Signal<number>;
  readonly heads: Tab[];

  constructor(
    readonly doc: DiffDocument,
    pane: string = SUMMARY,
  ) {
    this.heads = [
      { id: SUMMARY, title: "Summary" },
      ...doc.parts.filter(isTold).map(({ id, title, differ }) => ({ id, title, count: differ })),
    ];
    this.pane = signal(this.heads.some((head) => head.id === pane) ? pane : SUMMARY);
    const differing = doc.kernels.findIndex((each) => each.source.some((l) => l.kind !== "same"));
    const apart = doc.kernels.findIndex(({ relation }) => relation !== "same");
    this.kernel = signal(Math.max(0, differing < 0 ? apart : differing));
  }

  part(id: string): DiffPart | undefined {
    return this.doc.parts.find((part) => part.id === id);
  }

  show(pane: string): void {
    if (this.heads.some((head) => head.id === pane)) this.pane.value = pane;
  }

  look(kernel: number): void {
    this.kernel.value = kernel;
    this.show("kernels");
  }
}

/** Whether a part has a tab: one in which nothing differs is only named in the summary. */
export function isTold(part: DiffPart): boolean {
  return part.differ > 0 || part.missing !== null;
}
