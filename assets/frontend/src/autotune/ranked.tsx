// Configurations that a model ranked and nobody timed: over two parameters, and as a table.

import { useMemo } from "preact/hooks";
import { plural } from "../format";
import type { Store } from "../store";
import { type Cells, RecordTable } from "../table/columns";
import { Frame, Mark, Select } from "../ui/basics";
import { usePaneState } from "../ui/kept";
import type { Ranked } from "../wire";
import { byRank, countBest, firstAxes, Plane, rankedBy, subjects, varied } from "./plane";

export function RankedConfigs({ store }: { store: Store }) {
  const all = store.doc.value?.ranked ?? NONE;
  const known = useMemo(() => subjects(all), [all]);
  const selected = store.row("ranked", store.selected.value ?? "");
  const [at, choose] = usePaneState(store, `subject ${store.doc.value?.target}`, 0);
  const subject = selected ?? known[at] ?? known[0];
  const rows = useMemo(
    () =>
      all
        .filter((row) => row.kernel === subject?.kernel && row.target === subject.target)
        .sort(byRank),
    [all, subject?.kernel, subject?.target],
  );
  const cells = useMemo(() => {
    const place = (row: Ranked) => placeAmong(row, rows);
    return { ...CELLS, rank: { value: place, draw: (row: Ranked) => place(row) ?? "–" } };
  }, [rows]);
  if (!subject) return null;
  const place = known.findIndex(
    (each) => each.kernel === subject.kernel && each.target === subject.target,
  );
  return (
    <section class="half" role="group" aria-label="Ranked by a model">
      <div class="bar">
        <h2>Ranked by a model, not timed</h2>
        {known.length > 1 ? (
          <Select
            label="Kernel and GPU"
            of={known.map(({ kernel, target }, i) => [`${i}`, `${kernel} on ${target}`])}
            value={`${place}`}
            set={(i) => {
              choose(Number(i));
              if (selected) store.select(null);
            }}
          />
        ) : (
          <span class="row">
            <Mark store={store} kernel={subject.kernel} /> {`on ${subject.target}`}
          </span>
        )}
        <span class="faint cut">{plural(rows.length, "configuration")}</span>
        <span class="grow" />
        <Frame store={store} name="ranked_configs" />
      </div>
      <p class="roof-note">{`${MODEL} ${sayEqual(rows) || FIRST_FEW}`}</p>
      <Axes store={store} subject={`${subject.kernel} ${subject.target}`} rows={rows} />
      <RecordTable
        store={store}
        label="Ranked configurations"
        table="ranked"
        cells={cells}
        rows={rows}
      />
    </section>
  );
}

const NONE: readonly Ranked[] = [];
const MODEL = "Each was compiled and its time estimated; nothing was run.";
const FIRST_FEW = "Time the top few on the device before relying on the order.";

/** That the order says nothing between those to which the model gives one time; "" for one alone. */
export function sayEqual(rows: readonly Ranked[]): string {
  const times = rankedBy(rows);
  const equal = countBest(rows);
  const who = equal === times.length ? `all ${equal}` : `the top ${equal}`;
  return equal > 1
    ? `The model gives ${who} the same time, so their order is arbitrary: time them on the device.`
    : "";
}

interface AxesProps {
  store: Store;
  /** The kernel and the GPU. */
  subject: string;
  rows: readonly Ranked[];
}

/** The plane of two parameters, and the choice of them where more than two vary. */
function Axes({ store, subject, rows }: AxesProps) {
  const names = useMemo(() => varied(rows), [rows]);
  const [axes, setAxes] = usePaneState(store, `axes ${subject}`, () => firstAxes(names));
  const [down, across] = axes;
  if (names.length === 0) return null;
  const chooser = (index: 0 | 1, label: string) => (
    <Select
      label={label}
      of={names.map((name) => [name, name])}
      value={axes[index]}
      set={(name) => {
        const other = axes[1 - index] === name ? axes[index] : (axes[1 - index] as string);
        setAxes(index === 0 ? [name, other] : [other, name]);
      }}
    />
  );
  return (
    <>
      {names.length > 2 && (
        <div class="hm-axes row">
          {chooser(0, "Parameter of the rows")} <span class="mut">by</span>{" "}
          {chooser(1, "Parameter of the columns")}
          <span class="mut cut">
            A cell shows the best of all configurations with its two values.
          </span>
        </div>
      )}
      <Plane store={store} rows={rows} down={down} across={across} />
    </>
  );
}

/** How many the model finds faster, and one: what it gives one time shares a place. */
export function placeAmong(row: Ranked, rows: readonly Ranked[]): number | null {
  const [own] = rankedBy([row]);
  return own === undefined ? null : 1 + rankedBy(rows).filter((time) => time * SAME < own).length;
}

const SAME = 1.005;

const CELLS: Cells<Ranked> = {
  occupancy: { full: (row) => (row.limiter ? `Limited by ${row.limiter}` : "An estimate") },
  why: {
    value: (row) => row.rejection ?? "",
    full: (row) => row.rejection ?? row.note ?? "",
    draw: (row) => row.rejection && <span class="hm-loses">{row.rejection}</span>,
  },
};
