// The state of one view: one selection with what belongs to it, the pane, and their history.

import { batch, computed, effect, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Host } from "./host";
import { graphOf, kernelOf, type Kind, kindOf, ownerOf, wrapperPart } from "./ids";
import { Links, nodePlaces, partName, type LinkedPart } from "./links";
import { PaneStates, type HasPaneStates } from "./panestates";
import { Pair } from "./pair";
import { thingsOf, type PlacedThing, type Registration } from "./registration";
import type { EntryGroup } from "./search";
import type { StageLines } from "./stagelinks";
import { learnTerms } from "./ui/terms";
import type { Document as Report, GraphPart, Kernel, Line, PaneId, Side, Source } from "./wire";

export interface Place {
  pane: PaneId;
  selected: string | null;
  /** Whether the Kernels pane shows code; without it as before. */
  isCode?: boolean;
}

const HOME: PaneId = "overview";
const HISTORY = 200;
/** What only code shows: the Kernels pane opens it for them. */
const IN_CODE: ReadonlySet<Kind> = new Set<Kind>([
  ...(["kernel-line", "asm-line", "config", "wrapper", "wrapper-line"] as const),
]);
const NO_LINES: StageLines = new Map();
const NOTHING: ReadonlySet<string> = new Set();

export class Store implements HasPaneStates {
  readonly paneStates = new PaneStates();
  readonly doc: ReadonlySignal<Report | null>;
  readonly pane: Signal<PaneId> = signal(HOME);
  readonly selected: Signal<string | null> = signal(null);
  /** Whether the Kernels pane shows the code of a kernel, else the table of all. */
  readonly isCode: Signal<boolean> = signal(false);
  /** The pass whose rows all panes show; empty for both. */
  readonly side: Signal<Side> = signal("");
  readonly related: ReadonlySignal<Set<string>>;
  /** A thing under the pointer and what belongs to it; marks without selecting. */
  readonly hovered: Signal<string | null> = signal(null);
  readonly hoveredRelated: ReadonlySignal<ReadonlySet<string>>;
  /** The lines of IR and assembly that belong to the selected thing, and to that under the pointer. */
  readonly relatedLines: ReadonlySignal<StageLines>;
  readonly hoveredLines: ReadonlySignal<StageLines>;
  /** Grows with each part that is learned, for those that read `links` or `parts`. */
  readonly learned: Signal<number> = signal(0);
  readonly links: ReadonlySignal<Links<Store> | null>;
  /** The parts that were loaded so far, by name. */
  readonly parts = new Map<string, LinkedPart>();
  /** Two things that are asked about together, besides the selection. */
  readonly pair: Pair;
  readonly canGoBack: ReadonlySignal<boolean>;
  readonly canGoForward: ReadonlySignal<boolean>;
  private readonly things: ReadonlyMap<Kind, PlacedThing<Store>>;
  private readonly places: Signal<{ list: Place[]; at: number }>;
  private readonly tables: ReadonlySignal<Tables | null>;
  private record: string | null = null;

  private readonly stopFollowing: () => void;

  constructor(
    readonly host: Host,
    private readonly panes: readonly Registration<Store>[],
  ) {
    this.things = thingsOf(panes);
    this.doc = computed(() => host.document.value);
    this.links = computed(() => (this.doc.value ? new Links(this.doc.value, panes) : null));
    this.tables = computed(() => (this.doc.value ? new Tables(this.doc.value) : null));
    this.related = computed(() => {
      const id = this.selected.value;
      void this.learned.value;
      const links = this.links.value;
      return id && links ? links.related(id) : new Set<string>();
    });
    this.hoveredRelated = computed(() => {
      const id = this.hovered.value;
      void this.learned.value;
      const links = this.links.value;
      return id && links ? links.related(id).add(id) : NOTHING;
    });
    const kernelOfGroup = (id: string) =>
      this.doc.value?.kernels.find(({ groups }) => groups.includes(id))?.id ?? null;
    this.pair = new Pair({ selected: this.selected, related: this.related, kernelOfGroup });
    const linesOf = (id: Signal<string | null>) =>
      computed(() => {
        void this.learned.value;
        return (id.value && this.links.value?.stageLines(id.value)) || NO_LINES;
      });
    this.relatedLines = linesOf(this.selected);
    this.hoveredLines = linesOf(this.hovered);
    this.places = signal({ list: [{ pane: this.pane.peek(), selected: null }], at: 0 });
    this.canGoBack = computed(() => this.places.value.at > 0);
    this.canGoForward = computed(() => this.places.value.at < this.places.value.list.length - 1);
    this.stopFollowing = effect(() => {
      if (!this.doc.value) return;
      learnTerms(this.doc.value.terms);
      this.parts.clear();
      this.leaveRecord(this.doc.value);
      const selected = this.selected.peek();
      if (selected) void this.follow(selected);
    });
  }

