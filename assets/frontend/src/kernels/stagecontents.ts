// What stands in the columns of IR and assembly for one configuration of a kernel.

import { useMemo } from "preact/hooks";
import type { Store } from "../store";
import { stageName } from "../ui/words";
import type { CodePart, Config, StagePart } from "../wire";
import { lineCount, type Content } from "./content";
import { filtered, type Filter } from "./filters";
import { usePart } from "./parts";
import type { Rows } from "./rows";
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
  filters: ReadonlySet<Filter>,
): Record<StageId, Content> {
  const found = STAGES.map((id) => {
    // The list never changes, so the order of hooks does not either.
    return [id, useStage(store, config, id, shown.includes(id), painted, filters)] as const;
  });
  return Object.fromEntries(found) as Record<StageId, Content>;
}

function useStage(
  store: Store,
  config: Config | null,
  id: StageId,
  isShown: boolean,
  { code, colours }: Painted,
  filters: ReadonlySet<Filter>,
): Content {
  const stage = config ? stageOf(id, config) : id;
  const note = config?.stages[stage];
  const name = isShown && config && note === null ? `asm:${config.id}:${stage}` : null;
  const { part, failed } = usePart<StagePart>(store, name);
  const all = useMemo(() => part && stageRows(part, code, colours), [part, code, colours]);
  const rows = useFiltered(all, stage, filters, store.selected.value);
  const why = config ? (note ?? null) : (store.doc.value?.no_assembly ?? null);
  return {
    title: config ? stageName(stage) : "GPU code",
    note: lineCount(rows, all),
    rows,
    stage,
    missing: failed ?? why,
  };
}

/** What the filters leave, and the selected line whatever it is. */
function useFiltered(
  all: Rows | null,
  stage: string,
  filters: ReadonlySet<Filter>,
  selected: string | null,
): Rows | null {
  const usual = useMemo(() => all && filtered(all, stage, filters, null), [all, stage, filters]);
  const isHidden = usual !== null && selected !== null && !usual.ids.includes(selected);
  const line = isHidden && all ? all.ids.indexOf(selected) : -1;
  return useMemo(
    () => (all && line >= 0 ? filtered(all, stage, filters, line) : usual),
    [usual, line],
  );
}
