// One way to change the program: a small diff, the button that tries it, what trying it showed.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ASLEEP, type Asking, type Host, whyNot } from "../host";
import { useAttempt } from "../ui/asked";
import { Button, Copy, Message, Problem, Prose } from "../ui/basics";
import { REVEAL } from "../ui/virtual";
import type { ProposedChange } from "../wire";
import "./changes.css";

interface Props {
  host: Asking & Pick<Host, "kind" | "part">;
  change: ProposedChange;
}

/** Folded under its title; `isOpen` at first. */
export function Proposed({ host, change, isOpen }: Props & { isOpen: boolean }) {
  const { title, why, outcome } = change;
  return (
    <details class="proposed" open={isOpen}>
      <summary>
        <Prose text={title} />
      </summary>
      {why && (
        <p>
          <Prose text={why} />
        </p>
      )}
      <ChangeLines change={change} />
      <Result isThere={outcome !== null}>
        {outcome ? (
          <Message note={{ title: "Tried.", text: outcome.words, tone: outcome.tone }}>
            {outcome.patch && (
              <Copy quiet text={outcome.patch} label="Copy patch" title="Copy the unified diff" />
            )}
          </Message>
        ) : (
          <TryIt host={host} change={change} />
        )}
      </Result>
    </details>
  );
}

const LOOKS: Readonly<Record<string, string>> = { "-": "a", "+": "b", "@": "faint" };

export function ChangeLines({ change: { lines, code } }: Pick<Props, "change">) {
  if (!lines.length) return null;
  return (
    <div class="row">
      <pre class="diff mono grow" tabIndex={0} role="group" aria-label="The change">
        {lines.map(([sign, text], at) => (
          <div key={at} class={LOOKS[sign] ?? ""}>
            {sign && sign !== "@" ? `${sign} ${text}` : text}
          </div>
        ))}
      </pre>
      {code && <Copy quiet text={code} label="Copy" title="Copy the change" />}
    </div>
  );
}

/** What came of a trial: scrolled into view when it comes, not where it was there before. */
function Result({ isThere, children }: { isThere: boolean; children: ComponentChildren }) {
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

/** Why a change cannot be tried at this moment, or null. */
export function whyNotTried({ host, change }: Props): string | null {
  const reason = change.why_not ?? (host.kind === "live" ? null : ASLEEP);
  return whyNot(host, reason, change);
}

/** With `isShort` only the button: its tip says the rest. Where it cannot be pressed, no button. */
export function TryIt({ host, change, isShort = false }: Props & { isShort?: boolean }) {
  const [error, attempt] = useAttempt();
  const why = whyNotTried({ host, change });
  const words = why ?? "Runs on a copy; your program is unchanged.";
  if (!change.ask || host.kind !== "live") return isShort ? <span /> : <p class="mut">{words}</p>;
  return (
    <>
      <Problem title="The trial failed." text={error} />
      <div class="row">
        <Button
          isOff={why !== null}
          tip={isShort ? words : undefined}
          press={() => void attempt(host.part(change.ask, change.question))}
        >
          Try it
        </Button>
        {!isShort && <span class="mut">{words}</span>}
      </div>
    </>
  );
}
