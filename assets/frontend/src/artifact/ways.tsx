// The ways of a round trip side by side.

import { useMemo } from "preact/hooks";
import { seconds } from "../format";
import type { Store } from "../store";
import { Table, type Column } from "../table/table";
import { Tag } from "../ui/basics";
import type { TripWay } from "../wire";
import { sharesOf } from "./trip";

export function WaysTable({ store, ways }: { store: Store; ways: readonly TripWay[] }) {
  const columns = useMemo(() => columnsOf(ways), [ways]);
  return (
    <Table
      store={store}
      label="Ways of the round trip"
      columns={columns}
      rows={ways}
      id={(way) => way.id}
    />
  );
}

function columnsOf(ways: readonly TripWay[]): Column<TripWay>[] {
  return [
    {
      key: "way",
      title: "Way",
      width: "minmax(124px, 1.3fr)",
      value: (way) => way.title,
    },
    time("imports", "Imports", (way) => way.imports_s, true),
    time("load", "Load", (way) => way.load_s),
    time("call", "First call", (way) => way.first_call_s),
    time("result", "First result", (way) => way.first_result_s),
    {
      key: "bar",
      title: "Imports, load, call",
      width: "minmax(80px, 1.2fr)",
      value: (way) => way.first_result_s,
      full: (way) =>
        `imports ${seconds(way.imports_s)}, load ${seconds(way.load_s)}, first call ${seconds(way.first_call_s)}`,
      draw: (way) => <Stacked shares={sharesOf(way, ways)} />,
      wide: true,
    },
    time("steady", "Steady", (way) => way.steady_s),
    {
      key: "against",
      title: "Against eager",
      width: "minmax(110px, 1.2fr)",
      value: (way) => way.against,
      full: (way) => way.note ?? way.against,
      draw: (way) => <Against way={way} />,
    },
  ];
}

function time(
  key: string,
  title: string,
  value: (way: TripWay) => number | null,
  wide = false,
): Column<TripWay> {
  return {
    key,
    title,
    width: `${Math.max(58, 7 * title.length)}px`,
    value,
    draw: (way) => seconds(value(way)),
    number: true,
    wide,
  };
}

function Stacked({ shares }: { shares: number[] }) {
  return (
    <span class="stacked">
      {shares.map((share, at) => (
        <i key={at} class={`part-${at}`} style={{ width: `${share * 100}%` }} />
      ))}
    </span>
  );
}

export function Against({ way }: { way: TripWay }) {
  if (!way.ran) return <Tag tone="fallback">did not run</Tag>;
  const tone = way.ok === null ? "plain" : way.ok ? "captured" : "break";
  return <Tag tone={tone}>{way.against}</Tag>;
}
