// What stands on a box: its mark, its name, and what it does in few words.

import { bytes, plural } from "../format";
import type { Store } from "../store";
import type { Caption } from "./picture";
import type { Model } from "./model";
import type { PlacedBox } from "./scene";

export function captionOf(store: Store, model: Model): (box: PlacedBox) => Caption {
  // Asked for every box in every frame.
  const known = new WeakMap<PlacedBox, Caption>();
  return (box) => {
    let caption = known.get(box);
    if (!caption) known.set(box, (caption = make(store, model, box)));
    return caption;
  };
}

function make(store: Store, model: Model, box: PlacedBox): Caption {
  const kernel = box.id === null ? undefined : store.kernel(box.id);
  if (kernel) {
    const note = box.isOpen ? openNote(kernel.mark, kernel.kind, kernel.label) : kernel.label;
    return { mark: kernel.mark, title: box.title, note };
  }
  const count = plural(box.nodes.length, "node");
  const line = box.id === null ? null : store.line(box.id);
  if (line) return { mark: undefined, title: box.title, note: box.isOpen ? "" : line.text.trim() };
  return {
    mark: undefined,
    title: box.title,
    note: box.isOpen ? "" : `${count} · ${made(model, box)}`,
  };
}

function openNote(mark: string, kind: string, label: string): string {
  if (mark === "fb") return "fallback";
  return mark === "ext" ? label : kind;
}

/** The bytes of what a collapsed box hands on. */
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
