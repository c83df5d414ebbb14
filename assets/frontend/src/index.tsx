// The two doors of the bundle: `render` for anywidget, `mount` for pages without a kernel.

import { effect } from "@preact/signals";
import { render as draw, type VNode } from "preact";
import { BlocksShell, BlocksState } from "./blocks/page";
import { chosenCost } from "./cost/cost";
import "./css/index.css";
import { DiffShell } from "./diff/shell";
import { DiffState } from "./diff/state";
import { pageHost } from "./host";
import { liveHost, unpack } from "./live";
import type { Model } from "./model";
import { liveRecords, readRecords, type RecordsHost } from "./opened/host";
import { PANES } from "./panes";
import type { RecordsState, RecordsView } from "./opened/view";
import { quiet } from "./shell/keys";
import { followCell } from "./shell/place";
import { Shell } from "./shell/shell";
import { type Place, Store } from "./store";
import { tips } from "./ui/tip";
import type { CostKind, DiffDocument, Embedded, EmbeddedBlocks, PaneId } from "./wire";
import { RECORDS as RECORDS_OF_WORLDS } from "./worldrecords";

export interface View {
  store: Store;
  close(): void;
}

/** The state of a view, and what takes it away. */
interface Opened<State> {
  state: State;
  close(): void;
}

/** What a page or a saved output of two compilations carries. */
interface EmbeddedDiff {
  diff: DiffDocument;
}

/** What a page or a saved output of records carries, under a key of its own. */
interface EmbeddedRecords {
  records?: Record<string, Embedded>;
  [key: string]: unknown;
}

type Embedding = Embedded | EmbeddedBlocks | EmbeddedDiff;
type Mounted = View | BlocksState | DiffState | RecordsState;

/** Draws a view with its tips, until the function that comes back is called. */
function show(el: HTMLElement, view: VNode): () => void {
  const forget = tips(el);
  const speak = quiet(el);
  draw(view, el);
  return () => {
    forget();
    speak();
    draw(null, el);
  };
}

function open(el: HTMLElement, store: Store): View {
  const close = show(el, <Shell store={store} />);
  return {
    store,
    close() {
      close();
      store.close();
    },
  };
}

/** Shows a document that was embedded in a page or in a saved output. */
export function mount(
  el: HTMLElement,
  embedded: Embedding,
  kind: "page" | "saved" = "page",
): Mounted {
  if (kind !== "page") return drawn(el, embedded, kind);
  el.style.setProperty("--wb-height", "max(480px, 100vh)");
  el.setAttribute("role", "main");
  const view = drawn(el, embedded, kind);
  // It is all that the page has: its keys act before anything was clicked.
  if (document.activeElement === document.body)
    el.querySelector<HTMLElement>(".pane")?.focus({ preventScroll: true });
  return view;
}

function drawn(el: HTMLElement, embedded: Embedding, kind: "page" | "saved"): Mounted {
  if ("blocks" in embedded) return openBlocks(el, embedded);
  if ("diff" in embedded) return openDiff(el, embedded.diff).state;
  const { records, ...held } = embedded as unknown as EmbeddedRecords;
  for (const [key, make] of RECORDS)
    if (key in held)
      return openView(el, make, readRecords(held[key] as never, kind, records)).state;
  return openReport(el, embedded as Embedded, kind);
}

function openReport(el: HTMLElement, embedded: Embedded, kind: "page" | "saved"): View {
  const store = new Store(pageHost(embedded, kind), PANES);
  if (embedded.pane) store.begin(openedAt(store, embedded.pane, null));
  const forget = kind === "page" ? keepAddress(store) : () => {};
  const view = open(el, store);
  return {
    store,
    close() {
      forget();
      view.close();
    },
  };
}

/** Where a view begins: of a kernel that is a record by itself, its code. */
function openedAt(store: Store, pane: PaneId, selected: string | null): Place {
  const kernel = store.doc.peek()?.kernels[0];
  const isCode = pane === "kernels" && kernel?.kind === "hand-written";
  return isCode ? { pane, selected: kernel.id, isCode } : { pane, selected };
}

