// Why are two things apart? One sentence, what would join them, the scheduler's own words.

import { useEffect, useRef, useState } from "preact/hooks";
import { TryIt } from "../changes/change";
import { kindOf } from "../ids";
import type { Store } from "../store";
import { useAnswer } from "../ui/asked";
import { Button, Problem, Prose } from "../ui/basics";
import { MaxAutotune } from "../ui/offer";
import type { ApartPart, Document as Report, WhyApart } from "../wire";

export function Apart({ store }: { store: Store }) {
  const pair = store.pair.picked.value;
  const [a, b] = pair;
  const card = useRef<HTMLElement>(null);
  // In a notebook the foot of the view may be below the window; the answer makes the card higher.
  useEffect(() => {
    const { current } = card;
    if (!current) return;
    const show = () => current.scrollIntoView({ block: "nearest" });
    const grown = new ResizeObserver(show);
    grown.observe(current);
    return () => grown.disconnect();
  }, [a, b]);
  if (a === undefined) return null;
  return (
    <section
      ref={card}
      class="apart"
      role="group"
      aria-label="Why not fused"
      aria-live="polite"
      tabIndex={0}
    >
      <div class="kind">{b === undefined ? "One picked" : `Two ${kindsOf(pair)} picked`}</div>
      {b === undefined ? (
        <p>
          {`${store.labelOf(a)}. `}
          <kbd>Ctrl</kbd> and a click, or <kbd>w</kbd>, picks the second.
        </p>
      ) : (
        <>
          <h2>{`Why are ${store.labelOf(a)} and ${store.labelOf(b)} not fused?`}</h2>
          <Answer key={`${a}|${b}`} store={store} a={a} b={b} />
        </>
      )}
    </section>
  );
}

function kindsOf(pair: readonly string[]): string {
  const [a, b] = pair.map(kindOf);
  return a === b ? `${a}s` : "things";
}

interface AnswerProps {
  store: Store;
  a: string;
  b: string;
  /** What is said where a saved page keeps no answer; the card of a pair has its own words. */
  otherwise?: string;
}

export function Answer({ store, a, b, otherwise = NOT_KEPT }: AnswerProps) {
  const isLive = store.host.kind === "live";
  const { part, failed } = useAnswer<ApartPart>(store, isLive ? `apart:${a}|${b}` : "apart:");
  if (failed) return <Problem title="No answer." text={failed} />;
  if (!part) return <p class="mut">Asking …</p>;
  const answer = isLive
    ? part.answers[0]
    : keptAnswer(part, kernelsOf(store, a), kernelsOf(store, b));
  if (answer) return <Said store={store} answer={answer} isOfPair={otherwise !== NOT_KEPT} />;
  return (
    <p>
      <Prose text={otherwise} />
    </p>
  );
}

const NOT_KEPT =
  "A saved page answers this only if one kernel reads the other's output. For any other pair, run " +
  "the cell again or open the report with wb.show.";

/** The kernels that compute a thing, as far as the page knows. */
function kernelsOf(store: Store, id: string): string[] {
  if (kindOf(id) === "kernel") return [id];
  const related = store.links.value?.related(id) ?? new Set<string>();
  return [...related].filter((each) => kindOf(each) === "kernel");
}

/** What a saved page has of a pair: a common kernel, or two that are neighbours. */
export function keptAnswer(
  part: ApartPart,
  ours: readonly string[],
  theirs: readonly string[],
): WhyApart | null {
  const both = ours.filter((kernel) => theirs.includes(kernel));
  const between = part.answers.find(
    ({ a, b }) =>
      (ours.includes(a) && theirs.includes(b)) || (ours.includes(b) && theirs.includes(a)),
  );
  if (both.length && (both.length === ours.length || both.length === theirs.length)) {
    const who = both.length === 1 ? `${both[0]} computes` : `${several(both)} compute`;
    return { ...TOGETHER, sentence: `They are fused: ${who} both.` };
  }
  return between ?? null;
}

const NAMED = 4;

/** The first of some kernels and how many more there are; as in Python. */
function several(ids: readonly string[]): string {
  if (ids.length > NAMED) return `${ids.slice(0, NAMED).join(", ")} and ${ids.length - NAMED} more`;
  return `${ids.slice(0, -1).join(", ")} and ${ids.at(-1)}`;
}

const TOGETHER: WhyApart = {
  a: "",
  b: "",
  is_apart: false,
  sentence: "",
  help: null,
  kernels: [],
  words: [],
  rejected: null,
  opportunity: null,
};

/** The cure that has an action of its own; others are lines that the reader writes. */
const TUNED = "max-autotune";

interface SaidProps {
  store: Store;
  answer: WhyApart;
  /** Whether the scheduler's words stand beside it. */
  isOfPair: boolean;
}

function Said({ store, answer, isOfPair }: SaidProps) {
  const [isOpen, open] = useState(false);
  const { help, opportunity, words, rejected } = answer;
  const change = opportunityOf(store.doc.value, opportunity);
  return (
    <>
      <p>
        <Prose text={answer.sentence} />
      </p>
      {answer.is_apart && (
        <>
          <h3>What would help</h3>
          <p>
            <Prose text={change?.text ?? help ?? "No known change would fuse them."} />
            {change && <span class="mut">{` ${change.short}`}</span>}
          </p>
          {change && <TryIt host={store.host} change={change.change} />}
          {!change && help?.includes(TUNED) && <MaxAutotune store={store} words="Try it" />}
        </>
      )}
      {words.length > 0 && !isOfPair && (
        <Button look="link" press={() => open(!isOpen)}>
          {isOpen ? "Hide the scheduler’s words" : "The scheduler’s words"}
        </Button>
      )}
      {isOpen && (
        <>
          <ul class="words mono">
            {words.map((each) => (
              <li key={each}>{each}</li>
            ))}
          </ul>
          {rejected && (
            <Button look="link" press={() => store.select(rejected, { pane: "fusion" })}>
              Show the pair in Fusion
            </Button>
          )}
        </>
      )}
    </>
  );
}

function opportunityOf(report: Report | null, id: string | null) {
  return id === null ? undefined : report?.advice.rows.find((row) => row.id === id);
}
