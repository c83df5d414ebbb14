// Lines of IR and assembly, and the lines of Triton and PTX that they come from, in runs.

import { configOf, kernelOf, numberOf, ownerOf, stageOf } from "./ids";
import type { StagePart } from "./wire";

/** Lines from 1, first and last, by configuration and stage such as `k0:c0:sass`. */
export type StageLines = ReadonlyMap<string, readonly (readonly [number, number])[]>;

interface Known {
  part: StagePart;
  owner: string;
  /** The runs of each Triton line. */
  byLine: Map<number, [number, number][]>;
}

export class StageLinks {
  private readonly known = new Map<string, Known>();
  private readonly byKernel = new Map<string, Known[]>();

  learn(part: StagePart): void {
    const byLine = new Map<number, [number, number][]>();
    for (const [first, last, line] of part.lines) {
      const runs = byLine.get(line);
      if (runs) runs.push([first, last]);
      else byLine.set(line, [[first, last]]);
    }
    const owner = `${part.config}:${part.stage}`;
    const known = { part, owner, byLine };
    const kernel = kernelOf(part.config);
    this.known.set(owner, known);
    this.byKernel.set(kernel, [...(this.byKernel.get(kernel) ?? []), known]);
  }

  /** The line of the kernel's source that a line of a stage comes from. */
  kernelLine(id: string): string | null {
    const known = this.known.get(ownerOf(id));
    const line = known && runAt(known.part.lines, numberOf(id));
    return line ? `K:${kernelOf(id)}:${line[2]}` : null;
  }

  /** The lines of every stage that come from these lines of kernels' sources. */
  ofKernelLines(lines: Iterable<string>): StageLines {
    const found = new Map<string, [number, number][]>();
    for (const line of lines)
      for (const known of this.byKernel.get(kernelOf(line)) ?? []) addRuns(known, line, found);
    for (const runs of found.values()) runs.sort(([a], [b]) => a - b);
    return found;
  }

  /**
   * The lines of other stages that belong to one of a stage: where PTX and SASS of a configuration
   * are tied to each other, just those; else all of the same Triton line.
   */
  ofStageLine(id: string): StageLines {
    const found = new Map<string, [number, number][]>();
    const line = this.kernelLine(id);
    for (const known of this.byKernel.get(kernelOf(id)) ?? []) {
      if (known.owner === ownerOf(id)) continue;
      const tied = known.part.config === configOf(id) ? this.tied(id, known.part) : null;
      if (tied) found.set(known.owner, tied);
      else if (line) addRuns(known, line, found);
    }
    return found;
  }

  /** The lines of another stage where both are tied line by line. */
  private tied(id: string, other: StagePart): [number, number][] | null {
    const number = numberOf(id);
    if (stageOf(id) === "sass" && other.stage === "ptx") {
      const run = runAt(this.known.get(ownerOf(id))?.part.ptx ?? [], number);
      return run && [[run[2], run[2]]];
    }
    if (stageOf(id) !== "ptx" || other.stage !== "sass" || !other.ptx.length) return null;
    return other.ptx.filter((run) => run[2] === number).map(([first, last]) => [first, last]);
  }
}

function addRuns(known: Known, line: string, found: Map<string, [number, number][]>): void {
  const runs = known.byLine.get(numberOf(line));
  if (runs) found.set(known.owner, [...(found.get(known.owner) ?? []), ...runs]);
}

/** The run that holds a line; runs are in order and do not overlap. */
export function runAt<T extends readonly [number, number, ...unknown[]]>(
  runs: readonly T[],
  line: number,
): T | null {
  let [low, high] = [0, runs.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const run = runs[middle]!;
    if (line < run[0]) high = middle - 1;
    else if (line > run[1]) low = middle + 1;
    else return run;
  }
  return null;
}
