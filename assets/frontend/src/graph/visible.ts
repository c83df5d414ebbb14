// Which nodes are shown, and the edges between them when the nodes in between are hidden.

import type { Model } from "./model";

export interface Visible {
  isShown: Uint8Array;
  hidden: number;
  /** Pairs from, to, from, to, … of shown nodes; each pair once. */
  edges: number[];
  /** For each node: the shown nodes that its value comes from. */
  sources: readonly (readonly number[])[];
}

const MANY = 24; // a hidden node that joins more than this would draw a star that nobody can read

const NONE: ReadonlySet<number> = new Set();

export function visible(model: Model, showsQuiet: boolean, also = NONE): Visible {
  const { part, count } = model;
  const isShown = new Uint8Array(count);
  const sources: number[][] = new Array(count);
  const edges: number[] = [];
  let hidden = 0;
  for (let node = 0; node < count; node++) {
    const shown = showsQuiet || !part.is_quiet[node] || also.has(node);
    isShown[node] = shown ? 1 : 0;
    if (!shown) hidden++;
    const found: number[] = [];
    for (const input of part.inputs[node]!) {
      if (isShown[input]) {
        if (!found.includes(input)) found.push(input);
        continue;
      }
      for (const source of sources[input]!)
        if (found.length < MANY && !found.includes(source)) found.push(source);
    }
    sources[node] = found;
    if (shown) for (const source of found) edges.push(source, node);
  }
  return { isShown, hidden, edges, sources };
}
