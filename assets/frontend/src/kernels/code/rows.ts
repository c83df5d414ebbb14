// The text of each column with what every line of it is: its id, number, colour; marked lines as spans.

import { nodePlaces } from "../../links";
import { runAt, type StageLines } from "../../stagelinks";
import type { CodePart, GraphPart, Kernel, Opcode, Source, WrapperPart } from "../../wire";

export type Machine = "ptx" | "amdgcn" | "sass" | "assembly";
export type Language = "python" | "cpp" | "plain" | "mlir" | "llvm" | Machine;

/** How a line of a comparison differs; `gap` stands for a line of the other text. */
export type Difference = "changed" | "added" | "removed" | "gap" | "fold";

export interface Rows {
  /** What is drawn; indentation is halved, as columns are narrow. */
  text: string;
  /** What is copied. */
  raw: string;
  language: Language;
  /** What a line selects, or null. */
  ids: (string | null)[];
  numbers: string[];
  /** The colour 0 to 7 of each line's strip, or -1. */
  strip: number[];
  /** The configuration and stage whose lines these are, such as `k0:c0:sass`. */
  stage?: string;
  /** The line of the stage (from 1) in each row, where rows are not just its lines. */
  lines?: readonly (number | null)[];
  /** Which rows can belong to anything; without it all that have an id. */
  tied?: readonly boolean[];
  /** What the opcodes of the text do. */
  opcodes?: Readonly<Record<string, Opcode>>;
  /** Where the helper stands that a line (from 0) was inlined from. */
  inlined?(line: number): string | null;
  /** In a comparison, how each line differs. */
  differences?: (Difference | null)[];
}

/** The rows that stand for these lines of others; null is a row without a line. */
export function pickedRows(rows: Rows, from: readonly (number | null)[], text?: string[]): Rows {
  const lines = text ? [] : rows.text.split("\n");
  const pick = <T>(values: readonly T[], none: T) =>
    from.map((at) => (at === null ? none : (values[at] ?? none)));
  return {
    ...rows,
    text: (text ?? pick(lines, "")).join("\n"),
    ids: pick(rows.ids, null),
    numbers: pick(rows.numbers, ""),
    strip: pick(rows.strip, -1),
    inlined: (row) => {
      const at = from[row];
      return at == null ? null : (rows.inlined?.(at) ?? null);
    },
    lines: from.map((at) => (at === null ? null : at + 1)),
    ...(rows.tied && { tied: pick(rows.tied, false) }),
  };
}

const COLOURS = 8;

/** One colour per FX node of a kernel, the same in every column. */
export function coloursOf(nodes: readonly string[]): Map<string, number> {
  return new Map(nodes.map((node, at) => [node, at % COLOURS]));
}

/** The user's functions one below the other, each under its name and file. */
export function pythonRows(sources: readonly Source[]): Rows {
  const texts: string[] = [];
  const ids: (string | null)[] = [];
  const numbers: string[] = [];
  sources.forEach((source, at) => {
    if (at > 0) {
      texts.push("");
      ids.push(null);
      numbers.push("");
    }
    texts.push(`# ${source.name} · ${source.file}`);
    ids.push(null);
    numbers.push("");
    source.lines.forEach((line, i) => {
      texts.push(line);
      ids.push(`L:${source.id}:${source.first + i}`);
      numbers.push(`${source.first + i}`);
    });
  });
  const strip = new Array<number>(texts.length).fill(-1);
  return {
    text: texts.map(halved).join("\n"),
    raw: texts.join("\n"),
    language: "python",
    ids,
    numbers,
    strip,
  };
}

/** The nodes of a kernel in the order of the graph, written as calls. */
export function nodeRows(kernel: Kernel, graph: GraphPart | null): Rows {
  const colours = coloursOf(inOrder(kernel.nodes, graph));
  const order = [...colours.keys()];
  const index = graph ? nodePlaces(graph) : null;
  const texts = order.map((id) => {
    const at = index?.get(id);
    return graph && at !== undefined ? callText(graph, at) : id.slice(id.indexOf(":") + 1);
  });
  return {
    text: texts.join("\n"),
    raw: texts.join("\n"),
    language: "python",
    ids: order,
    numbers: order.map((_, at) => `${at + 1}`),
    strip: order.map((id) => colours.get(id) ?? -1),
  };
}

/** Node ids by their place in the graph; those that are not in it last. */
export function inOrder(nodes: readonly string[], graph: GraphPart | null): string[] {
  if (!graph) return [...nodes];
  const place = nodePlaces(graph);
  const at = (id: string) => place.get(id) ?? Infinity;
  return [...nodes].sort((a, b) => at(a) - at(b));
}

function callText(graph: GraphPart, at: number): string {
  const target = shortOp(graph.targets[at]!);
  const inputs = graph.inputs[at]!.map((input) => graph.names[input]).join(", ");
  const size = graph.shapes[at] ? `  # ${graph.dtypes[at]} ${graph.shapes[at]}` : "";
  return `${graph.names[at]} = ${target}(${inputs})${size}`;
}

