// What stands in each column for one kernel, as its parts arrive.

import { useEffect, useMemo, useState } from "preact/hooks";
import { graphOf } from "../ids";
import { noSource } from "../overview/overview";
import type { Store } from "../store";
import { baseName, languageOf } from "../ui/words";
import type { CodePart, GraphPart, Kernel, WrapperPart } from "../wire";
import { codeRows, coloursOf, inOrder, nodeRows, pythonRows, wrapperRows, type Rows } from "./rows";
import type { ColumnId } from "./state";

export interface Content {
  title: string;
  note: string;
  rows: Rows | null;
  /** Why there is nothing to show; null while it is on its way. */
  missing: string | null;
}

export function useContents(store: Store, kernel: Kernel): Record<ColumnId, Content> {
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
  const text = useMemo(() => {
    const colours = coloursOf(inOrder(kernel.nodes, graph));
    return code.part?.id === kernel.id ? codeRows(code.part, colours) : null;
  }, [code.part, graph, kernel]);
  const program = useMemo(() => wrapper.part && wrapperRows(wrapper.part), [wrapper.part]);
  return {
    python: {
      title: "Python",
      note: pythonNote(store, kernel, sources.length),
      rows: python,
      missing: whyNoSource(store),
    },
    nodes: {
      title: "FX",
      note: kernel.nodes.length === 1 ? "1 node" : `${kernel.nodes.length} nodes`,
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
  };
}

function whyNoSource(store: Store): string {
  const why = store.doc.value && noSource(store.doc.value);
  return why?.text ?? "The source of the functions was not kept.";
}

function lineCount(rows: Rows | null): string {
  return rows ? `${rows.ids.length} lines` : "";
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

interface Asked<T> {
  part: T | null;
  failed: string | null;
}

/** A part by name; the one before stays out of sight while the next is on its way. */
function usePart<T extends GraphPart | CodePart | WrapperPart>(
  store: Store,
  name: string | null,
): Asked<T> {
  const [asked, setAsked] = useState<Asked<T> & { name: string | null }>({
    name: null,
    part: null,
    failed: null,
  });
  useEffect(() => {
    if (name === null) return;
    let isCurrent = true;
    store.need<T>(name).then(
      (part) => isCurrent && setAsked({ name, part, failed: null }),
      (error: Error) => isCurrent && setAsked({ name, part: null, failed: error.message }),
    );
    return () => {
      isCurrent = false;
    };
  }, [store, name]);
  if (asked.name === name) return asked;
  const known = name === null ? null : ((store.parts.get(name) as T | undefined) ?? null);
  return { part: known, failed: null };
}
