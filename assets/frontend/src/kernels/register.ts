// The Kernels pane and its things: kernels, lines of their code, configurations, wrappers.

import { kernelOf, numberOf, ownerOf, stageOf } from "../ids";
import type { Registration } from "../registration";
import type { Entry } from "../search";
import type { Store } from "../store";
import { configLabel, languageOf, stageName } from "../ui/words";
import type { Document as Report, Part } from "../wire";
import { KernelsPane } from ".";
import { AssemblyLineCard, ConfigCard } from "./assembly";
import { KernelCard, KernelLineCard, WrapperLineCard } from "./cards";

export const kernels: Registration<Store> = {
  id: "kernels",
  Pane: KernelsPane,
  isFull: (store) => store.isCode.value,
  things: {
    kernel: { Card: KernelCard, isFollowed: true },
    "kernel-line": {
      Card: KernelLineCard,
      label: (id, store) => `${languageOf(store, ownerOf(id))} ${ownerOf(id)}:${numberOf(id)}`,
      isFollowed: true,
    },
    wrapper: {},
    "wrapper-line": {
      Card: WrapperLineCard,
      label: (id) => `wrapper ${ownerOf(id)}:${numberOf(id)}`,
      isFollowed: true,
    },
    "asm-line": {
      Card: AssemblyLineCard,
      label: (id) => `${stageName(stageOf(id))} ${kernelOf(id)}:${numberOf(id)}`,
      isFollowed: true,
    },
    config: { Card: ConfigCard, label: configName, isFollowed: true },
  },
  alsoShows: ["line", "node"],
  entries: (report, parts) => [
    { title: "Kernels", entries: names(report) },
    { title: "Kernel lines", entries: lines(parts) },
  ],
};

function configName(id: string, store: Store): string {
  const config = store.kernel(kernelOf(id))?.configs.find((each) => each.id === id);
  return config ? `${kernelOf(id)} ${configLabel(config, store.doc.value?.target)}` : id;
}

function* names(report: Report): Iterable<Entry> {
  for (const kernel of report.kernels)
    yield { id: kernel.id, label: kernel.id, text: `${kernel.id} ${kernel.name}` };
}

function* lines(parts: readonly Part[]): Iterable<Entry> {
  for (const part of parts) {
    if (part.kind !== "code") continue;
    for (const [i, text] of part.text.split("\n").entries())
      yield { id: `K:${part.id}:${i + 1}`, label: `${part.id}:${i + 1}`, text: text.trim() };
  }
}
