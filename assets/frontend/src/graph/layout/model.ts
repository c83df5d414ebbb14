// A graph as the canvas works with it: the part, its ids, who reads whom, which nodes are shown.

import { nodePlaces } from "../../links";
import type { GraphPart } from "../../wire";

export interface Model {
  part: GraphPart;
  count: number;
  ids: string[];
  index: ReadonlyMap<string, number>;
  outputs: number[][];
}

export function modelOf(part: GraphPart): Model {
  const index = nodePlaces(part);
  const ids = [...index.keys()];
  const outputs: number[][] = part.names.map(() => []);
  part.inputs.forEach((inputs, node) => {
    for (const input of inputs) outputs[input]!.push(node);
  });
  return { part, count: ids.length, ids, index, outputs };
}

/** What a node is called on the canvas: inputs as in the user's code, the rest by their FX name. */
export function labelOf(part: GraphPart, node: number): string {
  const op = part.ops[node];
  if (op === "placeholder") return part.targets[node] || part.names[node]!;
  return op === "output" ? "output" : part.names[node]!;
}

/** An input or the output: drawn as a pill, outside of every kernel. */
export function isEnd(part: GraphPart, node: number): boolean {
  const op = part.ops[node];
  return op === "placeholder" || op === "output" || op === "get_attr";
}

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
