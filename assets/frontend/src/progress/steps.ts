// Which steps of a compilation are worth a line: those that run, and those that took their time.

import type { StepState } from "../wire";

export interface ShownStep {
  step: StepState;
  /** How many steps it lies inside of. */
  depth: number;
  isRunning: boolean;
}

/** A step that ended sooner is only counted. */
const SHORT_S = 0.05;
const MOST = 12;

/** The steps to list in their order, and how many short ones are left out. */
export function shownSteps(steps: readonly StepState[]): { shown: ShownStep[]; short: number } {
  const around: StepState[] = [];
  const all = [...steps].sort((a, b) => a.start_s - b.start_s);
  const nested = all.map((step) => {
    while (around.length && !holds(around[around.length - 1] as StepState, step)) around.pop();
    const depth = around.length;
    around.push(step);
    return { step, depth, isRunning: step.duration_s === null };
  });
  const long = nested.filter(({ step }) => step.duration_s === null || step.duration_s >= SHORT_S);
  const shown = long.length > MOST ? longest(long) : long;
  return { shown, short: nested.length - shown.length };
}

function holds(outer: StepState, inner: StepState): boolean {
  return outer.duration_s === null || outer.start_s + outer.duration_s > inner.start_s + 1e-6;
}

/** What runs, and the longest of what ended, in order. */
function longest(steps: ShownStep[]): ShownStep[] {
  const byTime = [...steps].sort(
    (a, b) =>
      (b.step.duration_s ?? Number.POSITIVE_INFINITY) -
      (a.step.duration_s ?? Number.POSITIVE_INFINITY),
  );
  const kept = new Set(byTime.slice(0, MOST));
  return steps.filter((step) => kept.has(step));
}