/** An operation without namespace and overload. */
function shortOp(target: string): string {
  const steps = target.split(".");
  const hasOverload = steps.length === 3 && steps[0] !== "torch";
  return hasOverload ? steps[1]! : steps[steps.length - 1]!;
}

/** The source of a kernel; the strip says which node a line computes. */
export function codeRows(part: CodePart, colours: ReadonlyMap<string, number>): Rows {
  const lines = part.text.split("\n");
  return {
    text: lines.map(halved).join("\n"),
    raw: part.text,
    language: part.language === "cpp" ? "cpp" : part.language === "extern" ? "plain" : "python",
    ids: lines.map((_, at) => `K:${part.id}:${at + 1}`),
    numbers: lines.map((_, at) => `${at + 1}`),
    strip: lines.map((_, at) => colourOf(part.nodes[at] ?? [], colours)),
  };
}

export function colourOf(nodes: readonly string[], colours: ReadonlyMap<string, number>): number {
  for (const node of nodes) {
    const colour = colours.get(node);
    if (colour !== undefined) return colour;
  }
  return -1;
}

/** The program that calls the kernels. */
export function wrapperRows(part: WrapperPart): Rows {
  const lines = part.text.split("\n");
  return {
    text: lines.map(halved).join("\n"),
    raw: part.text,
    language: "python",
    ids: lines.map((_, at) => `W:${part.id}:${at + 1}`),
    numbers: lines.map((_, at) => `${at + 1}`),
    strip: new Array<number>(lines.length).fill(-1),
  };
}

/** Four columns of indentation become two. */
function halved(line: string): string {
  const indent = line.length - line.trimStart().length;
  return indent < 4 ? line : line.slice(Math.floor(indent / 4) * 2);
}

/** Where each id stands: line indexes from 0. */
export function placesOf(rows: Rows): Map<string, number> {
  const places = new Map<string, number>();
  rows.ids.forEach((id, at) => {
    if (id !== null) places.set(id, at);
  });
  return places;
}

/** The lines of a column that are in a set of ids, from the shorter of the two. */
export function linesIn(
  ids: ReadonlySet<string>,
  rows: Rows,
  places: ReadonlyMap<string, number>,
): number[] {
  const found: number[] = [];
  if (ids.size < rows.ids.length) {
    for (const id of ids) {
      const at = places.get(id);
      if (at !== undefined) found.push(at);
    }
    return found.sort((a, b) => a - b);
  }
  rows.ids.forEach((id, at) => {
    if (id !== null && ids.has(id)) found.push(at);
  });
  return found;
}

/** Line indexes from 0, first and last, ascending. */
export type Spans = readonly (readonly [number, number])[];

const NO_SPANS: Spans = [];

/** The rows that are in a set of ids or, for a stage, in runs of its lines. */
export function spansIn(
  ids: ReadonlySet<string>,
  stages: StageLines,
  rows: Rows,
  places: ReadonlyMap<string, number>,
): Spans {
  if (rows.stage === undefined) return joined(linesIn(ids, rows, places));
  const runs = stages.get(rows.stage) ?? [];
  const own = [...ids].flatMap((id) => (id.startsWith("A:") ? (places.get(id) ?? []) : []));
  const spans = rows.lines
    ? joined(rows.lines.flatMap((line, at) => (line !== null && runAt(runs, line) ? [at] : [])))
    : runs.map(([first, last]) => [first - 1, last - 1] as const);
  return own.length ? [...spans, ...joined(own)].sort(([a], [b]) => a - b) : spans;
}

/** The spans, or none where they are all that could be marked: a mark means a part of the text. */
export function asSubset(spans: Spans, rows: Rows, selected: number | null): Spans {
  let [at, end] = [0, -1];
  for (const [row, id] of rows.ids.entries()) {
    while (end < row && at < spans.length && spans[at]![0] <= row)
      end = Math.max(end, spans[at++]![1]);
    if (row > end && row !== selected && id !== null && rows.tied?.[row] !== false) return spans;
  }
  return NO_SPANS;
}

function joined(lines: readonly number[]): Spans {
  const spans: [number, number][] = [];
  for (const line of lines) {
    const last = spans[spans.length - 1];
    if (last && last[1] === line - 1) last[1] = line;
    else spans.push([line, line]);
  }
  return spans;
}

/** Whether a span has a line from `first` to `last`. */
export function overlaps(spans: Spans, first: number, last: number): boolean {
  return spans.some(([from, to]) => from <= last && to >= first);
}

/** The lines from `first` to `last` that are in spans. */
export function* linesOf(spans: Spans, first: number, last: number): Generator<number> {
  for (const [from, to] of spans)
    for (let at = Math.max(from, first); at <= Math.min(to, last); at++) yield at;
}
