// The configuration of a kernel that is shown, and what it is compared with.

import type { Store } from "../store";
import { Icon } from "../ui/icons";
import type { Config, Kernel } from "../wire";
import { configLabel } from "../ui/words";
import type { KernelState } from "./state";

interface Props {
  store: Store;
  state: KernelState;
  kernel: Kernel;
  config: Config;
}

export function ConfigChoice({ store, state, kernel, config }: Props) {
  const { configs } = kernel;
  const choose = (id: string) => {
    state.configs.value = { ...state.configs.peek(), [kernel.id]: id };
    // The selected configuration, or a line of it, would win over the choice.
    const selected = store.selected.peek() ?? "";
    if (selected.startsWith("A:") || selected.startsWith(`${kernel.id}:`)) store.select(kernel.id);
  };
  return (
    <span class="config-choice">
      <label class="config-choice" data-tip="Configuration">
        <span class="sr">Configuration</span>
        <Options store={store} configs={configs} value={config.id} choose={choose} />
      </label>
      <Against store={store} state={state} configs={configs} config={config} />
    </span>
  );
}

interface OptionsProps {
  store: Store;
  configs: readonly Config[];
  value: string;
  choose(id: string): void;
}

function Options({ store, configs, value, choose }: OptionsProps) {
  return (
    <select class="btn" value={value} onChange={(event) => choose(event.currentTarget.value)}>
      {configs.map((each) => (
        <option key={each.id} value={each.id}>
          {configLabel(each, store.doc.value?.target)}
        </option>
      ))}
    </select>
  );
}

interface AgainstProps {
  store: Store;
  state: KernelState;
  configs: readonly Config[];
  config: Config;
}

/** The other configuration of a comparison; a kernel with a single one has none. */
function Against({ store, state, configs, config }: AgainstProps) {
  const others = configs.filter((each) => each.id !== config.id);
  const other = others.find((each) => each.id === state.compared.value);
  if (others.length === 0) return null;
  if (!other)
    return (
      <button
        type="button"
        class="btn"
        data-tip="Two configurations side by side"
        onClick={() => (state.compared.value = others[0]!.id)}
      >
        Compare
      </button>
    );
  return (
    <span class="config-choice">
      <label class="config-choice">
        <span>Compared with</span>
        <Options
          store={store}
          configs={others}
          value={other.id}
          choose={(id) => (state.compared.value = id)}
        />
      </label>
      <button
        type="button"
        class="btn icon quiet"
        data-tip="End the comparison"
        aria-label="End the comparison"
        onClick={() => (state.compared.value = null)}
      >
        <Icon name="cross" />
      </button>
    </span>
  );
}
