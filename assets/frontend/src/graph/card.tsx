// A node of a graph: what it computes, of which shape, where it came from and went.

import { bytes } from "../format";
import { graphOf, nameOf, nodeId } from "../ids";
import { Chips, Facts } from "../ui/basics";
import { Belongings, OpenCode, relatedOf, type CardProps } from "../inspector/parts";

export function NodeCard({ store, id }: CardProps) {
  void store.learned.value;
  const found = store.node(id);
  const stage = store.doc.value?.graphs.find((graph) => graph.id === graphOf(id));
  const rows: [string, string][] = [];
  if (found) {
    const { part, at } = found;
    rows.push(["Operator", part.targets[at] ?? ""], ["Shape", part.shapes[at] || "–"]);
    rows.push(["Stride", part.strides[at] || "–"], ["Type", part.dtypes[at] || "–"]);
    rows.push(["Size", bytes(part.bytes[at] ?? null)]);
    const module = part.modules[part.module[at] ?? -1];
    if (module) rows.push(["Module", module]);
  }
  const inputs = found?.part.inputs[found.at] ?? [];
  const stages = [...store.related.value].filter((other) => other.startsWith("g"));
  const elsewhere = stages.filter((other) => graphOf(other) !== graphOf(id));
  return (
    <>
      <div class="kind">{`Node · ${stage?.title ?? graphOf(id)}`}</div>
      <h2>{nameOf(id)}</h2>
      {found ? <Facts rows={rows} /> : <p class="mut">Its details come with its graph.</p>}
      {relatedOf(store, "kernel").length > 0 && <OpenCode store={store} id={id} />}
      <Belongings store={store} without={["node"]} />
      {found && (
        <Chips
          store={store}
          title="Inputs"
          ids={inputs.filter((i) => i >= 0).map((i) => nodeId(found.part, i))}
        />
      )}
      <Chips store={store} title="In other stages" ids={elsewhere} />
    </>
  );
}
