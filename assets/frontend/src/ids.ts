// The ids of things: what kind of thing an id names, and its parts.

import type { GraphPart } from "./wire";

const FORMS = [
  [/^L:/, "line"],
  [/^K:/, "kernel-line"],
  [/^W:/, "wrapper-line"],
  [/^A:/, "asm-line"],
  [/^M:/, "module"],
  [/^g[\d.]+:/, "node"],
  [/^g[\d.]+$/, "graph"],
  [/^k\d+$/, "kernel"],
  [/^k\d+:/, "config"],
  [/^w\d+$/, "wrapper"],
  [/^f\d+:\d+$/, "rejected"],
  [/^i\d+:.*op\d/, "group"],
  [/^i\d+:/, "buffer"],
  [/^c\d+$/, "cuda-graph"],
  [/^b\d+$/, "break"],
  [/^q\d+$/, "guard"],
  [/^p\d+$/, "phase"],
  [/^a\d+$/, "choice"],
  [/^r\d+$/, "ranked"],
  [/^s\d+$/, "source"],
  [/^m\d+$/, "storage"],
  [/^h\d+$/, "finding"],
  [/^x\d+$/, "access"],
  [/^n\d+$/, "collective"],
  [/^Z:/, "saved"],
] as const;

/** What belongs to a world is called by its kind: `deviation.3`. */
const OF_WORLD = /^([a-z]{3,}(?:-[a-z]+)*)\.\d+$/;

/** One of the forms, "unknown", or a kind of a world. */
export type Kind = (typeof FORMS)[number][1] | "unknown" | (string & {});

export function kindOf(id: string): Kind {
  for (const [form, kind] of FORMS) if (form.test(id)) return kind;
  return OF_WORLD.exec(id)?.[1] ?? "unknown";
}

/** The number after the last colon: a line number of `L:`, `K:`, `W:` and `A:` ids. */
export function numberOf(id: string): number {
  return Number(id.slice(id.lastIndexOf(":") + 1));
}

/** What comes between the first and the last colon, such as the kernel of `K:k0:12`. */
export function ownerOf(id: string): string {
  return id.slice(id.indexOf(":") + 1, id.lastIndexOf(":"));
}

/** The graph of a node id such as `g7:add_1`. */
export function graphOf(node: string): string {
  return node.slice(0, node.indexOf(":"));
}

/** The graph of a stage that a pass left as `g5.2`, itself where it is one: `g5`. */
export function stageGraph(graph: string): string {
  return graph.split(".")[0]!;
}

/** The name of a node without its graph. */
export function nameOf(node: string): string {
  return node.slice(node.indexOf(":") + 1);
}

/** The kernel that the id of a configuration, a kernel line or a line of assembly belongs to. */
export function kernelOf(id: string): string {
  return id.match(/k\d+/)?.[0] ?? "";
}

/** The configuration of a line of assembly `A:k0:c0:sass:12`. */
export function configOf(line: string): string {
  const owner = ownerOf(line);
  return owner.slice(0, owner.lastIndexOf(":"));
}

/** The stage of a line of assembly: `sass`. */
export function stageOf(line: string): string {
  const owner = ownerOf(line);
  return owner.slice(owner.lastIndexOf(":") + 1);
}

/** The id of node i, whether the part names its nodes with or without their graph. */
export function nodeId(part: GraphPart, i: number): string {
  const name = part.names[i] ?? "";
  return name.includes(":") ? name : `${part.id}:${name}`;
}

/** The part that holds a wrapper, by its id. */
export function wrapperPart(wrapper: string): string {
  return wrapper.startsWith("wrapper:") ? wrapper : `wrapper:${wrapper}`;
}
