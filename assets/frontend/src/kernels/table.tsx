// All kernels as a table by what they cost; a row leads to the code of its kernel.

import { useMemo } from "preact/hooks";
import { costText, shownCost, valueOf, type ShownCost } from "../cost/cost";
import { percent, plural, sentence } from "../format";
import { numberOf } from "../ids";
import type { Store } from "../store";
import { Bars, useColumns, type Cells } from "../table/columns";
import { Table, type Column } from "../table/table";
import { Button, Frame, Mark } from "../ui/basics";
import { usePaneState } from "../ui/kept";
import { PassFilter, ofPass } from "../ui/pass";
import type { Kernel } from "../wire";

interface Props {
  store: Store;
  kernels: readonly Kernel[];
}

export function KernelTable({ store, kernels }: Props) {
  const [words, setWords] = usePaneState(store, "words", "");
  const cost = shownCost(store).value;
  const side = store.side.value;
  const [each, setEach] = usePaneState(store, "each", false);
  const different = useMemo(() => merged(kernels), [kernels]);
  const all = each ? kernels : different;
  const selected = store.selected.value;
  const rows = useMemo(() => {
    const found = filtered(ofPass(store, kernels), words);
    return each ? found : merged(found, selected);
  }, [kernels, each, words, side, selected]);
  const cells = useMemo(() => ({ ...cellsOf(cost, all), ...names(store) }), [cost, all]);
  const drawn = useColumns<Row>(store, "costs", kernels, cells);
  const columns = useMemo(() => titled(drawn, cost, all), [drawn, cost, all]);
  const known =
    each || different.length === kernels.length ? "" : `, ${different.length} different`;
  const starts = kernels.reduce((sum, { calls }) => sum + calls, 0);
  const often = starts > kernels.length ? `, started ${plural(starts, "time")}` : "";
  const shown = rows.length === all.length ? "" : `${rows.length} of `;
  return (
    <>
      <div class="bar">
        <h2>Kernels</h2>
        <span class="faint">
          {`${shown}${plural(kernels.length, "kernel")}${often}${known}${cost ? " ·" : ""}`}
        </span>
        <span
          class="faint cut grow"
          data-tip={cost ? `${whose(cost, rows)}\n${sentence(cost.source)}` : undefined}
        >
          {cost && whose(cost, rows)}
        </span>
        {different.length < kernels.length && (
          <Button
            tip="Show identical kernels (as in identical layers) as one row with their sum"
            isPressed={each}
            press={() => setEach(!each)}
          >
            Each
          </Button>
        )}
        <PassFilter store={store} />
        <input
          class="filter"
          type="text"
          placeholder="Filter"
          aria-label="Filter kernels"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
        <Button
          tip={selected === null ? "Select a kernel first" : "Its code (Enter)"}
          isOff={selected === null}
          press={() => store.openCode()}
        >
          Code
        </Button>
        <Frame store={store} name="costs" />
      </div>
      <Table
        store={store}
        label="Kernels by cost"
        isFiltered
        columns={columns}
        rows={rows}
        order={{ key: "cost", direction: "desc" }}
        none="No kernel matches all of these words."
        open={(kernel) => store.select(kernel.id, { pane: "kernels" })}
      />
    </>
  );
}

/** Back from the code of a kernel to the table of all. */
export function AllKernels({ store, kernel }: { store: Store; kernel: Kernel }) {
  return (
    <Button
      icon="left"
      tip={`All kernels by cost: ${sentence(shownCost(store).value?.source ?? "unknown")}`}
      press={() => store.closeCode(kernel.id)}
    >
      All
    </Button>
  );
}

/**
 * One of each group of identical kernels, with the calls and the costs of all of them: the selected
 * one, so that its row is lit, else the first.
 */