/** Keeps the pane and the selection in the page's address, so that a reload finds them again. */
function keepAddress(store: Store): () => void {
  const before = new URLSearchParams(location.hash.slice(1));
  const panes = store.doc.peek()?.panes.map((head) => head.id) ?? [];
  const pane = panes.find((id) => id === before.get("pane"));
  const isCode = before.has("code") && { isCode: true };
  if (pane) store.begin({ pane, selected: before.get("sel"), ...isCode });
  const cost = chosenCost(store);
  cost.value = before.get("cost") as CostKind | null;
  return effect(() => {
    const now = new URLSearchParams({ pane: store.pane.value });
    if (store.selected.value) now.set("sel", store.selected.value);
    if (store.isCode.value) now.set("code", "");
    if (cost.value) now.set("cost", cost.value);
    history.replaceState(history.state, "", `#${now}`);
  });
}

/** Keeps the pane, the selection and the cost in the model, so that a reload finds them again. */
function keepPlace(store: Store, model: Model): () => void {
  const cost = chosenCost(store);
  cost.value = model.get("cost") as CostKind | null;
  const pane = model.get("pane") as PaneId | undefined;
  const selected = model.get("selected") as string | null | undefined;
  store.begin(openedAt(store, pane ?? store.pane.peek(), selected ?? null));
  return effect(() => {
    model.set("pane", store.pane.value);
    model.set("selected", store.selected.value);
    model.set("cost", cost.value);
    if (store.host.lost.value === null) model.save_changes();
  });
}

function openBlocks(el: HTMLElement, { blocks }: EmbeddedBlocks): BlocksState {
  const state = new BlocksState(blocks);
  show(el, <BlocksShell state={state} />);
  return state;
}

function openDiff(el: HTMLElement, document: DiffDocument, pane?: string): Opened<DiffState> {
  const state = new DiffState(document, pane);
  return { state, close: show(el, <DiffShell state={state} />) };
}

/** Two compilations: everything that is shown comes with the model. */
function renderDiff(model: Model, el: HTMLElement, packed: DataView): () => void {
  let forget = () => {};
  let isClosed = false;
  void unpack(packed as DataView<ArrayBuffer>).then((document) => {
    if (isClosed) return;
    const { state, close } = openDiff(el, document as DiffDocument, model.get("pane") as string);
    const unwatch = effect(() => {
      model.set("pane", state.pane.value);
      model.save_changes();
    });
    forget = () => {
      unwatch();
      close();
    };
  });
  return () => {
    isClosed = true;
    forget();
  };
}

/** Views of records by the trait of a model, or the key of a page, that holds what they show. */
const RECORDS: ReadonlyMap<string, RecordsView> = new Map(
  RECORDS_OF_WORLDS.flatMap((records) => Object.entries(records)),
);

function openView(
  el: HTMLElement,
  make: RecordsView,
  host: RecordsHost<never>,
): Opened<RecordsState> {
  const { state, view } = make(host);
  return { state, close: show(el, view) };
}

/** The model holds the tables, rows are asked for. */
function renderRecords(
  model: Model,
  el: HTMLElement,
  trait: string,
  make: RecordsView,
): () => void {
  const { state, close } = openView(el, make, liveRecords<never>(model, trait));
  return () => {
    close();
    state.close();
  };
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const packed = model.get("diff");
  if (packed instanceof DataView) return renderDiff(model, el, packed);
  for (const [trait, make] of RECORDS)
    if (model.get(trait) instanceof DataView) return renderRecords(model, el, trait, make);
  const host = liveHost(model);
  const store = new Store(host, PANES);
  const isNew = (model.get("pane") ?? "overview") === "overview" && !model.get("selected");
  const forget = keepPlace(store, model);
  const leave = followCell(store, el, isNew);
  const view = open(el, store);
  return () => {
    leave();
    forget();
    view.close();
    host.close();
  };
}

export default { render };
