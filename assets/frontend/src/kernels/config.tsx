// The configuration of a kernel that is shown, what it takes of the GPU, what it is compared with.

import type { Store } from "../store";
import { Copy, Frame } from "../ui/basics";
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

export function ConfigBar({ store, state, kernel, config }: Props) {
  const { configs } = kernel;
  const choose = (id: string) => {
    state.configs.value = { ...state.configs.peek(), [kernel.id]: id };
    // The selected configuration, or a line of it, would win over the choice.
    const selected = store.selected.peek() ?? "";
    if (selected.startsWith("A:") || selected.startsWith(`${kernel.id}:`)) store.select(kernel.id);
  };
  return (
    <div class="bar config-bar">
      <label class="config-choice">
        <span>Configuration</span>
        <Options store={store} configs={configs} value={config.id} choose={choose} />
      </label>
      <ConfigFacts config={config} />
      <span class="grow" />
      <span class="config-choice">
        <Against store={store} state={state} configs={configs} config={config} />
        <Copy quiet text={asText(config)} label="" title="Copy what it takes" />
        <Frame store={store} name="resources" then={`.query("kernel == '${kernel.id}'")`} />
      </span>
    </div>
  );
}

function ConfigFacts({ config }: { config: Config }) {
  return (
    <dl class="config-facts" aria-label={`What ${config.id} takes of the GPU`}>
      {config.facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
      {config.note && (
        <div>
          <dt class="sr">Note</dt>
          <dd class="mut">{config.note}</dd>
        </div>
      )}
    </dl>
  );
}

function asText(config: Config): string {
  const rows = config.facts.map(([name, value]) => `${name}\t${value}`);
  return [`Configuration\t${config.choice || config.id}`, ...rows].join("\n");
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