  /** Starts at a place that was kept, with no history before it. */
  begin(place: Place): void {
    batch(() => {
      this.places.value = { list: [place], at: 0 };
      this.arrive(place);
    });
  }

  /** Selects a thing (null clears), in the pane given or the present one, and keeps the step. */
  select(id: string | null, options: { pane?: PaneId } = {}): void {
    if (id !== null && this.pair.takes(id)) return;
    if (id !== this.selected.peek()) this.pair.leave();
    const opens = options.pane === "kernels" && id !== null;
    const place = { pane: options.pane ?? this.pane.peek(), selected: id };
    this.go(opens ? { ...place, isCode: true } : place);
  }

  show(pane: PaneId): void {
    this.go({ pane, selected: this.selected.peek() });
  }

  /** Shows the code of the selected thing. */
  openCode(): void {
    const selected = this.selected.peek();
    if (selected !== null) this.select(selected, { pane: "kernels" });
  }

  /** Shows the table of all kernels in place of the code of one, which stays selected. */
  closeCode(kernel: string): void {
    this.go({ pane: "kernels", selected: kernel, isCode: false });
  }

  back(): void {
    this.step(-1);
  }

  forward(): void {
    this.step(1);
  }

  /** Adds the links of a part that was loaded. */
  learn(part: LinkedPart): void {
    const links = this.links.peek();
    if (!links) return;
    this.parts.set(partName(part), part);
    if (links.learn(part)) this.learned.value += 1;
  }

  /** Asks for a graph, a kernel's code or a wrapper, and learns it. */
  async need<T extends LinkedPart>(name: string): Promise<T> {
    const known = this.parts.get(name);
    if (known) return known as T;
    const report = this.doc.peek();
    const part = await this.host.part<T>(name);
    if (this.doc.peek() === report) this.learn(part);
    return part;
  }

  /** Loads what a search looks into besides the document, as far as it is not too much. */
  async prepareSearch(): Promise<void> {
    const report = this.doc.peek();
    const links = this.links.peek();
    if (!report || !links) return;
    const heads = report.graphs.filter((graph) => links.kernelGraphs.has(graph.id));
    const graphs = heads
      .filter((head) => head.node_count <= FOLLOWED_NODES)
      .map((head) => head.part);
    const codes = report.kernels.slice(0, SEARCHED_KERNELS).flatMap((kernel) => kernel.code ?? []);
    await Promise.allSettled([...graphs, ...codes].map((name) => this.need(name)));
  }

  /** What the pane of this id has registered; one of another package is its blocks alone. */
  registration(pane: PaneId): Registration<Store> {
    return this.panes.find((each) => each.id === pane) ?? { id: pane, things: {} };
  }

  /** What is registered for the kind of thing that an id names. */
  thing(id: string): PlacedThing<Store> | undefined {
    return this.things.get(kindOf(id));
  }

  /** The short name of a thing. */
  labelOf(id: string): string {
    return this.thing(id)?.label?.(id, this) ?? id;
  }

  /** The pane that shows a thing at its best. */
  paneOf(id: string): PaneId {
    return this.thing(id)?.pane ?? HOME;
  }

  /** Where a search hit is shown: where the reader is, if that pane has such things. */
  paneOfHit(id: string): PaneId {
    const here = this.pane.peek();
    return this.registration(here).alsoShows?.includes(kindOf(id)) ? here : this.paneOf(id);
  }

  /** What the search looks into, as far as it is loaded. */
  entries(): EntryGroup[] {
    const report = this.doc.peek();
    const parts = [...this.parts.values()];
    return report ? this.panes.flatMap((pane) => pane.entries?.(report, parts) ?? []) : [];
  }

  kernel(id: string): Kernel | undefined {
    return this.row("kernels", id);
  }

  /** Of some panes the one that was shown last; undefined for none of them. */
  lastOf(panes: readonly PaneId[]): PaneId | undefined {
    const { list, at } = this.places.peek();
    const seen = list.slice(0, at + 1).map(({ pane }) => pane);
    return seen.reverse().find((pane) => panes.includes(pane));
  }

  /** A row of a table of the document by its id. */
  row<Name extends TableName>(table: Name, id: string): Report[Name][number] | undefined {
    return this.tables.value?.row(table, id);
  }

  /** Where a line id points to: its source, number, text and mark. */
  line(id: string): PlacedLine | null {
    return this.tables.value?.lines.get(id) ?? null;
  }

  /** Where a node's details are, once its graph is loaded. */
  node(id: string): { part: GraphPart; at: number } | null {
    const part = this.parts.get(`graph:${graphOf(id)}`);
    if (part?.kind !== "graph") return null;
    const at = nodePlaces(part).get(id);
    return at === undefined ? null : { part, at };
  }

