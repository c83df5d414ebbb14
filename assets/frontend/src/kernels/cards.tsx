// A kernel, a line of its code, a line of the program that calls it.

import { costWords, shownCost, valueOf } from "../cost/cost";
import { bytes, percent, plural, sentence } from "../format";
import { numberOf, ownerOf } from "../ids";
import type { Store } from "../store";
import { Chip, Chips, Facts, Prose, Tag } from "../ui/basics";
import { languageOf } from "../ui/words";
import type { Kernel, Rejected } from "../wire";
import { Belongings, OpenCode, relatedOf, type CardProps } from "../inspector/parts";

export function KernelCard({ store, id }: CardProps) {
  const kernel = store.kernel(id);
  if (!kernel) return <h2>{id}</h2>;
  const language = languageOf(store, id);
  const facts = kernel.facts.filter(([name]) => !ELSEWHERE.has(name));
  return (
    <>
      <div class="kind">
        {language === "library" ? `Library call ${id}` : `${language} kernel ${id}`}
      </div>
      <h2>{kernel.name}</h2>
      <p>
        {summary(kernel)} <Saving store={store} kernel={kernel} />
      </p>
      <p data-tip={kernel.verdict[1]}>{`${kernel.verdict[0]}.`}</p>
      <KernelCost store={store} kernel={kernel} />
      <Facts rows={facts} />
      {kernel.code ? (
        <OpenCode store={store} id={id} />
      ) : (
        <p class="mut">A library call: it has no generated source.</p>
      )}
      <WhyNot store={store} kernel={id} />
      <Chips store={store} title="Source" ids={relatedOf(store, "line")} />
      <Chips store={store} title="Nodes" ids={relatedOf(store, "node")} />
      <Chips store={store} title="Buffers" ids={kernel.buffers} />
    </>
  );
}

const ELSEWHERE = new Set(["Name", "Lines", "Time"]); // in the title, the chips, the cost

/** What it costs, its part of the whole, and where that is from. */
function KernelCost({ store, kernel }: { store: Store; kernel: Kernel }) {
  const cost = shownCost(store).value;
  if (!cost) return null;
  const own = valueOf(cost, kernel);
  if (own === null) return <p>{`${cost.name}: not known of this kernel.`}</p>;
  return (
    <p>
      <b>{`${cost.name}: ${costWords(cost, own)}.`}</b>{" "}
      <span class="mut">{`${sentence(cost.source)}.`}</span>
    </p>
  );
}

function summary(kernel: Kernel): string {
  const lines = kernel.lines.length ? ` from ${plural(kernel.lines.length, "line")}` : "";
  const verb = kernel.nodes.length > 1 ? "Joins" : "Holds";
  return kernel.nodes.length ? `${verb} ${plural(kernel.nodes.length, "node")}${lines}.` : "";
}

function Saving({ store, kernel }: { store: Store; kernel: Kernel }) {
  const groups = store.doc.value?.groups.filter((group) => group.kernel === kernel.id) ?? [];
  const before = groups.reduce((sum, group) => sum + group.before, 0);
  const after = groups.reduce((sum, group) => sum + group.after, 0);
  const worse = groups.find((group) => group.why_more)?.why_more;
  if (worse)
    return (
      <>
        <Tag tone="fallback">worse by fusion</Tag> {worse}
      </>
    );
  if (before <= after) return null;
  const saved = percent(1 - after / before);
  return (
    <>{`Fusion cut its traffic from ${bytes(before)} to ${bytes(after)}, by ${saved} (estimate).`}</>
  );
}

const SHOWN = 6;

/** Why it was not fused with its neighbours, the pairs with most data in common first. */
function WhyNot({ store, kernel }: { store: Store; kernel: string }) {
  const all = store.doc.value?.rejected ?? [];
  const pairs = all
    .filter((pair) => pair.a_kernel !== pair.b_kernel)
    .filter((pair) => pair.a_kernel === kernel || pair.b_kernel === kernel)
    .sort((a, b) => (b.shared_bytes ?? 0) - (a.shared_bytes ?? 0));
  if (!pairs.length) return null;
  return (
    <section>
      <h3>Why not fused</h3>
      <ul>
        {pairs.slice(0, SHOWN).map((pair) => (
          <Reason key={pair.id} store={store} pair={pair} kernel={kernel} />
        ))}
      </ul>
      {pairs.length > SHOWN && (
        <p class="mut">{`${pairs.length - SHOWN} more in the Fusion pane.`}</p>
      )}
    </section>
  );
}

function Reason({ store, pair, kernel }: { store: Store; pair: Rejected; kernel: string }) {
  const other = pair.a_kernel === kernel ? pair.b_kernel : pair.a_kernel;
  return (
    <li>
      {other && <Chip store={store} id={other} />} <b data-tip={pair.why}>{`${pair.reason}.`}</b>{" "}
      <Prose text={pair.shared_bytes ? `They share ${bytes(pair.shared_bytes)}.` : ""} />{" "}
      <button type="button" class="btn link" onClick={() => store.select(pair.id)}>
        Explain
      </button>
    </li>
  );
}

export function KernelLineCard({ store, id }: CardProps) {
  const kernel = ownerOf(id);
  const number = numberOf(id);
  const part = store.parts.get(store.kernel(kernel)?.code ?? "");
  const text = part?.kind === "code" ? part.text.split("\n")[number - 1] : undefined;
  return (
    <>
      <div class="kind">{`${languageOf(store, kernel)} line ${number} of ${kernel}`}</div>
      <h2>{text?.trim() ?? ""}</h2>
      {relatedOf(store, "node").length === 0 && (
        <p>It belongs to no node: it sets up indexes, sizes or the loop of the kernel.</p>
      )}
      <Belongings store={store} />
    </>
  );
}

export function WrapperLineCard({ store, id }: CardProps) {
  const part = store.parts.get(`wrapper:${ownerOf(id)}`);
  const text = part?.kind === "wrapper" ? part.text.split("\n")[numberOf(id) - 1] : undefined;
  return (
    <>
      <div class="kind">{`Line ${numberOf(id)} of the wrapper ${ownerOf(id)}`}</div>
      <h2>{text?.trim() ?? ""}</h2>
      <p>The wrapper allocates buffers and calls the kernels in order.</p>
      <Belongings store={store} />
    </>
  );
}
