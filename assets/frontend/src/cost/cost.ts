// The one cost that lines, tables, boxes and cards show: which it is, and what each thing has of it.

import { computed, type ReadonlySignal, type Signal } from "@preact/signals";
import { percent, writtenIn } from "../format";
import type { HasPaneStates } from "../panestates";
import { termOf } from "../ui/terms";
import type { Cost, CostKind, Document as Report } from "../wire";

/** The cost that the view shows, with what the kernels have of it. */
export interface ShownCost extends Cost {
  /** What stands over a column of it. */
  title: string;
  total: number;
  /** Whether it is known of every kernel. */
  isWhole: boolean;
  /** The largest of a kernel and of a source line: the full bar. */
  most: number;
  mostOfLine: number;
}

/** What has a cost in a document: a kernel, a source line. */
interface Costly {
  cost: Record<string, number>;
}

/** What of the state of a view says which cost it shows. */
interface Costing extends HasPaneStates {
  readonly doc: ReadonlySignal<Report | null>;
}

/** The cost that the reader chose; null as long as the best that is known is shown. */
export function chosenCost({ paneStates }: HasPaneStates): Signal<CostKind | null> {
  return paneStates.signal<CostKind | null>("cost", "chosen", () => null);
}

/** The cost that is shown; null where none is known. */
export function shownCost(view: Costing): ReadonlySignal<ShownCost | null> {
  return view.paneStates.keep("cost", "shown", () =>
    computed(() => costOf(view.doc.value, chosenCost(view).value)),
  );
}

/** A cost of a document: the one that is asked for where it is known, else the best. */
export function costOf(report: Report | null, chosen: CostKind | null): ShownCost | null {
  const costs = report?.costs ?? [];
  const head = costs.find((cost) => cost.kind === chosen) ?? costs[0];
  if (!report || !head) return null;
  const found = {
    ...head,
    title: head.is_estimate ? `${head.name} (est.)` : head.name,
    ...{ total: 0, isWhole: true, most: 0, mostOfLine: 0 },
  };
  for (const kernel of report.kernels) {
    const own = kernel.cost[head.kind] ?? 0;
    found.isWhole &&= head.kind in kernel.cost;
    found.total += own;
    found.most = Math.max(found.most, own);
  }
  for (const source of report.sources)
    for (const mark of source.marks)
      found.mostOfLine = Math.max(found.mostOfLine, mark.cost[head.kind] ?? 0);
  return found;
}

/** What a thing has of the cost that is shown; null where that is not known. */
export function valueOf(cost: ShownCost | null, thing: Costly): number | null {
  return (cost && thing.cost[cost.kind]) ?? null;
}

/** A cost with its unit. */
export function costText(cost: ShownCost, value: number): string {
  return writtenIn(cost.unit, value);
}

/** What a kernel costs and which part of the whole that is, as words. */
export function costWords(cost: ShownCost, value: number): string {
  const whole = cost.isWhole ? "all kernels" : "the kernels with a known cost";
  const share = cost.total > 0 ? `, ${percent(value / cost.total)} of ${whole}` : "";
  return `${costText(cost, value)}${share}`;
}

/** What a head over costs is, with the cost that is shown and where it is from. */
export function costTip(place: string, word: string, cost: ShownCost | null): string | undefined {
  const what = termOf(place, word)?.split("\n")[0];
  return cost ? `${what}\n${cost.title}: ${cost.source}` : what;
}
