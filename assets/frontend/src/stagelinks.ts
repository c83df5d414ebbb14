// Lines of IR and assembly, and the lines of Triton and PTX that they come from, in runs.

import { configOf, kernelOf, numberOf, stageOf } from "./ids";
import type { StagePart } from "./wire";

type Run = readonly [number, number, number];

interface Known {
  part: StagePart;
  /** The runs of each Triton line. */
  byLine: Map<number, Run[]>;
}

export class StageLinks {
  private readonly known = new Map<string, Known>();
  private readonly byKernel = new Map<string, Known[]>();

  learn(part: StagePart): void {
    const byLine = new Map<number, Run[]>();
    for (const run of part.lines) {
      const runs = byLine.get(run[2]);
      if (runs) runs.push(run);
      else byLine.set(run[2], [run]);
    }
    const known = { part, byLine };
    const kernel = kernelOf(part.config);
    this.known.set(`${part.config}:${part.stage}`, known);
    this.byKernel.set(kernel, [...(this.byKernel.get(kernel) ?? []), known]);
  }

  /** The line of the kernel's source that a line of a stage comes from. */
  kernelLine(id: string): string | null {
    const known = this.known.get(`${configOf(id)}:${stageOf(id)}`);
    const line = known && runAt(known.part.lines, numberOf(id));
    return line ? `K:${kernelOf(id)}:${line[2]}` : null;
  }

  /** Adds the lines of every stage that come from a line of the kernel's source. */
  ofKernelLine(line: string, found: Set<string>): void {
    for (const known of this.byKernel.get(kernelOf(line)) ?? []) addRuns(known, line, found);
  }

  /**
   * Adds the lines of other stages that belong to one of a stage: where PTX and SASS of a
   * configuration are tied to each other, just those; else all of the same Triton line.
   */
  ofStageLine(id: string, found: Set<string>): void {
    const [config, stage] = [configOf(id), stageOf(id)];
    const line = this.kernelLine(id);
    for (const known of this.byKernel.get(kernelOf(id)) ?? []) {
      const { part } = known;
      if (part.config === config && part.stage === stage) continue;
      if (part.config === config && this.tied(id, part, found)) continue;
      if (line) addRuns(known, line, found);
    }
  }

  /** Whether both stages are tied line by line; adds the lines. */
  private tied(id: string, other: StagePart, found: Set<string>): boolean {
    const [config, stage, number] = [configOf(id), stageOf(id), numberOf(id)];
    if (stage === "sass" && other.stage === "ptx") {
      const run = runAt(this.known.get(`${config}:sass`)!.part.ptx, number);
      if (run) found.add(`A:${config}:ptx:${run[2]}`);
      return run !== null;
    }
    if (stage !== "ptx" || other.stage !== "sass") return false;
    for (const [first, last, line] of other.ptx)
      if (line === number) addLines(other, first, last, found);
    return other.ptx.length > 0;
  }
}

function addRuns(known: Known, line: string, found: Set<string>): void {
  for (const [first, last] of known.byLine.get(numberOf(line)) ?? [])
    addLines(known.part, first, last, found);
}

function addLines(part: StagePart, first: number, last: number, found: Set<string>): void {
  for (let at = first; at <= last; at++) found.add(`A:${part.config}:${part.stage}:${at}`);
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
