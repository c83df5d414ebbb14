// Where the cost goes: one tree of lines or of modules, or the source with its heat.

import { useContext, useLayoutEffect, useRef } from "preact/hooks";
import { shownCost } from "../cost/cost";
import { CostSwitch } from "../cost/switch";
import type { Store } from "../store";
import { Frame, Segments } from "../ui/basics";
import { RoomContext } from "../ui/size";
import type { CostKind, Document as Report } from "../wire";
import { Heat } from "./heat";
import { Tree } from "./tree";

type View = "lines" | "modules" | "source";

const TITLES: Record<CostKind, string> = {
  time: "Where the time goes",
  bound: "Where the roofline time goes",
  bytes: "Where the bytes go",
  memory: "What makes the peak",
};

/** What the reader chose; null as long as it is what fits the record. */
function chosenView(store: Store) {
  return store.paneStates.signal<View | null>("overview", "where", () => null);
}

/** Lines, unless only libraries have any; the source where there is no tree. */
function viewOf(store: Store, report: Report): View {
  const { calls, modules } = report;
  const chosen = chosenView(store).value;
  if (!hasSource(report)) return modules?.length ? "modules" : "source";
  if (chosen === "source" || !calls?.length) return "source";
  if (chosen === "modules" || chosen === null) {
    const hasOwn = calls.some(({ kind }) => kind === "function");
    if (modules.length && (chosen === "modules" || !hasOwn)) return "modules";
  }
  return "lines";
}

/** Whether there are lines: torch keeps none of a module of its own. */
function hasSource(report: Report): boolean {
  return report.sources.some((source) => source.lines.length > 0);
}

/** Whether the selection is explained under its line, not beside the pane. */
export function opensInPlace(store: Store): boolean {
  const report = store.doc.value;
  if (store.pane.value !== "overview" || !report) return false;
  return (hasSource(report) || report.modules.length > 0) && viewOf(store, report) !== "source";
}

/** Answers `m` and `s`. */
export function pressWhere(event: KeyboardEvent, store: Store): boolean {
  const report = store.doc.peek();
  if (!report?.calls?.length || !hasSource(report)) return false;
  const present = viewOf(store, report);
  if (event.key === "m" && report.modules.length)
    chosenView(store).value = present === "modules" ? "lines" : "modules";
  else if (event.key === "s") chosenView(store).value = present === "source" ? "lines" : "source";
  else return false;
  return true;
}

export function Where({ store, report }: { store: Store; report: Report }) {
  const view = viewOf(store, report);
  const section = useRef<HTMLElement>(null);
  const before = useRef(view);
  useLayoutEffect(() => {
    // A key took away the list that had the focus: the next one goes on from it. Before the paint:
    // a key that is pressed until then would be of no view.
    const root = section.current?.getRootNode() as Document | ShadowRoot | undefined;
    const isLost = !root?.activeElement || root.activeElement === document.body;
    if (before.current !== view && isLost)
      section.current?.querySelector<HTMLElement>(".scroll")?.focus();
    before.current = view;
  }, [view]);
  const rows = view === "modules" ? report.modules : report.calls;
  const shown = shownCost(store).value;
  // of kernels it may be known where no line has made any
  const isTold = rows?.some(({ kind, total }) => kind !== "rest" && shown && total[shown.kind]);
  const cost = isTold ? shown : null;
  const isNarrow = useContext(RoomContext) === "narrow";
  const { calls, modules, sources } = report;
  const choice = !!calls?.length && hasSource(report) && (
    <Segments
      label="Cost by"
      of={[
        ["lines", "Lines", "Cost by line, including callees (m)"],
        ...(modules.length ? ([["modules", "Modules", "Cost by module (m)"]] as const) : []),
        ["source", "Source", "The source, with the state of each line (s)"],
      ]}
      value={view}
      set={(id) => (chosenView(store).value = id as View)}
    />
  );
  return (
    <section ref={section} class="where" role="group" aria-label="Where the cost goes">
      {view === "source" ? (
        <Heat store={store} sources={sources} choice={choice} />
      ) : (
        <>
          <div class="bar">
            <h2>{cost ? TITLES[cost.kind] : "What was captured"}</h2>
            <span class="faint cut aside" data-tip={cost?.source}>
              {isNarrow ? cost?.brief : cost?.source}
            </span>
            <span class="grow" />
            <CostSwitch store={store} />
            {choice}
            <span class="wide aside">
              <Frame store={store} name="costs" then={`.explode("lines")`} />
            </span>
          </div>
          <Tree key={view} store={store} view={view} rows={rows} cost={cost} />
        </>
      )}
    </section>
  );
}
