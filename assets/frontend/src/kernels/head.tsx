// What stands above the columns: which kernel, which configuration, what can be copied, its facts.

import { useEffect, useState } from "preact/hooks";
import { isAwake } from "../host";
import type { Store } from "../store";
import { usePart } from "../ui/asked";
import { Button, Copy, copyText, Frame, Mark, Select, Steps } from "../ui/basics";
import { ofPass } from "../ui/pass";
import { termOf } from "../ui/terms";
import { configLabel } from "../ui/words";
import type { CodePart, Config, Kernel, ScriptPart } from "../wire";
import { type Content } from "./contents";
import type { ColumnId, KernelState } from "./state";

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
      <Select
        label="Kernel"
        look="code-chooser"
        of={kernels.map((each) => [each.id, nameOf(each)])}
        value={kernel.id}
        set={(id) => store.select(id)}
      />
      <Steps
        labels={["Kernel before", "Next kernel"]}
        off={[at <= 0, at >= kernels.length - 1]}
        go={go}
      />
    </>
  );
}

function nameOf({ id, kind, label, is_backward }: Kernel): string {
  return `${id} ${kind}: ${label}${is_backward ? " (backward)" : ""}`;
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
        <Button key={id} isPressed={shown.includes(id)} press={() => press(id)}>
          {titles[id].title}
        </Button>
      ))}
    </span>
  );
}

interface ConfigProps {
  store: Store;
  state: KernelState;
  kernel: Kernel;
  config: Config;
}

export function ConfigChoice({ store, state, kernel, config }: ConfigProps) {
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
    <Select
      of={configs.map((each) => [each.id, configLabel(each, store.doc.value?.target)])}
      value={value}
      set={choose}
    />
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
      <Button
        tip="Two configurations side by side"
        press={() => (state.compared.value = others[0]!.id)}
      >
        Compare
      </Button>
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
      <Button
        look="icon quiet"
        icon="cross"
        label="End the comparison"
        press={() => (state.compared.value = null)}
      />
    </span>
  );
}

interface CopiesProps {
  store: Store;
  kernel: Kernel;
}

export function KernelCopies({ store, kernel }: CopiesProps) {
  const { part } = usePart<CodePart>(store, kernel.code);
  if (part?.id !== kernel.id) return null;
  return (
    <span class="seg">
      <Copy text={part.text} label="Copy" title={`Copy the source of ${kernel.id}`} />
      <CopyScript store={store} kernel={kernel} />
    </span>
  );
}

const WHAT = "A Python script with inputs, the call, a comparison with eager, and timing";

/** Copies the script that Python makes; where a page does not hold it, the line that makes it. */
function CopyScript({ store, kernel }: CopiesProps) {
  const line = `print(${store.doc.value?.variable ?? "report"}.kernel_script("${kernel.id}"))`;
  const isLive = isAwake(store.host);
  const [said, setSaid] = useState<{ word: string; why: string } | null>(null);
  useEffect(() => setSaid(null), [kernel.id]);
  const copy = async () => {
    try {
      const asked = store.host.part<ScriptPart>(`script:${kernel.id}`);
      const made = await (isLive ? asked : asked.catch(() => null));
      await copyText(made?.text ?? line);
      setSaid(made ? { word: "Copied", why: WHAT } : { word: "Copied the line", why: line });
    } catch (error) {
      setSaid({ word: "No script", why: (error as Error).message });
    }
  };
  const tip = isLive ? WHAT : `${WHAT}; if it is not kept here, the line that writes it: ${line}`;
  return (
    <Button
      icon={said?.word === "No script" ? "info" : said ? "captured" : "copy"}
      tip={said?.why ?? tip}
      press={copy}
    >
      <span aria-live="polite">
        {said?.word ?? "Copy as script"}
        {said?.word === "No script" && <span class="sr">{said.why}</span>}
      </span>
    </Button>
  );
}

const ELSEWHERE = new Set(["Name", "Kind", "Lines", "Source", "Time"]); // in heads and the verdict

interface FactsProps {
  store: Store;
  kernel: Kernel;
  config: Config | null;
}

export function Facts({ store, kernel, config }: FactsProps) {
  const own = kernel.facts.filter(([name]) => !ELSEWHERE.has(name));
  const facts = [...(config?.facts ?? []), ...own];
  const [verdict, source] = kernel.verdict;
  const note = config?.note ? [["Note", config.note] as [string, string]] : [];
  const all = [["Name", kernel.name] as [string, string], ...facts, ...note];
  const text = (between: string) => all.map((pair) => pair.join(between)).join("\n");
  return (
    <div class="code-facts">
      <b data-tip={`${verdict}. ${source}`}>{verdict}</b>
      <dl aria-label={`Facts of ${kernel.id}`} data-tip={text(": ")}>
        {[...facts, ...note].map(([name, value]) => (
          <div key={name}>
            <dt data-tip={termOf("kernel", name)}>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <Copy quiet text={text("\t")} label="" title="Copy these facts" />
      {config && (
        <Frame store={store} name="resources" then={`.query("kernel == '${kernel.id}'")`} />
      )}
    </div>
  );
}
