// The ways of a round trip side by side.

import { useMemo } from "preact/hooks";
import { seconds } from "../format";
import type { Store } from "../store";
import { useColumns, type Cells } from "../table/columns";
import { Table } from "../table/table";
import { Tag } from "../ui/basics";
import type { TripWay } from "../wire";
import { sharesOf } from "./trip";

export function WaysTable({ store, ways }: { store: Store; ways: readonly TripWay[] }) {
  const cells = useMemo(() => cellsOf(ways), [ways]);
  const columns = useColumns(store, "ways", ways, cells);
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

function cellsOf(ways: readonly TripWay[]): Cells<TripWay> {
  return {
    bar: {
      full: (way) =>
        `imports ${seconds(way.imports_s)}, load ${seconds(way.load_s)}, first call ${seconds(way.first_call_s)}`,
      draw: (way) => <Stacked shares={sharesOf(way, ways)} />,
    },
    against: { draw: (way) => <Against way={way} /> },
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
