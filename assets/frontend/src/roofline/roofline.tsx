// The Roofline pane: what bounds each kernel on its GPU, as a chart and as a table.

import { useMemo } from "preact/hooks";
import { amount, plural, tflops } from "../format";
import type { Store } from "../store";
import { type Cells, RecordTable } from "../table/columns";
import { Frame, Select } from "../ui/basics";
import { usePaneState } from "../ui/kept";
import type { RooflinePoint } from "../wire";
import { RooflineChart } from "./chart";
import { hasPlace, rateOf } from "./geometry";
import "./roofline.css";

export function RooflinePane({ store }: { store: Store }) {
  const report = store.doc.value;
  const all = report?.points ?? [];
  const roofs = report?.roofs ?? [];
  const [chosen, choose] = usePaneState<string | null>(store, "target", null);
  const roof = roofs.find((each) => each.target === chosen) ?? roofs[0];
  const points = useMemo(
    () => (roof ? all.filter((point) => point.target === roof.target) : all),
    [all, roof],
  );
  const cells = useMemo(() => cellsOf(store), [store]);
  return (
    <>
      <div class="bar">
        <h2>Roofline</h2>
        {roofs.length > 1 ? (
          <Select
            label="GPU"
            of={roofs.map(({ target }) => [target, target])}
            value={roof?.target ?? ""}
            set={choose}
          />
        ) : (
          <span class="tag plain">{roof?.target}</span>
        )}
        <span class="grow" />
        <Frame store={store} name="roofline" />
      </div>
      <p class="roof-note">
        <b>A model.</b> {MODEL} <span class="mut">{told(points)}</span>
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

const MODEL =
  "Each byte moves once at full bandwidth and nothing else costs time: a kernel can be slower, and faster only out of the cache.";

/** What is measured, and which kernels have no point. */
function told(points: readonly RooflinePoint[]): string {
  const timed = points.filter((point) => point.measured_us !== null).length;
  const hidden = points.filter((point) => !hasPlace(point)).length;
  const words = timed
    ? `${plural(timed, "kernel")} measured (filled), the others are estimates (rings) and lie on the roof.`
    : "No time is measured: every point is an estimate and lies on the roof.";
  return hidden ? `${words} ${plural(hidden, "kernel")} without operations: only listed.` : words;
}

function cellsOf(store: Store): Cells<RooflinePoint> {
  return {
    ops: { value: (point) => store.kernel(point.kernel)?.label ?? "" },
    bound: { full: (point) => point.note ?? boundWords(point) },
  };
}

function boundWords(point: RooflinePoint): string {
  if (!point.bound) return "Nothing is known of what bounds it.";
  const rate = `${tflops(rateOf(point))} at ${amount(point.intensity)} FLOP per byte`;
  return `Bound by ${point.bound}: ${rate}, the ridge is at ${amount(point.ridge)}.`;
}
