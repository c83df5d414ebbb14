// What stands in the columns of IR and assembly for one configuration of a kernel.

import { useMemo } from "preact/hooks";
import type { Store } from "../store";
import { stageName } from "../ui/words";
import type { CodePart, Config, StagePart } from "../wire";
import { lineCount, type Content } from "./content";
import { usePart } from "./parts";
import { stageRows } from "./stages";
import { STAGES, stageOf, type ColumnId, type StageId } from "./state";

/** What the strips of a kernel's stages are coloured by. */
export interface Painted {
  code: CodePart | null;
  colours: ReadonlyMap<string, number>;
}

export function useStages(
  store: Store,
  config: Config | null,
  shown: readonly ColumnId[],
  painted: Painted,
): Record<StageId, Content> {
  const found = STAGES.map((id) => {
    // The list never changes, so the order of hooks does not either.
    return [id, useStage(store, config, id, shown.includes(id), painted)] as const;
  });
  return Object.fromEntries(found) as Record<StageId, Content>;
}

function useStage(
  store: Store,
  config: Config | null,
  id: StageId,
  isShown: boolean,
  { code, colours }: Painted,
): Content {
  const stage = config ? stageOf(id, config) : id;
  const note = config?.stages[stage];
  const name = isShown && config && note === null ? `asm:${config.id}:${stage}` : null;
  const { part, failed } = usePart<StagePart>(store, name);
  const rows = useMemo(() => part && stageRows(part, code, colours), [part, code, colours]);
  const why = config ? (note ?? null) : (store.doc.value?.no_assembly ?? null);
  return {
    title: config ? stageName(stage) : "GPU code",
    note: lineCount(rows),
    rows,
    missing: failed ?? why,
  };
}
