// Lists by what their items have in common.

/** The items of each key, in the order in which they come. */
export function grouped<Key, Item>(
  items: Iterable<Item>,
  key: (item: Item) => Key,
): Map<Key, Item[]> {
  const found = new Map<Key, Item[]>();
  for (const item of items) {
    const known = found.get(key(item));
    if (known) known.push(item);
    else found.set(key(item), [item]);
  }
  return found;
}

/** How often each of them comes. */
export function counted<Key>(keys: Iterable<Key>): Map<Key, number> {
  const found = new Map<Key, number>();
  for (const key of keys) found.set(key, (found.get(key) ?? 0) + 1);
  return found;
}

/** A copy with an item that was not in it, or without it. */
export function toggled<Item>(items: ReadonlySet<Item>, item: Item): Set<Item> {
  const next = new Set(items);
  if (!next.delete(item)) next.add(item);
  return next;
}

/** 1, 2, 5 or 10 times a power of ten: the least of them that is not below a number. */
export function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5].map((factor) => factor * power).find((step) => step >= least) ?? 10 * power;
}
