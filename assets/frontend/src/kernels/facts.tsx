// The line above the code: what holds the kernel back, then what it moves and takes of the GPU.

import type { Store } from "../store";
import { Copy, Frame } from "../ui/basics";
import type { Config, Kernel } from "../wire";

const ELSEWHERE = new Set(["Name", "Kind", "Lines", "Source", "Time"]); // in heads and the verdict

interface Props {
  store: Store;
  kernel: Kernel;
  config: Config | null;
}

export function Facts({ store, kernel, config }: Props) {
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
            <dt>{name}</dt>
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
