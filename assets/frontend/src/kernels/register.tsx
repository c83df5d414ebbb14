// The Kernels pane and its things: kernels, lines of their code, configurations, wrappers.

import { costWords, type ShownCost, shownCost, valueOf } from "../cost/cost";
import { bytes, percent, plural, sentence } from "../format";
import { configOf, kernelOf, numberOf, ownerOf, stageOf } from "../ids";
import { Belongings, type CardProps, Head, OpenCode, relatedOf } from "../inspector/parts";
import { Next, Nodes, Section } from "../inspector/sections";
import { KERNELS, PAIRS, stepOf } from "../fusion/parts";
import { grouped } from "../lists";
import type { Registration } from "../registration";
import type { Entry } from "../search";
import type { Store } from "../store";
import { usePart } from "../ui/asked";
import { Button, Chips, Facts, Mark, Prose, Tag } from "../ui/basics";
import { configLabel, languageOf, stageName } from "../ui/words";
import type {
  Config,
  FusionPart,
  Kernel,
  Opcode,
  PairsPart,
  Part,
  Rejected,
  Document as Report,
} from "../wire";
import { KernelsPane } from ".";
import { addressOf, inlinedAt, opcodesIn } from "./code/stages";

export const kernels: Registration<Store> = {
  id: "kernels",
  Pane: KernelsPane,
  isFull: (store) => store.isCode.value,
  things: {
    kernel: { Card: KernelCard, isFollowed: true },
    "kernel-line": {
      Card: KernelLineCard,
      label: (id, store) => `${languageOf(store, ownerOf(id))} ${ownerOf(id)}:${numberOf(id)}`,
      isFollowed: true,
    },
    wrapper: {},
    "wrapper-line": {
      Card: WrapperLineCard,
      label: (id) => `wrapper ${ownerOf(id)}:${numberOf(id)}`,
      isFollowed: true,
    },
    "asm-line": {
      Card: AssemblyLineCard,
      label: (id, store) => `${stageName(stageOf(id))} ${kernelOf(id)}:${placeOf(id, store)}`,
      isFollowed: true,
    },
    config: { Card: ConfigCard, label: configName, isFollowed: true },
  },
  alsoShows: ["line", "node"],
  entries: (report, parts) => [
    { title: "Kernels", entries: names(report) },
    { title: "Kernel lines", entries: lines(parts) },
  ],
};

function configName(id: string, store: Store): string {
  const config = store.kernel(kernelOf(id))?.configs.find((each) => each.id === id);
  return config ? `${kernelOf(id)} ${configLabel(config, store.doc.value?.target)}` : id;
}

/** The address of a line of SASS, as its column shows it; else the number of the line. */
function placeOf(id: string, store: Store): string {
  const part = store.parts.get(`asm:${ownerOf(id)}`);
  const line = part?.kind === "stage" ? part.text.split("\n")[numberOf(id) - 1] : undefined;
  return (line && stageOf(id) === "sass" && addressOf(line)) || `${numberOf(id)}`;
}

function* names(report: Report): Iterable<Entry> {
  for (const kernel of report.kernels)
    yield { id: kernel.id, label: kernel.id, text: `${kernel.id} ${kernel.name}` };
}

function* lines(parts: readonly Part[]): Iterable<Entry> {
  for (const part of parts) {
    if (part.kind !== "code") continue;
    for (const [i, text] of part.text.split("\n").entries())
      yield { id: `K:${part.id}:${i + 1}`, label: `${part.id}:${i + 1}`, text: text.trim() };
  }
}

