// Which kernel and which columns are shown.

import type { Store } from "../store";
import { Mark } from "../ui/basics";
import { Icon } from "../ui/icons";
import { ofPass } from "../ui/pass";
import type { Kernel } from "../wire";
import type { Content } from "./content";
import type { ColumnId } from "./state";

interface ChooserProps {
  store: Store;
  kernels: readonly Kernel[];
  kernel: Kernel;
}

export function Chooser({ store, kernels: all, kernel }: ChooserProps) {
  const own = ofPass(store, all);
  const kernels = own.includes(kernel) ? own : all;
  const at = kernels.indexOf(kernel);
  const go = (by: number) => {
    const next = kernels[at + by];
    if (next) store.select(next.id);
  };
  return (
    <>
      <Mark store={store} kernel={kernel.id} />
      <select
        class="btn code-chooser"
        aria-label="Kernel"
        value={kernel.id}
        onChange={(event) => store.select(event.currentTarget.value)}
      >
        {kernels.map((each) => (
          <option key={each.id} value={each.id}>
            {`${each.id} ${each.kind}: ${each.label}${each.is_backward ? " (backward)" : ""}`}
          </option>
        ))}
      </select>
      <span class="seg">
        <button
          type="button"
          class="btn icon"
          data-tip="Kernel before"
          aria-label="Kernel before"
          disabled={at <= 0}
          onClick={() => go(-1)}
        >
          <Icon name="left" />
        </button>
        <button
          type="button"
          class="btn icon"
          data-tip="Next kernel"
          aria-label="Next kernel"
          disabled={at >= kernels.length - 1}
          onClick={() => go(1)}
        >
          <Icon name="right" />
        </button>
      </span>
    </>
  );
}

interface SwitchProps {
  label: string;
  columns: readonly ColumnId[];
  shown: readonly ColumnId[];
  titles: Record<ColumnId, Content>;
  press(id: ColumnId): void;
}

/** Which columns are shown, or which stage is compared. */
export function Switch({ label, columns, shown, titles, press }: SwitchProps) {
  return (
    <span class="seg columns" role="group" aria-label={label}>
      {columns.map((id) => (
        <button
          key={id}
          type="button"
          class="btn"
          aria-pressed={shown.includes(id)}
          onClick={() => press(id)}
        >
          {titles[id].title}
        </button>
      ))}
    </span>
  );
}
