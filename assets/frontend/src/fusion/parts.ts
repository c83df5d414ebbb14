// The parts that the Fusion pane shows, asked for when it, or a kernel, is first opened.

import type { Store } from "../store";
import type { FusionPart, FusionStep, PairsPart, Rejected } from "../wire";

export const KERNELS = "fusion:";
export const PAIRS = "pairs:";

/** What fusion did in a kernel, as far as that was loaded. */
export function stepOf(store: Store, kernel: string): FusionStep | undefined {
  void store.learned.value;
  const part = store.parts.get(KERNELS) as FusionPart | undefined;
  return part?.steps.find((step) => step.kernel === kernel);
}

/** A pair that stayed apart, as far as they were loaded. */
export function pairOf(store: Store, id: string): Rejected | undefined {
  void store.learned.value;
  const part = store.parts.get(PAIRS) as PairsPart | undefined;
  return part?.rows.find((row) => row.id === id);
}
