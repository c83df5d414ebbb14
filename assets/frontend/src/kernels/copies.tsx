// What can be copied of a kernel: its source, and a script that runs it alone.

import { useEffect, useState } from "preact/hooks";
import type { Store } from "../store";
import { Copy, copyText } from "../ui/basics";
import { Icon } from "../ui/icons";
import type { CodePart, Kernel, ScriptPart } from "../wire";
import { usePart } from "./parts";

interface Props {
  store: Store;
  kernel: Kernel;
}

export function KernelCopies({ store, kernel }: Props) {
  const { part } = usePart<CodePart>(store, kernel.code);
  if (part?.id !== kernel.id) return null;
  return (
    <span class="seg">
      <Copy text={part.text} label="Copy" title={`Copy the source of ${kernel.id}`} />
      <CopyScript store={store} kernel={kernel} />
    </span>
  );
}

const WHAT = "Inputs, the call, a comparison with eager, and the time, as a Python script";

/** Copies the script that Python makes; where a page does not hold it, the line that makes it. */
function CopyScript({ store, kernel }: Props) {
  const line = `print(${store.doc.value?.variable ?? "report"}.kernel_script("${kernel.id}"))`;
  const isLive = store.host.kind === "live";
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
  const tip = isLive
    ? WHAT
    : `${WHAT}; or, if it is not kept here, the line that makes it: ${line}`;
  return (
    <button type="button" class="btn" data-tip={said?.why ?? tip} onClick={copy}>
      <Icon name={said?.word === "No script" ? "info" : said ? "captured" : "copy"} />
      <span aria-live="polite">
        {said?.word ?? "Copy as script"}
        {said?.word === "No script" && <span class="sr">{said.why}</span>}
      </span>
    </button>
  );
}
