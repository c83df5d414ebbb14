// What states, stages, configurations and languages are called.

import type { Store } from "../store";
import { WORDS, type Config, type Line } from "../wire";
import type { IconName } from "./icons";

export type State = Line["state"];

export const STATES = (Object.keys(WORDS) as State[]).filter((state) => state !== "plain");

export function wordOf(state: State): string {
  return WORDS[state];
}

export function iconOf(state: State): IconName {
  return state === "plain" ? "info" : state;
}

const STAGES: Record<string, string> = {
  ttir: "TTIR",
  ttgir: "TTGIR",
  llir: "LLVM",
  ptx: "PTX",
  amdgcn: "AMDGCN",
  sass: "SASS",
  assembly: "Assembly",
};

/** A stage of a kernel's compilation as it is written. */
export function stageName(stage: string): string {
  return STAGES[stage] ?? stage;
}

/** A configuration in words; those for another GPU, and cells of a matrix, begin with its name. */
export function configLabel(config: Config, target: string | undefined): string {
  const choice = config.choice || config.id;
  const isOwn = config.target === target && !config.id.endsWith(`:${config.target}`);
  return config.target && !isOwn ? `${config.target}: ${choice}` : choice;
}

export function languageOf(store: Store, kernel: string): string {
  const names: Record<string, string> = { triton: "Triton", cpp: "C++", extern: "library" };
  const language = store.kernel(kernel)?.language ?? "kernel";
  return names[language] ?? language;
}

export function baseName(file: string): string {
  return file.slice(file.lastIndexOf("/") + 1);
}
