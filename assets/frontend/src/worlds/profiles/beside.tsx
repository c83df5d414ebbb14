// Beside the timeline: what to change, and what is selected.

import { microseconds } from "../../format";
import { Section } from "../../inspector/sections";
import { Button, Copy, Facts, Prose } from "../../ui/basics";
import { usePaneState } from "../../ui/kept";
import type { ProfileCard, ProfileChange, ProfileDocument, RecordFact } from "./wire";
import type { ProfileState } from "./state";
import { said } from "./timeline";

const FIRST = 5;

export function Beside({ state, doc }: { state: ProfileState; doc: ProfileDocument }) {
  return (
    <div class="prof-beside">
      <Changes state={state} doc={doc} />
      <Inspector state={state} />
    </div>
  );
}

function Changes({ state, doc }: { state: ProfileState; doc: ProfileDocument }) {
  const [isOpen, open] = usePaneState(state, "all changes", false);
  const shown = isOpen ? doc.changes : doc.changes.slice(0, FIRST);
  const most = doc.changes.reduce((largest, { of_us }) => Math.max(largest, of_us), 0);
  return (
    <section class="prof-changes" role="group" aria-label="What to change">
      <div class="bar">
        <h2>What to change</h2>
        <span class="mut cut">saving / affected time</span>
      </div>
      {shown.map((change) => (
        <Change key={change.id} state={state} change={change} most={most} />
      ))}
      {!doc.changes.length && <p class="mut">No suggested changes.</p>}
      {doc.changes.length > FIRST && (
        <Button look="link" isOpen={isOpen} press={() => open(!isOpen)}>
          {isOpen ? "Less" : `${doc.changes.length - FIRST} more`}
        </Button>
      )}
    </section>
  );
}

interface ChangeProps {
  state: ProfileState;
  change: ProfileChange;
  most: number;
}

function Change({ state, change, most }: ChangeProps) {
  const { id, title, least_us, most_us, of_us } = change;
  const from = least_us ?? 0;
  const isRelated = state.selected.value === id || state.related.value.has(id);
  const share = (us: number) => `${(us / most) * 100}%`;
  return (
    <button
      type="button"
      class={isRelated ? "prof-change rel" : "prof-change"}
      aria-pressed={state.selected.value === id}
      data-tip={change.why}
      onClick={() => state.select(id)}
    >
      <b>
        <Prose text={title} />
      </b>
      <span class="prof-saving" aria-hidden="true">
        <i style={{ width: share(of_us) }} />
        {least_us !== null && <i class="sure" style={{ width: share(least_us) }} />}
        {most_us !== null && (
          <i class="unsure" style={{ left: share(from), width: share(most_us - from) }} />
        )}
      </span>
      <span class="row">
        <span class="num">{savingOf(change)}</span>
        <span class="grow" />
        <span class="mut">{`of ${microseconds(of_us)}`}</span>
      </span>
    </button>
  );
}

function savingOf({ least_us, most_us }: ProfileChange): string {
  if (most_us === null) return "unknown saving";
  if (least_us === null) return `up to ${microseconds(most_us)}`;
  if (least_us === most_us) return microseconds(least_us);
  return `${microseconds(least_us)} to ${microseconds(most_us)}`;
}

function Inspector({ state }: { state: ProfileState }) {
  const place = state.place.value;
  const note = place ? said(state, place) : "";
  const hint = "Click an event, module, row or gap to see its details here.";
  const records = state.doc.value?.records ?? [];
  const canOpen = ({ id, of }: RecordFact) => id !== null && records.includes(of);
  const open = (fact: RecordFact) => state.openRecord(fact);
  return <Card card={state.card.value} note={note} hint={hint} canOpen={canOpen} open={open} />;
}

interface CardProps {
  card: ProfileCard | undefined;
  note?: string;
  /** What is said where nothing is selected. */
  hint: string;
  /** Whether what a record says can be gone to, and how. */
  canOpen?(fact: RecordFact): boolean;
  open?(fact: RecordFact): void;
}

export function Card({ card, note = "", hint, canOpen, open }: CardProps) {
  if (!card)
    return (
      <div class={note ? "insp" : "insp hint"} role="group" aria-label="Inspector">
        <p class="mut">{note || hint}</p>
      </div>
    );
  return (
    <div class="insp" role="group" aria-label="Inspector" tabIndex={0}>
      <div class="kind">{card.caption}</div>
      <h2>{card.title}</h2>
      <Facts of="profile" rows={card.facts} />
      {note && <p class="mut">{note}</p>}
      <Section title="Why" has={card.why !== ""}>
        <p>
          <Prose text={card.why} />
        </p>
      </Section>
      <Section title="Next" has={card.next !== "" || card.code !== ""}>
        <p>
          <Prose text={card.next} />
        </p>
        {card.code && (
          <div class="row">
            <code class="mono grow">{card.code}</code>
            <Copy quiet text={card.code} label="" title="Copy the code" />
          </div>
        )}
      </Section>
      <Section title="In the report" has={card.record.length > 0}>
        {card.record.map((fact, at) => (
          <p key={at} class={fact.label === "Line" ? "mono" : ""}>
            <span class="mut">{`${fact.label} `}</span>
            {canOpen?.(fact) ? (
              <Button look="link" press={() => open?.(fact)}>
                {fact.text}
              </Button>
            ) : (
              fact.text
            )}
          </p>
        ))}
      </Section>
      {card.full && <p class="mono faint prof-full">{card.full}</p>}
    </div>
  );
}
