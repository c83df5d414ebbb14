// Who belongs to whom: indexes built once from the document, and grown by each part that loads.

import { fieldOf, rowsAt } from "./fields";
import { graphOf, kernelOf, kindOf, nodeId, ownerOf, type Kind } from "./ids";
import { thingsOf, type PlacedThing, type Registration } from "./registration";
import { StageLinks, type StageLines } from "./stagelinks";
import type {
  CardSpec,
  CodePart,
  Document as Report,
  GraphPart,
  MemoryPart,
  PairsPart,
  Part,
  StagePart,
  WrapperPart,
} from "./wire";

/** The parts that are kept by their name; most of them say what belongs to whom. */
export type LinkedPart = Extract<Part, { id: string }> | StagePart;

type Ids = ReadonlySet<string>;
type Index = Map<string, Set<string>>;

function add(index: Index, key: string, value: string): void {
  const known = index.get(key);
  if (known) known.add(value);
  else index.set(key, new Set([value]));
}

const NONE: Ids = new Set();

/** What belongs to what, to be read from either side. */
class Pairs {
  private readonly there: Index = new Map();
  private readonly back: Index = new Map();

  add(from: string, to: string): void {
    add(this.there, from, to);
    add(this.back, to, from);
  }

  of(from: string): Ids {
    return this.there.get(from) ?? NONE;
  }

  to(to: string): Ids {
    return this.back.get(to) ?? NONE;
  }
}

const places = new WeakMap<GraphPart, ReadonlyMap<string, number>>();

/** Where the nodes of a graph are in its lists, by id. */
export function nodePlaces(part: GraphPart): ReadonlyMap<string, number> {
  let known = places.get(part);
  if (!known) places.set(part, (known = new Map(part.names.map((_, i) => [nodeId(part, i), i]))));
  return known;
}

export class Links<View> {
  /** Graphs that the kernels' nodes belong to, or without kernels those of the first stage. */
  readonly kernelGraphs = new Set<string>();
  private readonly kernelsOfLine = new Pairs();
  private readonly kernelsOfNode = new Pairs();
  /** Of the kernels that the record names itself: parts tie more nodes to them. */
  private readonly nodesOfKernel: Index = new Map();
  private readonly nodesOfLine: Index = new Map();
  private readonly lineOfNode = new Map<string, string>();
  private readonly sitesOfNode: Index = new Map();
  /** The nodes that a node was made from in an earlier stage. */
  private readonly before = new Pairs();
  private readonly callers = new Pairs();
  private readonly nodesOfKernelLine = new Pairs();
  private readonly kernelOfWrapperLine = new Pairs();
  private readonly kernelsOfBuffer: Index = new Map();
  private readonly direct: Index = new Map();
  private readonly learned = new Set<string>();
  private readonly stages = new StageLinks();
  private readonly things: ReadonlyMap<Kind, PlacedThing<View>>;

  constructor(report: Report, panes: readonly Registration<View>[]) {
    for (const source of report.sources)
      for (const mark of source.marks) {
        for (const kernel of mark.kernels) this.kernelsOfLine.add(mark.id, kernel);
        for (const caller of mark.called_in) this.callers.add(mark.id, caller);
      }
    for (const kernel of report.kernels) {
      for (const line of kernel.lines) this.kernelsOfLine.add(line, kernel.id);
      for (const node of kernel.nodes) {
        this.kernelsOfNode.add(node, kernel.id);
        add(this.nodesOfKernel, kernel.id, node);
        this.kernelGraphs.add(graphOf(node));
      }
      for (const buffer of kernel.buffers) add(this.kernelsOfBuffer, buffer, kernel.id);
      for (const group of kernel.groups) this.tie(group, kernel.id);
    }
    if (!this.kernelGraphs.size)
      for (const { id, stage } of report.graphs)
        if (stage === report.graphs[0]?.stage) this.kernelGraphs.add(id);
    const ties = {
      both: (a: string, b: string) => this.tie(a, b),
      one: (from: string, to: string) => add(this.direct, from, to),
    };
    for (const card of Object.values(report.cards ?? {}).flat()) this.tieRows(report, card);
    for (const pane of panes) pane.ties?.(report, ties);
    this.things = thingsOf(panes);
  }

