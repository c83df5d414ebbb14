// What would fill a pane: a button that does it, with what it takes; where nothing is alive, the
// line of Python to write.

import { isAwake, whyNot, type Question } from "../host";
import type { Store } from "../store";
import { useAttempt } from "./asked";
import { Button, Copy, Problem, Prose } from "./basics";

const SAVED = "This is a saved view. Run the cell again, or copy the line.";

interface OfferProps {
  store: Store;
  /** What it is asked for with; its reason and its cost come with the document. */
  ask: string;
  words: string;
  line: string;
  /** What the button does, where that is not to ask at once. */
  press?(): void;
  question?: Question;
}

export function Offer({ store, ask, words, line, press, question }: OfferProps) {
  const [error, attempt] = useAttempt();
  const report = store.doc.value;
  if (!report) return null;
  const reason = report.actions[ask] ?? null;
  if (store.host.kind !== "live") return <ByHand line={line} why={SAVED} />;
  if (!isAwake(store.host)) return <ByHand line={line} why={null} />; // a strip says why
  if (reason !== null)
    return (
      <p class="mut">
        <Prose text={reason} />
      </p>
    );
  const wanted = { ask, question: question ?? { targets: [] } };
  const why = whyNot(store.host, reason, wanted);
  const begin = () => void attempt(store.host.part(ask, wanted.question));
  return (
    <div class="offered">
      <Problem title="The request failed." text={error} />
      <Button isOff={why !== null} tip={why ?? undefined} press={press ?? begin}>
        {words}
      </Button>
      <span class="mut">{report.efforts?.[ask]}</span>
    </div>
  );
}

interface TuneProps {
  store: Store;
  words?: string;
}

/** Compiles it so that Inductor compares, for the same target, in the place of what is shown. */
export function MaxAutotune({ store, words = "Try max-autotune" }: TuneProps) {
  const { present } = store.doc.value!.targets;
  const target = present === "host" ? "" : `, target="${present}"`;
  const line = `wb.aot_compile(fn, args, mode="max-autotune"${target})`;
  return <Offer store={store} ask="autotune" words={words} line={line} />;
}

/** The line that does the same in Python, to copy. */
export function ByHand({ line, why }: { line: string; why: string | null }) {
  return (
    <div class="offered">
      <code class="mono">{line}</code>
      <Copy text={line} label="Copy" title={`Copy ${line}`} />
      {why && (
        <p class="mut">
          <Prose text={why} />
        </p>
      )}
    </div>
  );
}
