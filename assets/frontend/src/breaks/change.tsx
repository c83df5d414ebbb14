// A change of a few lines as a small difference, the button that tries it in a copy, what came of it.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { whyNot, type Question } from "../host";
import type { Store } from "../store";
import { useAttempt } from "../ui/asked";
import { Button, Copy, Problem } from "../ui/basics";
import { indentOf } from "../ui/highlight";
import { REVEAL } from "../ui/virtual";

interface ChangeProps {
  before: string[];
  after: string[];
  /** All that is to be written, which is shown where no lines go away. */
  text: string;
}

export function Change({ before, after, text }: ChangeProps) {
  if (!text && !before.length) return null;
  const cut = indentOf([...before, ...after]);
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

/** What came of a trial: brought into sight when it comes, not where it was there before. */
export function Result({ isThere, children }: { isThere: boolean; children: ComponentChildren }) {
  const root = useRef<HTMLDivElement>(null);
  const wasThere = useRef(isThere);
  useEffect(() => {
    const isNew = isThere && !wasThere.current;
    wasThere.current = isThere;
    if (!isNew || !root.current) return;
    root.current.scrollIntoView({ block: "nearest" }); // the notebook too: it was asked for here
    root.current.closest(".scroll")?.dispatchEvent(new Event(REVEAL, { bubbles: true }));
  }, [isThere]);
  return <div ref={root}>{children}</div>;
}

interface TryProps {
  store: Store;
  ask: string;
  question: Question;
  /** Why it cannot be tried here. */
  reason: string | null;
  /** Only the button: what is to be known of it is its tip. */
  isShort?: boolean;
}

export function TryIt({ store, ask, question, reason, isShort = false }: TryProps) {
  const [error, attempt] = useAttempt();
  const why = whyNot(store.host, reason, { ask, question });
  const words = why ?? "In a copy: what is here stays as it is.";
  return (
    <>
      <Problem title="That cannot be tried." text={error} />
      <div class="row">
        <Button
          isOff={why !== null}
          tip={isShort ? words : undefined}
          press={() => void attempt(store.host.part(ask, question))}
        >
          Try it
        </Button>
        {!isShort && <span class="mut">{words}</span>}
      </div>
    </>
  );
}
