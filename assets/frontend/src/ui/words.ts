// What states are called, and where a thing is best looked at.

import { kernelOf, kindOf, nameOf, numberOf, ownerOf, stageOf } from "../ids";
import type { Store } from "../store";
import type { Config, Guard, Line, PaneId, SavedFile } from "../wire";
import type { IconName } from "./icons";

export type State = Line["state"];

export const STATES: State[] = ["captured", "break", "fallback", "folded", "outside"];

const WORDS: Record<State, string> = {
  captured: "Captured",
  break: "Graph break",
  fallback: "Fallback",
  folded: "Constant-folded",
  outside: "Runs in Python",
  plain: "",
};

export function wordOf(state: State): string {
  return WORDS[state];
}

export function iconOf(state: State): IconName {
  return state === "plain" ? "info" : state;
}

/** The pane that shows a thing of this kind at its best. */
export function paneFor(id: string): PaneId {
  switch (kindOf(id)) {
    case "node":
    case "graph":
      return "graphs";
    case "break":
    case "guard":
      return "breaks";
    case "group":
    case "rejected":
    case "cuda-graph":
    case "buffer":
      return "fusion";
    case "kernel":
    case "kernel-line":
    case "wrapper":
    case "wrapper-line":
    case "asm-line":
    case "config":
      return "kernels";
    case "phase":
      return "timeline";
    case "choice":
    case "ranked":
      return "autotune";
    case "saved":
      return "artifact";
    default:
      return "overview";
  }
}

/** The short name of a thing: on chips, in the status bar, in the title of the inspector. */
export function labelOf(id: string, store: Store): string {
  const report = store.doc.value;
  switch (kindOf(id)) {
    case "line": {
      const line = store.line(id);
      const several = (report?.sources.length ?? 0) > 1 && line;
      return several ? `${baseName(line.source.file)}:${numberOf(id)}` : `line ${numberOf(id)}`;
    }
    case "node":
      return nameOf(id);
    case "kernel-line":
      return `${languageOf(store, ownerOf(id))} ${ownerOf(id)}:${numberOf(id)}`;
    case "wrapper-line":
      return `wrapper ${ownerOf(id)}:${numberOf(id)}`;
    case "asm-line":
      return `${stageName(stageOf(id))} ${kernelOf(id)}:${numberOf(id)}`;
    case "config":
      return configName(store, id);
    case "rejected": {
      const pair = report?.rejected.find((each) => each.id === id);
      return pair ? `${pair.a_kernel ?? pair.a} with ${pair.b_kernel ?? pair.b}` : id;
    }
    case "cuda-graph": {
      const part = report?.cuda_graphs?.parts.find((each) => each.id === id);
      return part ? `part ${part.name}` : id;
    }
    case "group":
      return report?.groups.find((each) => each.id === id)?.kernel ?? nameOf(id);
    case "break": {
      const item = report?.breaks.find((each) => each.id === id);
      return item ? `break on line ${item.line}` : id;
    }
    case "guard":
      return guardName(
        report?.guards.find((each) => each.id === id),
        id,
      );
    case "phase":
      return report?.phases.find((each) => each.id === id)?.name ?? id;
    case "choice":
      return report?.choices.find((each) => each.id === id)?.choice ?? id;
    case "ranked": {
      const row = report?.ranked.find((each) => each.id === id);
      return row ? `${row.kernel} with ${row.choice}, ${row.warps} warps` : id;
    }
    case "saved":
      return savedName(report?.file, id);
    case "graph":
      return report?.graphs.find((each) => each.id === id)?.title ?? id;
    case "buffer":
      return nameOf(id);
    default:
      return id;
  }
}

function savedName(file: SavedFile | undefined, id: string): string {
  const way = file?.ways.find((each) => each.name === id.split(":")[1]);
  const phase = way?.phases.find((each) => each.id === id);
  if (way) return phase ? `${phase.title} of ${way.title}` : way.title;
  const rows = [...(file?.members ?? []), ...(file?.requirements ?? []), ...(file?.contract ?? [])];
  const row = rows.find((each) => each.id === id);
  return row?.name ?? file?.leaves.find((each) => each.id === id)?.leaf ?? id;
}

const STAGES: Record<string, string> = {
  ttir: "TTIR",
  ttgir: "TTGIR",
  llir: "LLVM",
  ptx: "PTX",
  amdgcn: "AMDGCN",
  sass: "SASS",
};

/** A stage of a kernel's compilation as it is written. */
export function stageName(stage: string): string {
  return STAGES[stage] ?? stage;
}

function configName(store: Store, id: string): string {
  const config = store.kernel(kernelOf(id))?.configs.find((each) => each.id === id);
  return config ? `${kernelOf(id)} ${configLabel(config, store.doc.value?.target)}` : id;
}

/** A configuration in words; those for another GPU, and cells of a matrix, begin with its name. */
export function configLabel(config: Config, target: string | undefined): string {
  const choice = config.choice || config.id;
  const isOwn = config.target === target && !config.id.endsWith(`:${config.target}`);
  return config.target && !isOwn ? `${config.target}: ${choice}` : choice;
}

/** A guard by its source, or by its kind where it is about torch as a whole. */
export function guardName(guard: Guard | undefined, id: string): string {
  return guard ? guard.source || guardKind(guard) : id;
}

/** TENSOR_MATCH in words. */
export function guardKind(guard: Guard): string {
  return guard.kind.toLowerCase().replaceAll("_", " ");
}

export function languageOf(store: Store, kernel: string): string {
  const names: Record<string, string> = { triton: "Triton", cpp: "C++", extern: "library" };
  const language = store.kernel(kernel)?.language ?? "kernel";
  return names[language] ?? language;
}

export function baseName(file: string): string {
  return file.slice(file.lastIndexOf("/") + 1);
}
