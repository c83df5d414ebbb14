// What can be copied of a kernel: its source.

import type { Store } from "../store";
import { Copy } from "../ui/basics";
import type { CodePart, Kernel } from "../wire";
import { usePart } from "./parts";

interface Props {
  store: Store;
  kernel: Kernel;
}

export function KernelCopies({ store, kernel }: Props) {
  const { part } = usePart<CodePart>(store, kernel.code);
  if (part?.id !== kernel.id) return null;
  return <Copy text={part.text} label="Copy" title={`Copy the source of ${kernel.id}`} />;
}