export function merged(kernels: readonly Kernel[], selected: string | null = null): readonly Row[] {
  const groups = new Map<string, Row>();
  for (const kernel of kernels) {
    const first = groups.get(kernel.same);
    if (!first) {
      groups.set(kernel.same, kernel);
      continue;
    }
    const cost = { ...first.cost };
    for (const kind in kernel.cost) cost[kind] = (cost[kind] ?? 0) + kernel.cost[kind]!;
    const shown = kernel.id === selected ? kernel : first;
    const alike = first.alike ?? [first.id];
    groups.set(kernel.same, {
      ...shown,
      ...{ cost, calls: first.calls + kernel.calls, alike: [...alike, kernel.id] },
    });
  }
  return groups.size === kernels.length ? kernels : [...groups.values()];
}

/** A kernel, or one for several identical ones, whose ids are `alike`. */
export interface Row extends Kernel {
  alike?: readonly string[];
}

/** Of how many calls the figures of the rows are, where that is not the same. */
export function whose(cost: ShownCost, rows: readonly Kernel[]): string {
  const isSeveral = cost.kind !== "memory" && rows.some(({ calls }) => calls > 1);
  if (!isSeveral) return `${cost.title}: ${cost.brief}`;
  return `${cost.name}: all calls; other columns: one call · ${cost.brief}`;
}

/** The kernels that have every one of these words in their names, operations, kinds or lines. */
export function filtered(kernels: readonly Kernel[], words: string): readonly Kernel[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (!wanted.length) return kernels;
  return kernels.filter((kernel) => {
    const { id, name, label, kind, language, bound } = kernel;
    const text = [id, name, label, kind, language, bound ?? "", linesOf(kernel)].join(" ");
    return wanted.every((word) => text.toLowerCase().includes(word));
  });
}

function linesOf(kernel: Kernel): string {
  return kernel.facts.find(([name]) => name === "Lines")?.[1] ?? "";
}

/** The columns with the name of the cost that is shown, and with room for a count of kernels. */
function titled(
  columns: Column<Row>[],
  cost: ShownCost | null,
  rows: readonly Row[],
): Column<Row>[] {
  const title = cost?.title ?? "Cost";
  const hasCounts = rows.some(({ alike }) => alike);
  return columns.map((column) => {
    if (column.key === "cost") return { ...column, title };
    return column.key === "kernel" && hasCounts ? { ...column, width: "84px" } : column;
  });
}

/** What stands for a kernel: its name, or those of all that are identical. */
function names(store: Store): Cells<Row> {
  return {
    kernel: {
      draw: (row) => <Alike store={store} row={row} />,
      full: ({ name, alike }) => (alike ? `${name}: ${alike.join(", ")}` : name),
    },
  };
}

/** A kernel with how many there are of it. */
function Alike({ store, row }: { store: Store; row: Row }) {
  return (
    <>
      <Mark store={store} kernel={row.id} />
      {row.alike && <b>{` × ${row.alike.length}`}</b>}
    </>
  );
}

export function cellsOf(cost: ShownCost | null, rows: readonly Kernel[]): Cells<Kernel> {
  const own = (kernel: Kernel) => valueOf(cost, kernel);
  const most = rows.reduce((most, kernel) => Math.max(most, own(kernel) ?? 0), 0) || 1;
  const share = (kernel: Kernel) => {
    const value = own(kernel);
    return value === null || !cost?.total ? null : value / cost.total;
  };
  return {
    cost: {
      value: own,
      draw: (kernel) => {
        const value = own(kernel);
        return value === null || !cost ? "–" : costText(cost, value);
      },
      full: () =>
        cost ? `Sum over all calls of the kernel. ${sentence(cost.source)}` : "Unknown cost",
    },
    share: {
      value: share,
      draw: (kernel) => {
        const value = share(kernel);
        if (value === null) return "–";
        return (
          <span class="share">
            <Bars parts={[{ share: (own(kernel) ?? 0) / most, look: "hot" }]} />
            {percent(value)}
          </span>
        );
      },
    },
    lines: {
      value: ({ lines: [line] }) => (line === undefined ? null : numberOf(line)),
      draw: linesOf,
      full: linesOf,
    },
  };
}
