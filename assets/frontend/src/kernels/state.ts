// Which kernel is shown, in which configuration, which columns, and how wide they are.

import { signal } from "@preact/signals";
import { configOf, kernelOf, kindOf } from "../ids";
import type { Store } from "../store";
import { remembered } from "../ui/kept";
import type { Room } from "../ui/size";
import type { Config, Kernel, Document as Report } from "../wire";
import { filtersFrom } from "./code/filters";

export type StageId = "ttir" | "ttgir" | "llir" | "ptx" | "sass";
export type ColumnId = "python" | "nodes" | "code" | StageId | "wrapper";

/** Columns of a kernel's stages; `ptx` is AMDGCN for a GPU of AMD, assembly for a CPU. */
export const STAGES: readonly StageId[] = ["ttir", "ttgir", "llir", "ptx", "sass"];
export const COLUMNS: readonly ColumnId[] = ["python", "nodes", "code", ...STAGES, "wrapper"];

export type KernelState = ReturnType<typeof kernelState>;

const SHARES: Readonly<Record<ColumnId, number>> = {
  ...{ python: 1, nodes: 0.8, code: 1.25, wrapper: 1.1 },
  ...{ ttir: 1.2, ttgir: 1.2, llir: 1.2, ptx: 1.15, sass: 1.15 },
};

export function kernelState({ paneStates }: Store) {
  return paneStates.keep("kernels", "state", () => ({
    kernel: signal<string | null>(null),
    /** The configuration that was chosen, by kernel. */
    configs: signal<Readonly<Record<string, string>>>({}),
    /** What the configuration is compared with, and in which stage. */
    compared: signal<string | null>(null),
    comparedStage: signal<StageId>("ptx"),
    isLoose: signal(true),
    /** The columns that were chosen; null as long as those that fit the kernel do. */
    columns: signal<readonly ColumnId[] | null>(null),
    /** What is hidden of machine code, in all columns and views. */
    filters: signal(filtersFrom(remembered("filters"))),
    /** Shares of the width, by column. */
    shares: signal(SHARES),
  }));
}

/** The columns that a kernel opens with; without source the wrapper takes its place. */
export function usualColumns(report: Report | null, kernel: Kernel): readonly ColumnId[] {
  const hasLines = (report?.sources ?? []).some((source) => source.lines.length > 0);
  if (kernel.configs.length && !isHost(kernel.configs[0]!))
    return hasLines ? ["python", "code", "ptx"] : ["nodes", "code", "ptx"];
  return hasLines ? ["python", "nodes", "code"] : ["nodes", "code", "wrapper"];
}

/** The columns that there are for a kernel, for a GPU those of the stages of a configuration. */
export function columnsOf(
  report: Report | null,
  kernel: Kernel,
  config: Config | null,
): ColumnId[] {
  const hasCode = config === null && kernel.code !== null && report?.no_assembly != null;
  return COLUMNS.filter((id) => {
    if (!isStage(id)) return true;
    if (config) return stageOf(id, config) in config.stages;
    return hasCode && id === "ptx"; // it says why there is none
  });
}

export function isStage(id: ColumnId): id is StageId {
  return (STAGES as readonly string[]).includes(id);
}

/** The stage of the record that a column shows. */
export function stageOf(id: StageId, config: Config): string {
  if (id !== "ptx" || "ptx" in config.stages) return id;
  return isHost(config) ? "assembly" : "amdgcn" in config.stages ? "amdgcn" : id;
}

/** Whether a configuration is code of the CPU. */
function isHost(config: Config): boolean {
  return "assembly" in config.stages;
}

/** The column that shows a stage of the record. */
export function columnOf(stage: string): StageId {
  return stage === "amdgcn" || stage === "assembly" ? "ptx" : (stage as StageId);
}

/** The columns whose stages have a text in both configurations. */
export function comparable(a: Config, b: Config): StageId[] {
  return STAGES.filter((id) => {
    const stage = stageOf(id, a);
    return a.stages[stage] === null && b.stages[stage] === null;
  });
}

/** The kernel to show for a selection: its own, or the present one when that is among its. */
export function kernelFor(
  selected: string | null,
  related: ReadonlySet<string>,
  present: string | null,
  all: readonly string[],
): string | null {
  if (selected !== null) {
    const own = kernelOf(selected);
    if (OWNED.has(kindOf(selected)) && all.includes(own)) return own;
    if (present !== null && related.has(present)) return present;
    for (const id of all) if (related.has(id)) return id;
  }
  return present !== null && all.includes(present) ? present : (all[0] ?? null);
}

const OWNED = new Set(["kernel", "kernel-line", "asm-line", "config"]);

/** The configuration to show: the selected one, the one that was chosen, or the first. */
export function configFor(
  kernel: Kernel,
  selected: string | null,
  chosen: string | undefined,
): Config | null {
  const kind = selected === null ? null : kindOf(selected);
  const own = kind === "config" ? selected : kind === "asm-line" ? configOf(selected!) : null;
  const find = (id: string | null | undefined) => kernel.configs.find((each) => each.id === id);
  return find(own) ?? find(chosen) ?? kernel.configs[0] ?? null;
}

/** Turns a column on or off; when there is no more room the oldest goes, and one always stays. */
export function switched(
  columns: readonly ColumnId[],
  id: ColumnId,
  most: number,
): readonly ColumnId[] {
  const shown = visible(columns, most);
  if (shown.includes(id)) return shown.length === 1 ? shown : shown.filter((each) => each !== id);
  const kept = shown.length >= most ? shown.slice(shown.length - most + 1) : shown;
  return [...kept, id];
}

/** As many columns as there is room for, the latest chosen first to stay. */
export function visible(columns: readonly ColumnId[], most: number): readonly ColumnId[] {
  return columns.slice(Math.max(0, columns.length - most));
}

const MOST: Record<Room, number> = { narrow: 2, normal: 4, wide: 6 };

/** How many columns a view of this width has. */
export function mostColumns(room: Room): number {
  return MOST[room];
}
