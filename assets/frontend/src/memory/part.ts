// The part that the Memory pane shows, asked for when the pane is first opened.

import { grouped } from "../lists";
import type { Store } from "../store";
import type { MemoryPart, MemoryStorage } from "../wire";

export const NAME = "memory:";

/** The part as far as it was loaded. */
export function partOf(store: Store): MemoryPart | undefined {
  void store.learned.value;
  return store.parts.get(NAME) as MemoryPart | undefined;
}

export function storageOf(part: MemoryPart | undefined, id: string): MemoryStorage | undefined {
  return part?.storages.find((each) => each.id === id);
}

/**
 * One of each group of storages that are the same in equal layers, with the others behind it: the
 * selected one, so that its row is lit, else the first.
 */
export function merged(
  rows: readonly MemoryStorage[],
  selected: string | null,
): (MemoryStorage & { all: MemoryStorage[] })[] {
  return [...grouped(rows, ({ same }) => same).values()].map((all) => {
    const shown = all.find(({ id }) => id === selected) ?? all[0]!;
    return { ...shown, bytes: shown.bytes * all.length, all };
  });
}

/** Up to which step a storage lives; the last one where it outlives the call. */
export function endOf(part: MemoryPart, { end }: MemoryStorage): number {
  return end ?? part.kernels.length - 1;
}

/** Heights of the chart are whole numbers up to this, from above. */
export const HIGH = 10_000;

/** The outline of a kind over the steps, on top of `below`, which grows by it. */
export function outline(bytes: readonly number[], below: number[], top: number): string {
  const y = (value: number) => Math.round(HIGH * (1 - value / top));
  const roof: string[] = [];
  const floor: string[] = [];
  let last = "";
  bytes.forEach((size, step) => {
    const [low, high] = [y(below[step]!), y((below[step]! += size))];
    if (last === (last = `${low} ${high}`)) return;
    roof.push(`H${step}V${high}`);
    floor.unshift(`V${low}H${step}`);
  });
  return `M0,${HIGH}${roof.join("")}H${bytes.length}${floor.join("")}Z`;
}
