// What stands on a box: its mark, its name, what it does in few words, what that costs.

import { costText, type ShownCost } from "../cost/cost";
import { bytes, plural } from "../format";
import type { Store } from "../store";
import type { Caption } from "./drawing/picture";
import type { Model } from "./layout/model";
import type { PlacedBox } from "./layout/scene";

export function captionOf(
  store: Store,
  model: Model,
  cost: ShownCost | null,
): (box: PlacedBox) => Caption {
  // Asked for every box in every frame.
  const known = new WeakMap<PlacedBox, Caption>();
  return (box) => {
    let caption = known.get(box);
    if (!caption) known.set(box, (caption = make(store, model, box, cost)));
    return caption;
  };
}

function make(store: Store, model: Model, box: PlacedBox, cost: ShownCost | null): Caption {
  const { title } = box;
  const kernel = box.id === null ? undefined : store.kernel(box.id);
  if (kernel) {
    const note = box.isOpen ? openNote(kernel.mark, kernel.kind, kernel.label) : kernel.label;
    const all = cost && kernel.cost[cost.kind];
    const own = all == null ? null : all / Math.max(1, box.isCall ? kernel.calls : 1);
    return {
      mark: kernel.mark,
      title,
      note,
      ...costed(own, cost, cost?.most, shapeOf(model, box)),
    };
  }
  const mark = undefined;
  const line = box.id === null ? null : store.line(box.id);
  if (line) {
    const own = (cost && line.mark?.cost[cost.kind]) ?? null;
    const facts = costed(own, cost, cost?.mostOfLine, shapeOf(model, box));
    return { mark, title, note: box.isOpen ? "" : line.text.trim(), ...facts };
  }
  const count = plural(box.nodes.length, "node");
  return { mark, title, note: "", facts: `${count} · ${made(model, box)}`, heat: 0 };
}

function costed(own: number | null, cost: ShownCost | null, most = 0, shape: string) {
  const words = own === null || !cost ? [] : [costText(cost, own)];
  const facts = [...words, ...(shape ? [shape] : [])].join(" · ");
  return { facts, heat: own && most ? own / most : 0 };
}

/** The shape of what a box hands on, of the last value where there are several. */
function shapeOf(model: Model, box: PlacedBox): string {
  const inside = new Set(box.nodes);
  const last = box.nodes.findLast(
    (node) => !model.outputs[node]!.every((reader) => inside.has(reader)),
  );
  const shape = model.part.shapes[last ?? box.nodes.at(-1)!] ?? "";
  return shape.replace(/^\[(.*)\]$/, "$1").replaceAll(", ", "×");
}

function openNote(mark: string, kind: string, label: string): string {
  if (mark === "fb") return "fallback";
  return mark === "ext" ? label : kind;
}

/** The bytes of what a box hands on. */
function made(model: Model, box: PlacedBox): string {
  const inside = new Set(box.nodes);
  let total = 0;
  for (const node of box.nodes)
    if (model.outputs[node]!.some((reader) => !inside.has(reader)))
      total += model.part.bytes[node] ?? 0;
  return `${bytes(total)} out`;
}

/** The mark of each node's kernel, whatever the boxes stand for. */
export function marksOf(store: Store, model: Model): (node: number) => string | undefined {
  const marks = model.part.kernels.map((kernel) => store.kernel(kernel)?.mark);
  return (node) => marks[model.part.kernel[node]!];
}
