// A change of a few lines as a small difference, and the button that tries it in a copy.

import { useState } from "preact/hooks";
import { whyNot, type Question } from "../host";
import type { Store } from "../store";
import { Button, Copy, Message } from "../ui/basics";

interface ChangeProps {
  before: string[];
  after: string[];
  /** All that is to be written, which is shown where no lines go away. */
  text: string;
}

export function Change({ before, after, text }: ChangeProps) {
  if (!text && !before.length) return null;
  const cut = commonIndent([...before, ...after]);
  const lines = (of: string[], sign: string, tone: string) =>
    of.map((line) => <div key={sign + line} class={tone}>{`${sign} ${line.slice(cut)}`}</div>);
  return (
    <div class="row">
      <pre class="diff mono grow">
        {before.length ? [lines(before, "-", "a"), lines(after, "+", "b")] : text}
      </pre>
      <Copy quiet text={text} label="Copy" title="Copy the change" />
    </div>
  );
}

interface TryProps {
  store: Store;
  ask: string;
  question: Question;
  /** Why it cannot be tried here. */
  reason: string | null;
}

export function TryIt({ store, ask, question, reason }: TryProps) {
  const [error, setError] = useState<string | null>(null);
  const why = whyNot(store.host, reason);
  const start = () => {
    if (why === null)
      store.host.part(ask, question).catch((problem: Error) => setError(problem.message));
  };
  return (
    <>
      {error && <Message note={{ title: "That cannot be tried.", text: error, tone: "break" }} />}
      <div class="row">
        <Button isOff={why !== null} press={start}>
          Try it
        </Button>
        <span class="mut">{why ?? "In a copy: what is here stays as it is."}</span>
      </div>
    </>
  );
}

function commonIndent(lines: string[]): number {
  const depths = lines.filter((line) => line.trim()).map((line) => line.search(/\S/));
  return depths.length ? Math.min(...depths) : 0;
}
