// A graph as the canvas works with it: the part, its ids, and who reads whom.

import type { GraphPart } from "../wire";

export interface Model {
  part: GraphPart;
  count: number;
  ids: string[];
  index: Map<string, number>;
  outputs: number[][];
}

export function modelOf(part: GraphPart): Model {
  const ids = part.names.map((name) => `${part.id}:${name}`);
  const outputs: number[][] = part.names.map(() => []);
  part.inputs.forEach((inputs, node) => {
    for (const input of inputs) outputs[input]!.push(node);
  });
  return {
    part,
    count: ids.length,
    ids,
    index: new Map(ids.map((id, node) => [id, node])),
    outputs,
  };
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
