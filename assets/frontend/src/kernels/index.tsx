// The Kernels pane: the user's Python, the FX nodes, the kernel, what became of it, the wrapper.

import { useEffect, useMemo, useRef } from "preact/hooks";
import { kindOf, stageOf as lineStage } from "../ids";
import type { Store } from "../store";
import { Empty, plain } from "../ui/basics";
import { useRoom } from "../ui/size";
import type { Kernel } from "../wire";
import { Columns } from "./columns";
import { Compare } from "./compare";
import { useContents } from "./contents";
import { Chooser, ConfigChoice, Facts, KernelCopies, Switch } from "./head";
import "./kernels.css";
import "./machine.css";
import {
  type ColumnId,
  columnOf,
  columnsOf,
  comparable,
  configFor,
  isStage,
  kernelFor,
  kernelState,
  type KernelState,
  mostColumns,
  stageOf,
  switched,
  usualColumns,
  visible,
} from "./state";
import { AllKernels, KernelTable } from "./table";

export function KernelsPane({ store }: { store: Store }) {
  const state = kernelState(store);
  const kernels = store.doc.value?.kernels ?? [];
  const ids = useMemo(() => kernels.map((kernel) => kernel.id), [kernels]);
  const wanted = kernelFor(store.selected.value, store.related.value, state.kernel.value, ids);
  if (state.kernel.peek() !== wanted) state.kernel.value = wanted;
  const kernel = wanted === null ? undefined : store.kernel(wanted);
  if (!kernel)
    return (
      <Empty store={store} note={plain("No kernel was generated.", "The report has no kernels.")} />
    );
  if (!store.isCode.value) return <KernelTable store={store} kernels={kernels} />;
  return <Opened store={store} state={state} kernels={kernels} kernel={kernel} />;
}

interface OpenedProps {
  store: Store;
  state: KernelState;
  kernels: readonly Kernel[];
  kernel: Kernel;
}

function Opened({ store, state, kernels, kernel }: OpenedProps) {
  const root = useRef<HTMLDivElement>(null);
  const most = mostColumns(useRoom(root).room);
  const { config, other } = useConfigs(store, state, kernel);
  const there = columnsOf(store.doc.value, kernel, config);
  const chosen = state.columns.value ?? usualColumns(store.doc.value, kernel);
  const wanted = visible(
    chosen.filter((id) => there.includes(id)),
    most,
  );
  const shown = there.filter((id) => wanted.includes(id));
  useColumnOfSelection(store, state, wanted, most);
  const contents = useContents(store, kernel, config, other ? [] : shown);
  const both = other && config ? comparable(config, other) : [];
  const stage = both.includes(state.comparedStage.value) ? state.comparedStage.value : both[0];
  const press = (id: ColumnId) => {
    if (!other) state.columns.value = switched(wanted, id, most);
    else if (isStage(id)) state.comparedStage.value = id;
  };
  return (
    <div class="kernels" ref={root}>
      <div class="bar code-bar">
        <AllKernels store={store} kernel={kernel} />
        <Chooser store={store} kernels={kernels} kernel={kernel} />
        {config && <ConfigChoice store={store} state={state} kernel={kernel} config={config} />}
        <KernelCopies store={store} kernel={kernel} />
        <span class="grow" />
        <Switch
          label={other ? "Stage to compare" : "Columns"}
          columns={other ? both : there}
          shown={other ? [stage ?? "ptx"] : shown}
          titles={contents.columns}
          press={press}
        />
      </div>
      <Facts store={store} kernel={kernel} config={config} />
      {config && other ? (
        <Compare
          store={store}
          state={state}
          before={config}
          after={other}
          isTurned={kernel.configs.indexOf(other) < kernel.configs.indexOf(config)}
          stage={stageOf(stage ?? "ptx", config)}
          painted={contents.painted}
        />
      ) : (
        <Columns
          store={store}
          state={state}
          kernel={kernel}
          shown={shown}
          contents={contents.columns}
        />
      )}
    </div>
  );
}

/** The configuration that is shown, which the selection may choose, and what it is compared with. */
function useConfigs(store: Store, state: KernelState, kernel: Kernel) {
  const known = state.configs.value[kernel.id];
  const other = kernel.configs.find((each) => each.id === state.compared.value) ?? null;
  // In a comparison a line of either side may be selected: that must not swap the sides.
  const id = store.selected.value;
  const selected = other && id !== null && kindOf(id) === "asm-line" ? null : id;
  const config = configFor(kernel, selected, known);
  useEffect(() => {
    if (config && config.id !== known)
      state.configs.value = { ...state.configs.peek(), [kernel.id]: config.id };
  }, [config?.id, known, kernel.id]);
  return { config, other: other?.id === config?.id ? null : other };
}

/** A line of a stage that is selected elsewhere brings its column along. */
function useColumnOfSelection(
  store: Store,
  state: KernelState,
  shown: readonly ColumnId[],
  most: number,
): void {
  const selected = store.selected.value;
  useEffect(() => {
    if (selected === null || kindOf(selected) !== "asm-line") return;
    const column = columnOf(lineStage(selected));
    if (!shown.includes(column) && state.compared.peek() === null)
      state.columns.value = switched(shown, column, most);
  }, [selected]);
}
