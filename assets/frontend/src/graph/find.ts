// Search inside of one graph: by name, operation, shape, line or module.

import { labelOf, type Model } from "./model";

export function findNodes(model: Model, query: string, most = 2000): number[] {
  const wanted = query.trim().toLowerCase();
  if (!wanted) return [];
  const { part } = model;
  const line = /^line (\d+)$/.exec(wanted);
  const found: number[] = [];
  for (let node = 0; node < model.count && found.length < most; node++) {
    const texts = line
      ? [part.lines[node] ?? ""]
      : [
          part.names[node]!,
          labelOf(part, node),
          part.targets[node]!,
          part.shapes[node]!,
          part.modules[part.module[node]!] ?? "",
          part.kernels[part.kernel[node]!] ?? "",
        ];
    const isHit = line
      ? texts[0]!.endsWith(`:${line[1]}`)
      : texts.some((text) => text.toLowerCase().includes(wanted));
    if (isHit) found.push(node);
  }
  return found;
}