function KernelCard({ store, id }: CardProps) {
  const kernel = store.kernel(id);
  if (!kernel) return <h2>{id}</h2>;
  const language = languageOf(store, id);
  const facts = kernel.facts.filter(([name]) => !ELSEWHERE.has(name));
  const lines = relatedOf(store, "line");
  return (
    <>
      <Head
        kind={language === "library" ? `Library call ${id}` : `${language} kernel ${id}`}
        title={kernel.name}
      />
      <Section title="Costs">
        <KernelCost store={store} kernel={kernel} />
        <Facts of="kernel" rows={facts} />
      </Section>
      <Section title="Why">
        <p data-tip={kernel.verdict[1]}>{`${kernel.verdict[0]}.`}</p>
        <p>
          {summary(kernel)} <Saving store={store} kernel={kernel} />
        </p>
      </Section>
      <WhyNot store={store} kernel={id} />
      <Next store={store} lines={lines}>
        {kernel.code ? (
          <OpenCode store={store} id={id} />
        ) : (
          <p class="mut">A library call: it has no generated source.</p>
        )}
      </Next>
      <Chips store={store} title="Source" ids={lines} />
      <Nodes store={store} ids={relatedOf(store, "node")} />
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
  if (own === null) return <p>{`${cost.name}: unknown for this kernel.`}</p>;
  const calls = cost.kind === "memory" || kernel.calls < 2 ? "" : ` in ${kernel.calls} calls`;
  return (
    <>
      <p>
        <b>{`${cost.name}${calls}: ${costWords(cost, own)}.`}</b>{" "}
        <span class="mut" data-tip={sentence(cost.source)}>{`${sentence(cost.brief)}.`}</span>
      </p>
      <Together store={store} cost={cost} kernel={kernel} />
    </>
  );
}

/** What identical kernels cost with it: the table of kernels has them as one row. */
function Together({ store, cost, kernel }: { store: Store; cost: ShownCost; kernel: Kernel }) {
  const alike = (store.doc.value?.kernels ?? []).filter(({ same }) => same === kernel.same);
  if (alike.length < 2) return null;
  const sum = alike.reduce((total, each) => total + (valueOf(cost, each) ?? 0), 0);
  return <p>{`With ${plural(alike.length - 1, "identical kernel")}: ${costWords(cost, sum)}.`}</p>;
}

function summary(kernel: Kernel): string {
  const lines = kernel.lines.length ? ` from ${plural(kernel.lines.length, "line")}` : "";
  const verb = kernel.nodes.length > 1 ? "Joins" : "Holds";
  return kernel.nodes.length ? `${verb} ${plural(kernel.nodes.length, "node")}${lines}.` : "";
}

function Saving({ store, kernel }: { store: Store; kernel: Kernel }) {
  usePart<FusionPart>(store, KERNELS);
  const step = stepOf(store, kernel.id);
  if (step?.why_more)
    return (
      <>
        <Tag tone="fallback">worse with fusion</Tag> {step.why_more}
      </>
    );
  if (!step || step.saved === null) return null;
  const { before, after } = step;
  const change = `its traffic from ${bytes(before)} to ${bytes(after)}`;
  return <>{`Fusion cut ${change}, by ${percent(step.saved)} (estimate).`}</>;
}

const SHOWN = 6;

/** Why it was not fused with its neighbours, most data in common first; each is named once. */
function WhyNot({ store, kernel }: { store: Store; kernel: string }) {
  const { part } = usePart<PairsPart>(store, PAIRS);
  const pairs = neighboursOf(part?.rows ?? [], kernel);
  if (!pairs.length) return null;
  return (
    <section>
      <h3>Why not fused</h3>
      <ul>
        {byReason(pairs.slice(0, SHOWN)).map((alike) => (
          <Reason key={alike[0]!.id} store={store} alike={alike} kernel={kernel} />
        ))}
      </ul>
      {pairs.length > SHOWN && (
        <p class="mut">{`${pairs.length - SHOWN} more in the Fusion pane.`}</p>
      )}
    </section>
  );
}

/** Of the parts of two kernels, which the scheduler tried one by one, the pair that shares most. */
export function neighboursOf<Pair extends Apart>(pairs: readonly Pair[], kernel: string): Pair[] {
  const found = new Map<string | null, Pair>();
  const own = pairs
    .filter((pair) => pair.a_kernel !== pair.b_kernel)
    .filter((pair) => pair.a_kernel === kernel || pair.b_kernel === kernel)
    .sort((a, b) => (b.shared_bytes ?? 0) - (a.shared_bytes ?? 0));
  for (const pair of own) {
    const other = pair.a_kernel === kernel ? pair.b_kernel : pair.a_kernel;
    const key = other ?? `${pair.a} ${pair.b}`;
    if (!found.has(key)) found.set(key, pair);
  }
  return [...found.values()];
}

type Apart = Pick<Rejected, "a" | "b" | "a_kernel" | "b_kernel" | "shared_bytes">;

/** Pairs of one reason that share as much are said once, in the place of the first. */
export function byReason<Pair extends Pick<Rejected, "told" | "shared_bytes">>(
  pairs: readonly Pair[],
): Pair[][] {
  return [...grouped(pairs, (pair) => `${pair.told} ${pair.shared_bytes}`).values()];
}

interface ReasonProps {
  store: Store;
  alike: readonly Rejected[];
  kernel: string;
}

/** The other kernels, each of which leads to what is said of the pair. */
function Reason({ store, alike, kernel }: ReasonProps) {
  const { told, shared_bytes: shared } = alike[0]!;
  return (
    <li>
      {alike.map((pair) => {
        const other = pair.a_kernel === kernel ? pair.b_kernel : pair.a_kernel;
        return (
          <Button key={pair.id} look="link" tip={pair.why} press={() => store.select(pair.id)}>
            {other ? <Mark store={store} kernel={other} /> : "Explain"}
          </Button>
        );
      })}{" "}
      <b>{`${told}.`}</b> {shared ? `They share ${bytes(shared)}.` : ""}
    </li>
  );
}

function KernelLineCard({ store, id }: CardProps) {
  const kernel = ownerOf(id);
  const number = numberOf(id);
  const part = store.parts.get(store.kernel(kernel)?.code ?? "");
  const text = part?.kind === "code" ? part.text.split("\n")[number - 1] : undefined;
  return (
    <>
      <Head
        kind={`${languageOf(store, kernel)} line ${number} of ${kernel}`}
        title={text?.trim() ?? ""}
      />
      {relatedOf(store, "node").length === 0 && (
        <p>No graph node: it sets up indexes, sizes or the kernel's loop.</p>
      )}
      <Belongings store={store} />
    </>
  );
}

function WrapperLineCard({ store, id }: CardProps) {
  const part = store.parts.get(`wrapper:${ownerOf(id)}`);
  const text = part?.kind === "wrapper" ? part.text.split("\n")[numberOf(id) - 1] : undefined;
  return (
    <>
      <Head
        kind={`Line ${numberOf(id)} of the wrapper ${ownerOf(id)}`}
        title={text?.trim() ?? ""}
      />
      <p>The wrapper allocates buffers and calls the kernels in order.</p>
      <Belongings store={store} />
    </>
  );
}

function configBy(store: Store, id: string): Config | undefined {
  return store.kernel(kernelOf(id))?.configs.find((config) => config.id === id);
}

function AssemblyLineCard({ store, id }: CardProps) {
  void store.learned.value;
  const known = store.parts.get(`asm:${ownerOf(id)}`);
  const part = known?.kind === "stage" ? known : null;
  const number = numberOf(id);
  const text = part?.text.split("\n")[number - 1]?.trim() ?? "";
  const place = part && inlinedAt(part, number);
  const config = configBy(store, configOf(id));
  const label = config && configLabel(config, store.doc.value?.target);
  return (
    <>
      <div class="kind">
        {`${stageName(stageOf(id))} line ${number} of ${kernelOf(id)}${label ? ` · ${label}` : ""}`}
      </div>
      <h2 class="mono">{text}</h2>
      {part &&
        opcodesIn(text, part.opcodes).map(({ name, opcode }) => (
          <Explained key={name} name={name} opcode={opcode} />
        ))}
      {place && <p>{`Inlined from ${place}; it also counts for the calling line.`}</p>}
      <Chips
        store={store}
        title={languageOf(store, kernelOf(id))}
        ids={relatedOf(store, "kernel-line")}
      />
      <Belongings store={store} />
    </>
  );
}

function Explained({ name, opcode }: { name: string; opcode: Opcode }) {
  return (
    <section>
      <h3 class="mono">{name}</h3>
      <p>
        <Prose text={opcode.text} />
      </p>
      {opcode.parts.length > 0 && <Facts of="opcode" rows={opcode.parts} />}
      <p class="mut">{`From: ${opcode.source}.`}</p>
    </section>
  );
}

function ConfigCard({ store, id }: CardProps) {
  const config = configBy(store, id);
  if (!config) return <h2>{id}</h2>;
  return (
    <>
      <Head kind={`Configuration ${id}`} title={configLabel(config, store.doc.value?.target)} />
      <Facts of="kernel" rows={config.facts} />
      {config.note && <p>{config.note}</p>}
      <OpenCode store={store} id={id} />
      <Chips store={store} title="Kernel" ids={[kernelOf(id)]} />
      <Belongings store={store} without={["node", "kernel"]} />
    </>
  );
}