  /** Adds what a part knows; true when it was new. */
  learn(part: LinkedPart): boolean {
    const key = partName(part);
    if (this.learned.has(key)) return false;
    this.learned.add(key);
    switch (part.kind) {
      case "stage":
        this.stages.learn(part);
        break;
      case "graph":
        this.learnGraph(part);
        break;
      case "code":
        this.learnCode(part);
        break;
      case "wrapper":
        this.learnWrapper(part);
        break;
      case "memory":
        this.learnMemory(part);
        break;
      case "pairs":
        this.learnPairs(part);
    }
    return true;
  }

  private learnPairs({ rows }: PairsPart): void {
    for (const { id, a_kernel, b_kernel, a_nodes, b_nodes } of rows)
      for (const end of [a_kernel, b_kernel, ...a_nodes, ...b_nodes])
        if (end !== null) add(this.direct, id, end);
  }

  /** Everything that belongs to `id`, without itself. */
  related(id: string): Set<string> {
    const found = new Set<string>();
    this.collect(id, found);
    found.delete(id);
    return found;
  }

  /** The lines of IR and assembly that belong to `id`, as far as their parts were learned. */
  stageLines(id: string): StageLines {
    if (kindOf(id) === "asm-line") return this.stages.ofStageLine(id);
    const lines = [...this.related(id)].filter((each) => kindOf(each) === "kernel-line");
    return this.stages.ofKernelLines(kindOf(id) === "kernel-line" ? [id, ...lines] : lines);
  }

  /** The lines that the calls on this line were inlined to. */
  calledFrom(line: string): Ids {
    return this.callers.to(line);
  }

  lineOf(node: string): string | null {
    return this.lineOfNode.get(node) ?? null;
  }

  /** Ties the rows of a card to what their fields name. */
  private tieRows(report: Report, { place, ties, leads }: CardSpec): void {
    for (const row of rowsAt(report, place)) {
      for (const other of idsIn(row, ties)) this.tie(row.id, other);
      for (const other of idsIn(row, leads)) add(this.direct, row.id, other);
    }
  }

  private tie(a: string, b: string): void {
    add(this.direct, a, b);
    add(this.direct, b, a);
  }

  private learnGraph(part: GraphPart): void {
    part.names.forEach((_, i) => {
      const node = nodeId(part, i);
      const line = part.lines[i];
      if (line) {
        add(this.nodesOfLine, line, node);
        this.lineOfNode.set(node, line);
      }
      for (const site of part.called_from[i] ?? []) {
        add(this.nodesOfLine, site, node);
        add(this.sitesOfNode, node, site);
      }
      for (const before of part.before[i] ?? []) this.before.add(node, before);
      const kernel = part.kernels[part.kernel[i] ?? -1];
      if (kernel) this.kernelsOfNode.add(node, kernel);
    });
  }

  private learnCode(part: CodePart): void {
    part.nodes.forEach((nodes, i) => {
      const line = `K:${part.id}:${i + 1}`;
      for (const node of nodes) this.nodesOfKernelLine.add(line, node);
    });
  }

  private learnWrapper(part: WrapperPart): void {
    part.kernels.forEach((kernel, i) => {
      if (kernel) this.kernelOfWrapperLine.add(`W:${part.id}:${i + 1}`, kernel);
    });
  }

  private learnMemory(part: MemoryPart): void {
    for (const { id, line, node, buffers } of part.storages) {
      if (line) this.tie(id, line);
      if (node) add(this.direct, id, node);
      for (const buffer of buffers)
        for (const kernel of this.kernelsOfBuffer.get(buffer) ?? NONE) this.tie(id, kernel);
    }
  }

