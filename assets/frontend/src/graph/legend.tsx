// What the looks of boxes mean, as far as they occur.

import type { ComponentChildren } from "preact";
import type { Caption } from "./picture";
import type { Plan } from "./plan";
import type { PlacedBox } from "./scene";

interface Props {
  plan: Plan;
  caption(box: PlacedBox): Caption;
  changes: boolean;
  /** What the bars of boxes stand for, or null. */
  heat: string | null;
  children?: ComponentChildren;
}

export function Legend({ plan, caption, changes, heat, children }: Props) {
  const looks = new Set<string>();
  for (const box of changes ? [] : plan.scene.boxes) {
    if (box.isBare) continue;
    const { mark } = caption(box);
    looks.add(mark === "ext" || mark === "fb" ? mark : mark ? "fused" : "group");
  }
  return (
    <div class="graph-legend">
      {changes && <Changes />}
      {looks.has("fused") && (
        <span class="k" style={{ "--c": "var(--g0)" }}>
          <i /> generated kernel
        </span>
      )}
      {looks.has("ext") && (
        <span class="k ext">
          <i /> library call
        </span>
      )}
      {looks.has("fb") && (
        <span class="k fb">
          <i /> fallback
        </span>
      )}
      {looks.has("group") && (
        <span class="k ext">
          <i /> group of nodes
        </span>
      )}
      {heat && looks.size > 0 && (
        <span class="k" style={{ "--c": "var(--heat)" }}>
          <i /> {heat.toLowerCase()}
        </span>
      )}
      {children}
    </div>
  );
}

function Changes() {
  return (
    <>
      <span class="graph-change added">+ added</span>
      <span class="graph-change removed">− removed</span>
      <span class="graph-change replaced">~ replaced</span>
    </>
  );
}
