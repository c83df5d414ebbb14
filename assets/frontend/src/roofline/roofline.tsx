// The Roofline pane: what bounds each kernel on its GPU, as a chart and as a table.

import { useMemo } from "preact/hooks";
import { amount, plural, percent, tflops } from "../format";
import type { Store } from "../store";
import { type Cells, RecordTable } from "../table/columns";
import { Frame, Mark, Select } from "../ui/basics";
import { usePaneState } from "../ui/kept";
import type { RooflinePoint } from "../wire";
import { RooflineChart } from "./chart";
import { folded, hasPlace, isOnRoof, type Point, rateOf, standing } from "./geometry";
import "./roofline.css";

export function RooflinePane({ store }: { store: Store }) {
  const report = store.doc.value;
  const all = report?.points ?? [];
  const roofs = report?.roofs ?? [];
  const [chosen, choose] = usePaneState<string | null>(store, "target", null);
  const roof = roofs.find((each) => each.target === chosen) ?? roofs[0];
  const selected = store.selected.value;
  const points = useMemo(() => {
    const own = roof ? all.filter((point) => point.target === roof.target) : all;
    return folded(own, (kernel) => store.kernel(kernel)?.same ?? kernel, selected);
  }, [all, roof, selected]);
  const cells = useMemo(() => cellsOf(store), [store]);
  const callsOf = (kernel: string) => store.kernel(kernel)?.calls ?? 1;
  return (
    <>
      {roof && <p class="pane-says">{roof.sentence}</p>}
      <div class="bar">
        <h2>Roofline</h2>
        {roofs.length > 1 ? (
          <Select
            label="Device"
            of={roofs.map(({ target }) => [target, target])}
            value={roof?.target ?? ""}
            set={choose}
          />
        ) : (
          <span class="tag plain">{roof?.target}</span>
        )}
        <span class="faint cut" data-tip="">
          {roof?.source}
        </span>
        <span class="grow" />
        {roof?.target !== HOST && <Frame store={store} name="roofline" />}
      </div>
      <p class="roof-note">
        <b>A model.</b> {MODEL} <span class="mut">{told(points, callsOf)}</span>
      </p>
      {roof && points.some(hasPlace) && <RooflineChart store={store} roof={roof} points={points} />}
      <RecordTable
        store={store}
        label="Kernels under the roofline"
        table="points"
        cells={cells}
        rows={points}
        id={(point) => point.kernel}
        order={{ key: "share", direction: "desc" }}
        open={(point) => store.select(point.kernel, { pane: "kernels" })}
      />
    </>
  );
}

/** The CPU of a profile, whose points are no table of the record. */
const HOST = "host";

const MODEL =
  "Each byte moves once at full bandwidth and nothing else costs time. A kernel can be slower; it is faster only with cached data.";

/** What is measured, which kernels have no point, and of how many calls the figures are. */
function told(points: readonly Point[], callsOf: (kernel: string) => number): string {
  const timed = points.filter((point) => point.measured_us !== null).length;
  const hidden = points.filter((point) => !hasPlace(point)).length;
  const isOften = points.some(({ kernel, alike }) => alike || callsOf(kernel) > 1);
  const calls = isOften ? " Shares are totals over all calls; other columns are per call." : "";
  const others = timed < points.length ? ", the others are estimates (rings) on the roofline" : "";
  const words = timed ? `${plural(timed, "kernel")} measured (filled)${others}.` : "";
  const listed = hidden ? ` ${plural(hidden, "kernel")} without operations: only listed.` : "";
  return `${words}${listed}${calls}`.trim();
}

function cellsOf(store: Store): Cells<Point> {
  return {
    kernel: {
      draw: ({ kernel, alike }) => (
        <>
          <Mark store={store} kernel={kernel} />
          {alike && <b>{` × ${alike.length}`}</b>}
        </>
      ),
      full: ({ kernel, alike }) => alike?.join(", ") ?? store.kernel(kernel)?.name ?? kernel,
    },
    ops: { value: (point) => store.kernel(point.kernel)?.label ?? "" },
    of_roof: {
      draw: (point) => (isOnRoof(point) ? <b>{percent(point.of_roof)}</b> : percent(point.of_roof)),
      full: (point) => roofTip(point),
    },
    bound: { full: (point) => point.note ?? boundWords(point) },
  };
}

function roofTip(point: RooflinePoint): string {
  const said = standing(point);
  if (said === "on the roof") return "At the roofline: only less work would make it faster";
  if (said) return "Above the roofline: the data was cached, or the roofline is too low";
  return percent(point.of_roof);
}

function boundWords(point: RooflinePoint): string {
  if (!point.bound) return "Its bound is unknown.";
  const rate = `${tflops(rateOf(point))} at ${amount(point.intensity)} FLOP per byte`;
  return `Bound by ${point.bound}: ${rate}, the ridge is at ${amount(point.ridge)}.`;
}
