// The search over source lines, nodes, kernels and kernel lines.

import type { LinkedPart } from "./links";
import { nameOf } from "./ids";
import type { Document as Report, GraphPart } from "./wire";

export interface Hit {
  id: string;
  label: string;
  text: string;
  /** Where the match lies in `text`. */
  from: number;
  to: number;
}

export interface HitGroup {
  title: string;
  total: number;
  hits: Hit[];
}

interface Entry {
  id: string;
  label: string;
  text: string;
}

const SHOWN = 8;

/** Groups in a fixed order, each with how many matched; empty ones are left out. */
export function search(report: Report, parts: Iterable<LinkedPart>, query: string): HitGroup[] {
  const wanted = query.trim().toLowerCase();
  if (!wanted) return [];
  const loaded = [...parts];
  return [
    group("Source", sourceLines(report), wanted),
    group("Nodes", nodes(report, loaded), wanted),
    group("Kernels", kernels(report), wanted),
    group("Kernel lines", kernelLines(loaded), wanted),
  ].filter((found) => found.total > 0);
}

function group(title: string, entries: Iterable<Entry>, wanted: string): HitGroup {
  const hits: Hit[] = [];
  let total = 0;
  for (const entry of entries) {
    const from = entry.text.toLowerCase().indexOf(wanted);
    if (from < 0) continue;
    total += 1;
    if (hits.length < SHOWN) hits.push({ ...entry, from, to: from + wanted.length });
  }
  return { title, total, hits };
}

function* sourceLines(report: Report): Iterable<Entry> {
  for (const source of report.sources)
    for (const [i, text] of source.lines.entries()) {
      const number = source.first + i;
      yield { id: `L:${source.id}:${number}`, label: String(number), text: text.trim() };
    }
}

function* nodes(report: Report, parts: LinkedPart[]): Iterable<Entry> {
  const seen = new Set<string>();
  for (const part of parts) {
    if (part.kind !== "graph") continue;
    for (const [i, name] of part.names.entries()) {
      const id = nodeId(part, i);
      seen.add(id);
      yield { id, label: part.id, text: `${nameOf(name)} = ${part.targets[i] ?? ""}` };
    }
  }
  for (const kernel of report.kernels)
    for (const id of kernel.nodes)
      if (!seen.has(id)) {
        seen.add(id);
        yield { id, label: kernel.id, text: nameOf(id) };
      }
}

function* kernels(report: Report): Iterable<Entry> {
  for (const kernel of report.kernels)
    yield { id: kernel.id, label: kernel.id, text: `${kernel.id} ${kernel.name}` };
}

function* kernelLines(parts: LinkedPart[]): Iterable<Entry> {
  for (const part of parts) {
    if (part.kind !== "code") continue;
    for (const [i, text] of part.text.split("\n").entries())
      yield { id: `K:${part.id}:${i + 1}`, label: `${part.id}:${i + 1}`, text: text.trim() };
  }
}

/** The id of node i, whether the part names its nodes with or without their graph. */
export function nodeId(part: GraphPart, i: number): string {
  const name = part.names[i] ?? "";
  return name.includes(":") ? name : `${part.id}:${name}`;
}