  close(): void {
    this.stopFollowing();
  }

  /** Where another record takes the place of what was shown, only a line is still the same thing. */
  private leaveRecord({ variable, target }: Report): void {
    const record = `${target} ${variable}`;
    if (this.record !== null && this.record !== record) {
      const id = this.selected.peek();
      const isKept = id !== null && kindOf(id) === "line" && this.line(id) !== null;
      this.pair.clear();
      this.hovered.value = null;
      this.begin({ pane: this.pane.peek(), selected: isKept ? id : null });
    }
    this.record = record;
  }

  private go({ isCode = this.isCode.peek(), ...to }: Place): void {
    const place = { ...to, isCode: isCode || isInCode(to.selected) };
    const { list, at } = this.places.peek();
    const here = list[at];
    const isSame = here?.pane === place.pane && here.selected === place.selected;
    if (isSame && this.isCode.peek() === place.isCode) return;
    const kept = [...list.slice(Math.max(0, at + 2 - HISTORY), at + 1), place];
    batch(() => {
      this.places.value = { list: kept, at: kept.length - 1 };
      this.arrive(place);
    });
  }

  private step(by: number): void {
    const { list, at } = this.places.peek();
    const place = list[at + by];
    if (!place) return;
    batch(() => {
      this.places.value = { list, at: at + by };
      this.arrive(place);
    });
  }

  private arrive(place: Place): void {
    this.pane.value = place.pane;
    this.selected.value = place.selected;
    this.isCode.value = place.isCode ?? isInCode(place.selected);
    if (place.selected) void this.follow(place.selected);
  }

  /** Loads what is needed to say what belongs to a thing: its kernels' graphs and code. */
  private async follow(id: string): Promise<void> {
    const wanted = this.partsFor(id);
    await Promise.allSettled(wanted.map((name) => this.need(name)));
    if (this.selected.peek() !== id) return;
    // A line or a node may only now have led to its kernels.
    const more = this.partsFor(id).filter((name) => !wanted.includes(name));
    await Promise.allSettled(more.map((name) => this.need(name)));
  }

  private partsFor(id: string): string[] {
    const links = this.links.peek();
    const report = this.doc.peek();
    if (!links || !report || !this.thing(id)?.isFollowed) return [];
    const names = new Set<string>();
    for (const graph of links.kernelGraphs) names.add(`graph:${graph}`);
    if (kindOf(id) === "asm-line") names.add(`asm:${ownerOf(id)}`);
    const own = kernelOf(id);
    const kernels = [own, ...links.related(id)].filter((each) => kindOf(each) === "kernel");
    for (const each of kernels.slice(0, FOLLOWED_KERNELS)) {
      const kernel = this.kernel(each);
      if (kernel?.code) names.add(kernel.code);
      if (kernel?.wrapper) names.add(wrapperPart(kernel.wrapper));
    }
    const large = report.graphs.filter((graph) => graph.node_count > FOLLOWED_NODES);
    return [...names].filter((name) => !large.some(({ part }) => part === name));
  }
}

function isInCode(id: string | null): boolean {
  return id !== null && IN_CODE.has(kindOf(id));
}

const FOLLOWED_KERNELS = 12;
const SEARCHED_KERNELS = 100;
const FOLLOWED_NODES = 20_000;

export interface PlacedLine {
  id: string;
  source: Source;
  number: number;
  text: string;
  mark: Line | undefined;
}

/** The tables of a document whose rows have ids. */
type TableName = {
  [Name in keyof Report]-?: Report[Name] extends readonly { id: string }[] ? Name : never;
}[keyof Report];

/** What a document holds by id; a table is read when a row of it is first asked for. */
class Tables {
  readonly lines: ReadonlyMap<string, PlacedLine>;
  private readonly known = new Map<TableName, ReadonlyMap<string, { id: string }>>();

  constructor(private readonly report: Report) {
    this.lines = byId(report.sources.flatMap(linesOf));
  }

  row<Name extends TableName>(table: Name, id: string): Report[Name][number] | undefined {
    let rows = this.known.get(table);
    if (!rows) this.known.set(table, (rows = byId<{ id: string }>(this.report[table])));
    return rows.get(id) as Report[Name][number] | undefined;
  }
}

function byId<Row extends { id: string }>(rows: readonly Row[]): ReadonlyMap<string, Row> {
  return new Map(rows.map((row) => [row.id, row]));
}

/** The lines of a function with their ids and marks. */
export function linesOf(source: Source): PlacedLine[] {
  const marks = byId(source.marks);
  return source.lines.map((text, i) => {
    const number = source.first + i;
    const id = `L:${source.id}:${number}`;
    return { id, source, number, text, mark: marks.get(id) };
  });
}