  private collect(id: string, found: Set<string>): void {
    const kind = kindOf(id);
    if (kind === "line") this.fromLine(id, found);
    else if (kind === "node") this.fromNode(id, found);
    else if (kind === "kernel") this.fromKernel(id, found);
    else if (kind === "kernel-line") this.fromKernelLine(id, found);
    else if (kind === "asm-line") this.fromStageLine(id, found);
    else if (kind === "config") this.fromKernel(kernelOf(id), found);
    else if (kind === "wrapper-line")
      for (const kernel of this.kernelOfWrapperLine.of(id)) this.fromKernel(kernel, found);
    else if (kind === "storage") put(found, this.direct.get(id));
    else if (kind === "buffer") put(found, this.kernelsOfBuffer.get(id));
    else this.fromOther(id, found);
  }

  private fromLine(line: string, found: Set<string>): void {
    put(found, this.callers.of(line));
    put(found, this.direct.get(line));
    put(found, this.callers.to(line));
    for (const node of this.nodesOfLine.get(line) ?? NONE) {
      found.add(node);
      put(found, this.nodesOfKernelLine.to(node));
    }
    for (const kernel of this.kernelsOfLine.of(line)) this.callOf(kernel, found);
  }

  private fromNode(node: string, found: Set<string>): void {
    const earlier = closure(node, (each) => this.before.of(each));
    const later = closure(node, (each) => this.before.to(each));
    const stages = [node, ...earlier, ...later];
    for (const each of stages) {
      found.add(each);
      put(found, this.nodesOfKernelLine.to(each));
      for (const kernel of this.kernelsOfNode.of(each)) this.callOf(kernel, found);
      this.placesOf(each, found);
    }
  }

  private fromKernel(kernel: string, found: Set<string>): void {
    this.callOf(kernel, found);
    put(found, this.kernelsOfLine.to(kernel));
    put(found, this.nodesOfKernel.get(kernel));
  }

  private fromKernelLine(id: string, found: Set<string>): void {
    this.callOf(ownerOf(id), found);
    for (const node of this.nodesOfKernelLine.of(id)) {
      found.add(node);
      this.placesOf(node, found);
    }
  }

  private fromStageLine(id: string, found: Set<string>): void {
    const line = this.stages.kernelLine(id);
    if (line) this.fromKernelLine(line, found.add(line));
    else this.callOf(kernelOf(id), found);
  }

  private fromOther(id: string, found: Set<string>): void {
    const through = this.things.get(kindOf(id))?.through;
    for (const other of this.direct.get(id) ?? NONE) {
      const kind = kindOf(other);
      if (kind === "kernel") {
        this.callOf(other, found);
        if (through === "kernel") this.fromKernel(other, found);
      } else if (kind === "node") {
        found.add(other);
        put(found, this.nodesOfKernelLine.to(other));
        this.placesOf(other, found);
      } else {
        found.add(other);
        if (kind === "line" && through === "line") this.fromLine(other, found);
      }
    }
  }

  /** The line of a node and the calls that led to it. */
  private placesOf(node: string, found: Set<string>): void {
    const line = this.lineOfNode.get(node);
    if (line) found.add(line);
    put(found, this.sitesOfNode.get(node));
  }

  /** A kernel, its group, and where its wrapper calls it. */
  private callOf(kernel: string, found: Set<string>): void {
    found.add(kernel);
    put(found, this.kernelOfWrapperLine.to(kernel));
    put(found, this.direct.get(kernel));
  }
}

/** The ids that fields of a row name, one or several each. */
function idsIn(row: object, fields: readonly string[]): string[] {
  const named = fields.flatMap((field) => fieldOf(row, field) as string | string[] | null);
  return named.filter((id): id is string => id !== null && kindOf(id) !== "unknown");
}

/** The name under which a part is asked for. */
export function partName(part: LinkedPart): string {
  return part.kind === "stage" ? `asm:${part.config}:${part.stage}` : `${part.kind}:${part.id}`;
}

function put(found: Set<string>, ids: Ids | undefined): void {
  if (ids) for (const id of ids) found.add(id);
}

function closure(start: string, step: (id: string) => Ids): Set<string> {
  const seen = new Set<string>();
  const open = [start];
  for (let node = open.pop(); node !== undefined; node = open.pop())
    for (const next of step(node))
      if (!seen.has(next)) {
        seen.add(next);
        open.push(next);
      }
  return seen;
}
