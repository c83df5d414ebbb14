// What the inspector says of a source line.

import { costText, costWords, type ShownCost, shownCost, valueOf } from "../cost/cost";
import { lowered, plural, sentence } from "../format";
import { numberOf } from "../ids";
import type { Store } from "../store";
import { sorted } from "../table/sorting";
import { Chips, Prose, Tag } from "../ui/basics";
import { Python } from "../ui/highlight";
import { wordOf } from "../ui/words";
import type { Line } from "../wire";
import { type CardProps, OpenCode, relatedOf } from "./parts";
import { KernelBars, Next, Nodes, Section } from "./sections";

export function LineCard({ store, id }: CardProps) {
  const line = store.line(id);
  const mark = line?.mark;
  const nodes = relatedOf(store, "node");
  const kernels = relatedOf(store, "kernel");
  return (
    <>
      <div class="kind" data-tip="">
        {line ? `Line ${line.number} of ${line.source.file}` : `Source line ${numberOf(id)}`}
      </div>
      {line && (
        <h2>
          <Python text={line.text.trim()} />
        </h2>
      )}
      {mark && <LineCost store={store} mark={mark} kernels={kernels} />}
      {mark && <Why store={store} mark={mark} nodes={nodes.length} kernels={kernels} />}
      <Next store={store} lines={[id]}>
        {kernels.length > 0 && <OpenCode store={store} id={id} />}
      </Next>
      <KernelBars store={store} ids={kernels} />
      <Nodes store={store} ids={nodes} />
      <Chips
        store={store}
        title="Source"
        ids={relatedOf(store, "line").filter((other) => other !== id)}
      />
    </>
  );
}

interface WhyProps {
  store: Store;
  mark: Line;
  nodes: number;
  kernels: readonly string[];
}

/** What became of it; a captured line carries no mark. */
function Why({ store, mark, nodes, kernels }: WhyProps) {
  const callers = mark.called_in;
  const isExceptional = mark.state !== "plain" && mark.state !== "captured";
  const word = isExceptional ? wordOf(mark.state) : "";
  const isNoted = mark.notes.some((note) => note.title.startsWith(word));
  const has =
    isExceptional || !!mark.said || mark.notes.length + callers.length + kernels.length > 0;
  return (
    <Section title="Why" has={has}>
      {isExceptional && !isNoted && (
        <Tag tone={mark.state as Exclude<Line["state"], "plain">}>{word}</Tag>
      )}
      {mark.said && <p>{mark.said}</p>}
      {kernels.length > 0 && (
        <p>
          {nodes > 0
            ? `${plural(nodes, "node")} ${nodes === 1 ? "ends" : "end"} in `
            : "It ends in "}
          {plural(kernels.length, "kernel")}
          <Largest store={store} kernels={kernels} />
        </p>
      )}
      {mark.notes.map((note) => (
        <p key={note.title}>
          <b>{note.title}</b> <Prose text={note.text} />
        </p>
      ))}
      {callers.length > 0 && (
        <p>{`Called in ${callers.map((caller) => store.labelOf(caller)).join(", ")}.`}</p>
      )}
    </Section>
  );
}

/** The kernel that costs most, and what bounds it: why the line costs what it does. */
function Largest({ store, kernels }: { store: Store; kernels: readonly string[] }) {
  const cost = shownCost(store).value;
  const [first] = sorted(
    kernels.flatMap((id) => store.kernel(id) ?? []),
    (kernel) => valueOf(cost, kernel),
    "desc",
  );
  const own = first && valueOf(cost, first);
  if (!cost || !first || !own) return <>.</>;
  const which = kernels.length === 1 ? "" : `, the costliest ${first.id} (${costText(cost, own)})`;
  return <span data-tip={first.verdict[1]}>{`${which}: ${lowered(first.verdict[0])}.`}</span>;
}

interface CostProps {
  store: Store;
  mark: Line;
  kernels: readonly string[];
}

/** Its share of what its kernels cost, of the whole, and where that is from. */
function LineCost({ store, mark, kernels }: CostProps) {
  const cost = shownCost(store).value;
  const own = valueOf(cost, mark);
  if (!cost || !own) return null;
  const places = (store.doc.value?.calls ?? [])
    .filter((row) => row.id === mark.id)
    .map((row) => row.total[cost.kind] ?? 0);
  const shared = cost.kind === "memory" ? null : sharedText(store, cost, own, kernels);
  return (
    <Section title="Costs">
      <p>
        <b>{costWords(cost, own)}</b>{" "}
        <span class="mut" data-tip={sentence(cost.source)}>
          {`(${cost.brief}; split by the sizes of their values).`}
        </span>
      </p>
      {places.length > 1 && <p>{placesText(cost, places)}</p>}
      {shared && <p>{shared}</p>}
    </Section>
  );
}

/** A line that stands in several places of the tree: what a row there has of the sum here. */
export function placesText(cost: ShownCost, places: readonly number[]): string {
  const each = places.map((own) => costText(cost, own)).join(", ");
  return `This is the sum over ${places.length} places in the tree: ${each}.`;
}

const ROUNDED = 1.005;

/** What its kernels cost together, where that is more than the line has of them. */
function sharedText(store: Store, cost: ShownCost, own: number, kernels: readonly string[]) {
  const whole = kernels.flatMap((id) => valueOf(cost, store.kernel(id) ?? { cost: {} }) ?? []);
  const sum = whole.reduce((total, each) => total + each, 0);
  if (sum <= own * ROUNDED) return null;
  const [subject, verb, they] =
    whole.length === 1
      ? ["the kernel below, which costs", "", "it computes"]
      : [`the ${whole.length} kernels below, which cost`, " together", "they compute"];
  return `It is part of ${subject} ${costText(cost, sum)}${verb}; ${they} other lines, too.`;
}
