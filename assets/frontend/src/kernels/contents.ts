// What stands in each column for one kernel and configuration, as its parts arrive.

import { useMemo } from "preact/hooks";
import { plural } from "../format";
import { graphOf, wrapperPart } from "../ids";
import { noSource } from "../overview/overview";
import type { Store } from "../store";
import { usePart } from "../ui/asked";
import { baseName, languageOf, stageName } from "../ui/words";
import type { CodePart, Config, GraphPart, Kernel, StagePart, WrapperPart } from "../wire";
import { type Filter, filtered } from "./code/filters";
import {
  codeRows,
  coloursOf,
  inOrder,
  nodeRows,
  pythonRows,
  type Rows,
  wrapperRows,
} from "./code/rows";
import { stageRows } from "./code/stages";
import { type ColumnId, kernelState, type StageId, stageOf, STAGES } from "./state";

export interface Content {
  title: string;
  note: string;
  rows: Rows | null;
  /** The stage of the record, where its text can be filtered. */
  stage?: string;
  /** Why there is nothing to show; null while it is on its way. */
  missing: string | null;
}

/** How many lines there are, and how many of them are in sight. */
function lineCount(rows: Rows | null, all: Rows | null = rows): string {
  if (!rows || !all) return "";
  const total = plural(all.ids.length, "line");
  return rows.ids.length < all.ids.length ? `${rows.ids.length} of ${total}` : total;
}

const LIBRARY = "a library call without generated source. The wrapper shows the call.";

/** The contents of all columns; the parts of stages are asked for where they are shown. */
export function useContents(
  store: Store,
  kernel: Kernel,
  config: Config | null,
  shown: readonly ColumnId[],
): { columns: Record<ColumnId, Content>; painted: Painted } {
  const filters = kernelState(store).filters.value;
  const sources = store.doc.value?.sources ?? [];
  const graphName = kernel.nodes[0] ? `graph:${graphOf(kernel.nodes[0])}` : null;
  const graph = usePart<GraphPart>(store, graphName).part;
  const code = usePart<CodePart>(store, kernel.code);
  const wrapper = usePart<WrapperPart>(store, kernel.wrapper && wrapperPart(kernel.wrapper));
  const python = useMemo(() => (sources.length ? pythonRows(sources) : null), [sources]);
  const nodes = useMemo(
    () => (kernel.nodes.length ? nodeRows(kernel, graph) : null),
    [kernel, graph],
  );
  const colours = useMemo(() => coloursOf(inOrder(kernel.nodes, graph)), [kernel, graph]);
  const source = code.part?.id === kernel.id ? code.part : null;
  const text = useMemo(() => source && codeRows(source, colours), [source, colours]);
  const painted = { code: source, colours };
  const stages = useStages(store, config, shown, painted, filters);
  const program = useMemo(() => wrapper.part && wrapperRows(wrapper.part), [wrapper.part]);
  const columns = {
    python: {
      title: "Python",
      note: pythonNote(store, kernel, sources.length),
      rows: python,
      missing: whyNoSource(store),
    },
    nodes: {
      title: "FX",
      note: plural(kernel.nodes.length, "node"),
      rows: nodes,
      missing: "The report does not say which nodes this kernel computes.",
    },
    code: {
      title: kernel.code ? languageOf(store, kernel.id) : "Kernel",
      note: lineCount(text),
      rows: text,
      missing: code.failed ?? (kernel.code ? null : `${kernel.name} is ${LIBRARY}`),
    },
    wrapper: {
      title: "Wrapper",
      note: lineCount(program),
      rows: program,
      missing: wrapper.failed ?? (kernel.wrapper ? null : "No wrapper was kept for this kernel."),
    },
    ...stages,
  };
  return { columns, painted };
}

function whyNoSource(store: Store): string {
  const why = store.doc.value && noSource(store.doc.value);
  return why?.text ?? "The source of the functions was not kept.";
}

function pythonNote(store: Store, kernel: Kernel, functions: number): string {
  const line = kernel.lines.map((id) => store.line(id)).find((each) => each !== null);
  if (line) return baseName(line.source.file);
  return functions === 1 ? "1 function" : `${functions} functions`;
}

/** What the strips of a kernel's stages are coloured by. */
export interface Painted {
  code: CodePart | null;
  colours: ReadonlyMap<string, number>;
}

function useStages(
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
