// The Roofline pane: what bounds each kernel on its GPU, as a chart and as a table.

import { useMemo } from "preact/hooks";
import { amount, bytes, microseconds, percent, plural, tflops } from "../format";
import type { Store } from "../store";
import { Table, type Column } from "../table/table";
import { Frame, Mark } from "../ui/basics";
import { usePaneState } from "../ui/kept";
import type { Roof, RooflinePoint } from "../wire";
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
  const columns = useMemo(() => columnsOf(store, points), [store, points]);
  return (
    <>
      <div class="bar">
        <h2>Roofline</h2>
        {roofs.length > 1 ? (
          <Chooser roofs={roofs} chosen={roof?.target ?? ""} choose={choose} />
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
      <Table
        store={store}
        label="Kernels under the roofline"
        columns={columns}
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

interface ChooserProps {
  roofs: readonly Roof[];
  chosen: string;
  choose(target: string): void;
}

function Chooser({ roofs, chosen, choose }: ChooserProps) {
  return (
    <select
      class="btn"
      aria-label="GPU"
      value={chosen}
      onChange={(event) => choose(event.currentTarget.value)}
    >
      {roofs.map(({ target }) => (
        <option key={target} value={target}>
          {target}
        </option>
      ))}
    </select>
  );
}

function columnsOf(store: Store, points: readonly RooflinePoint[]): Column<RooflinePoint>[] {
  const isTimed = points.some((point) => point.measured_us !== null);
  return [
    {
      key: "kernel",
      title: "Kernel",
      width: "56px",
      value: (point) => Number(point.kernel.slice(1)),
      full: (point) => store.kernel(point.kernel)?.name ?? point.kernel,
      draw: (point) => <Mark store={store} kernel={point.kernel} />,
    },
    {
      key: "ops",
      title: "Operations in it",
      width: "minmax(90px, 1.6fr)",
      value: (point) => store.kernel(point.kernel)?.label ?? "",
      look: "mono",
    },
    {
      key: "bound",
      title: "Bound by",
      width: "68px",
      value: (point) => point.bound,
      full: (point) => point.note ?? boundWords(point),
    },
    {
      key: "moved",
      title: "Moved",
      width: "68px",
      value: (point) => point.moved_bytes,
      draw: (point) => bytes(point.moved_bytes),
      number: true,
      wide: true,
    },
    {
      key: "flops",
      title: "FLOP",
      width: "62px",
      value: (point) => point.flops,
      draw: (point) => amount(point.flops),
      number: true,
      wide: true,
    },
    {
      key: "intensity",
      title: "Per byte",
      width: "62px",
      value: (point) => point.intensity,
      draw: (point) => amount(point.intensity),
      number: true,
    },
    {
      key: "least",
      title: "Least (est.)",
      width: "80px",
      value: (point) => point.bound_us,
      draw: (point) => microseconds(point.bound_us),
      full: () => "The least time that the roofline allows, an estimate",
      number: true,
    },
    ...(isTimed ? [measured()] : []),
    {
      key: "share",
      title: isTimed ? "Share" : "Share (est.)",
      width: "86px",
      value: (point) => point.share,
      draw: (point) => percent(point.share),
      full: () => "Its part of the time of all calls",
      number: true,
    },
  ];
}

function measured(): Column<RooflinePoint> {
  return {
    key: "measured",
    title: "Measured",
    width: "76px",
    value: (point) => point.measured_us,
    draw: (point) =>
      point.measured_us === null ? (
        <span class="mut">estimate</span>
      ) : (
        microseconds(point.measured_us)
      ),
    number: true,
  };
}

function boundWords(point: RooflinePoint): string {
  if (!point.bound) return "Nothing is known of what bounds it.";
  const rate = `${tflops(rateOf(point))} at ${amount(point.intensity)} operations per byte`;
  return `Bound by ${point.bound}: ${rate}, the ridge is at ${amount(point.ridge)}.`;
}
