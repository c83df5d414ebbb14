// The view of a document of blocks: what is said, and a tab for each of its sections.

import { signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { PaneStates } from "../panestates";
import { Frame, useFrame } from "../shell/frame";
import type { KeyWords } from "../shell/keys";
import type { Tab } from "../shell/tabs";
import type { Selecting } from "../table/table";
import { learnTerms } from "../ui/terms";
import type { Block, BlocksDocument } from "../wire";
import { Blocks } from "./blocks";

const KEYS: readonly KeyWords[] = [
  { keys: ["1", "9"], words: "switch section", isRange: true },
  { keys: ["↑", "↓"], words: "previous or next row" },
  { keys: ["Esc"], words: "clear the selection" },
];
const FIRST = "answer";
const NOTHING: ReadonlySet<string> = new Set();

interface Section extends Tab {
  blocks: readonly Block[];
}

export class BlocksState implements Selecting {
  readonly paneStates = new PaneStates();
  readonly pane: Signal<string>;
  readonly selected: Signal<string | null> = signal(null);
  readonly related: ReadonlySignal<ReadonlySet<string>> = signal(NOTHING);
  readonly sections: readonly Section[];

  constructor(readonly doc: BlocksDocument) {
    learnTerms(doc.terms);
    this.sections = sectionsOf(doc.blocks);
    this.pane = signal(this.sections[0]?.id ?? FIRST);
  }

  select(id: string | null): void {
    this.selected.value = id;
  }
}

/** What stands in no section comes first, under one tab. */
export function sectionsOf(blocks: readonly Block[]): Section[] {
  const loose = blocks.filter(({ kind }) => kind !== "section");
  const own = blocks.flatMap((block, at): Section[] => {
    if (block.kind !== "section") return [];
    const { title, count, blocks } = block;
    return [{ id: `s${at}`, title, blocks, ...(/^\d+$/.test(count) && { count: Number(count) }) }];
  });
  return loose.length ? [{ id: FIRST, title: "Answer", blocks: loose }, ...own] : own;
}

export function BlocksShell({ state }: { state: BlocksState }) {
  const { doc, sections } = state;
  const section = sections.find(({ id }) => id === state.pane.value);
  return (
    <Frame
      frame={useFrame()}
      view={state}
      look="blocks"
      label={doc.title}
      tabsLabel="Sections"
      tabs={sections}
      show={(id) => (state.pane.value = id)}
      head={
        <>
          <h1>{doc.title}</h1>
          <span class="facts mut grow" data-tip="">
            {doc.facts}
          </span>
        </>
      }
      status={<div class="status" />}
      keys={KEYS}
      press={({ key }) => key === "Escape" && (state.select(null), true)}
    >
      <div class="scroll facts-pane" tabIndex={0} role="group" aria-label={section?.title}>
        <Blocks key={section?.id} view={state} blocks={section?.blocks ?? []} isPane />
      </div>
    </Frame>
  );
}
