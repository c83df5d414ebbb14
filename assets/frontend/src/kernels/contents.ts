// What stands in each column for one kernel, as its parts arrive.

import { plural } from "../format";
import { useMemo } from "preact/hooks";
import { graphOf } from "../ids";
import { noSource } from "../overview/overview";
import type { Store } from "../store";
import { baseName, languageOf } from "../ui/words";
import type { CodePart, Config, GraphPart, Kernel, WrapperPart } from "../wire";
import { lineCount, type Content } from "./content";
import { usePart } from "./parts";
import { codeRows, coloursOf, inOrder, nodeRows, pythonRows, wrapperRows } from "./rows";
import { kernelState, type ColumnId } from "./state";
import { useStages, type Painted } from "./stagecontents";

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
  const wrapper = usePart<WrapperPart>(store, kernel.wrapper && wrapperName(kernel.wrapper));
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
      missing: "The record does not say which nodes this kernel computes.",
    },
    code: {
      title: kernel.code ? languageOf(store, kernel.id) : "Kernel",
      note: lineCount(text),
      rows: text,
      missing: code.failed ?? (kernel.code ? null : libraryCall(kernel)),
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

function libraryCall(kernel: Kernel): string {
  return `${kernel.name} is a call of a library: it has no generated source. The wrapper shows the call.`;
}

function pythonNote(store: Store, kernel: Kernel, functions: number): string {
  const line = kernel.lines.map((id) => store.line(id)).find((each) => each !== null);
  if (line) return baseName(line.source.file);
  return functions === 1 ? "1 function" : `${functions} functions`;
}

function wrapperName(wrapper: string): string {
  return wrapper.startsWith("wrapper:") ? wrapper : `wrapper:${wrapper}`;
}
