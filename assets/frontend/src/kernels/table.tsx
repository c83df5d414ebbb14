// All kernels as a table by what they cost; a row leads to the code of its kernel.

import { useMemo } from "preact/hooks";
import { costText, shownCost, valueOf, type ShownCost } from "../cost/cost";
import { plural, sentence, shareOfWhole } from "../format";
import { numberOf } from "../ids";
import type { Store } from "../store";
import { Bars, useColumns, type Cells } from "../table/columns";
import { Table, type Column } from "../table/table";
import { Button, Frame } from "../ui/basics";
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
  const cells = useMemo(() => cellsOf(cost, all), [cost, all]);
  const drawn = useColumns(store, "costs", kernels, cells);
  const columns = useMemo(() => titled(drawn, cost), [drawn, cost]);
  const known =
    each || different.length === kernels.length ? "" : `, ${different.length} different`;
  const shown = rows.length === all.length ? "" : `${rows.length} of `;
  return (
    <>
      <div class="bar">
        <h2>Kernels</h2>
        <span class="faint">{`${shown}${plural(kernels.length, "kernel")}${known}`}</span>
        <span class="faint cut grow" data-tip="">
          {cost && `${cost.title}: ${cost.source}`}
        </span>
        {different.length < kernels.length && (
          <Button
            tip="Identical kernels, as those of equal layers, are one row with their sum"
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
        label="Kernels by what they cost"
        columns={columns}
        rows={rows}
        order={{ key: "cost", direction: "desc" }}
        none="No kernel has all of these words."
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
      tip={`All kernels by cost: ${sentence(shownCost(store).value?.source ?? "not known")}`}
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
export function merged(
  kernels: readonly Kernel[],
  selected: string | null = null,
): readonly Kernel[] {
  const groups = new Map<string, Kernel>();
  for (const kernel of kernels) {
    const first = groups.get(kernel.same);
    if (!first) {
      groups.set(kernel.same, kernel);
      continue;
    }
    const cost = { ...first.cost };
    for (const kind in kernel.cost) cost[kind] = (cost[kind] ?? 0) + kernel.cost[kind]!;
    const shown = kernel.id === selected ? kernel : first;
    groups.set(kernel.same, { ...shown, cost, calls: first.calls + kernel.calls });
  }
  return groups.size === kernels.length ? kernels : [...groups.values()];
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

/** The columns with the name of the cost that is shown. */
function titled(columns: Column<Kernel>[], cost: ShownCost | null): Column<Kernel>[] {
  const title = cost?.title ?? "Cost";
  return columns.map((column) => (column.key === "cost" ? { ...column, title } : column));
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
      full: () => (cost ? `For all its calls. ${sentence(cost.source)}` : "Nothing is known of it"),
    },
    share: {
      value: share,
      draw: (kernel) => {
        const value = share(kernel);
        if (value === null) return "–";
        return (
          <span class="share">
            <Bars parts={[{ share: (own(kernel) ?? 0) / most, look: "hot" }]} />
            {shareOfWhole(value)}
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
