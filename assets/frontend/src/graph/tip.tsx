// What is under the pointer, in two lines.

import { bytes, plural } from "../format";
import type { Store } from "../store";
import type { Caption } from "./picture";
import type { Hit, Plan } from "./plan";
import type { PlacedBox } from "./scene";

export interface TipAt {
  hit: NonNullable<Hit>;
  x: number;
  y: number;
}

interface Props {
  store: Store;
  plan: Plan;
  caption(box: PlacedBox): Caption;
  at: TipAt;
}

export function Tip({ store, plan, caption, at }: Props) {
  const place = { left: `clamp(4px, ${at.x + 12}px, calc(100% - 300px))`, top: `${at.y + 16}px` };
  const { hit } = at;
  if (hit.kind === "node")
    return <NodeTip store={store} plan={plan} node={hit.node} place={place} />;
  const box = plan.scene.boxes[hit.box]!;
  const kernel = box.id ? store.kernel(box.id) : undefined;
  const { title, note, facts } = caption(box);
  return (
    <div class="graph-tip" style={place} role="presentation">
      <b class="mono">{title}</b> {note}
      {facts && <div>{facts}</div>}
      {kernel && <div class="mut mono">{kernel.ops.join(", ")}</div>}
      <div class="mut">
        {plural(box.nodes.length, "node")} shown ·{" "}
        {hit.isToggle || box.id === null
          ? box.isOpen
            ? "click to collapse"
            : "click to open"
          : "double click to " + (box.isOpen ? "collapse" : "open")}
      </div>
    </div>
  );
}

interface NodeProps {
  store: Store;
  plan: Plan;
  node: number;
  place: { left: string; top: string };
}

function NodeTip({ store, plan, node, place }: NodeProps) {
  const { part } = plan.model;
  const line = part.lines[node] ? store.line(part.lines[node]!) : null;
  const size = part.bytes[node] ?? null;
  return (
    <div class="graph-tip" style={place} role="presentation">
      <b class="mono">{part.names[node]}</b> <span class="mono">{part.targets[node]}</span>
      <div class="mut mono">
        {[part.dtypes[node], part.shapes[node], size === null ? "" : bytes(size)]
          .filter(Boolean)
          .join(" ")}
      </div>
      {line && (
        <div class="mut mono">
          line {line.number}: {line.text.trim()}
        </div>
      )}
    </div>
  );
}
