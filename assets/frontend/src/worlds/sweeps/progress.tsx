// How far a sweep is: a bar, words, Cancel, how many are faster; at its end the answer.

import { plural, seconds } from "../../format";
import { useSince } from "../../progress/progress";
import { useLate } from "../../ui/asked";
import { Button, Copy } from "../../ui/basics";
import type { SweepDocument } from "./wire";
import { counted, type SweepState } from "./state";

const PATIENCE_MS = 3000;

export function Progress({ state }: { state: SweepState }) {
  const doc = state.doc.value;
  if (!doc) return null;
  return (
    <section class="sweep-top" role="group" aria-label="Progress and answer">
      {doc.status === "running" ? <Going state={state} doc={doc} /> : <Answer doc={doc} />}
      {doc.notes.map((note) => (
        <p key={note} class="mut">
          {note}
        </p>
      ))}
    </section>
  );
}

function Going({ state, doc }: { state: SweepState; doc: SweepDocument }) {
  const lost = state.host.lost.value;
  const since = useSince(doc, lost === null);
  const { done, failed, running } = counted(state.rows.value);
  const known = state.rows.value.filter((row) => row.from_store).length;
  const left = doc.left_s === null ? null : Math.max(1, doc.left_s - since);
  const words = [
    `${done} done`,
    ...(known ? [`${known} of them from the store`] : []),
    lost === null ? `${running} running` : "the rest did not finish",
    `${failed} failed`,
    ...(left === null || lost !== null ? [] : [`about ${seconds(Math.round(left))} left`]),
  ];
  const timed = state.rows.value.filter((row) => row.verdict);
  const faster = timed.filter((row) => row.verdict === "faster");
  return (
    <>
      <div class="row">
        {lost === null && <span class="spin" aria-hidden="true" />}
        <b>{`${done + failed}${doc.total === null ? "" : ` of ${doc.total}`} configurations`}</b>
        <span class="mut grow" role="status">
          {words.join(" · ")}
        </span>
        <span class="mut num">{seconds(Math.floor(doc.elapsed_s + since))}</span>
        <Cancel state={state} off={lost} />
      </div>
      <Bar done={done} failed={failed} running={running} total={doc.total} />
      <p class="cut">
        <span class="mut">
          {timed.length
            ? `${faster.length} of ${timed.length} timed configurations are significantly faster than eager.`
            : "The first row appears when its code is compiled and measured."}
        </span>
      </p>
    </>
  );
}

function Cancel({ state, off }: { state: SweepState; off: string | null }) {
  const isAsked = state.isCancelling.value;
  const isLate = useLate(isAsked, PATIENCE_MS);
  return (
    <>
      {isAsked && isLate && (
        <span class="mut">If it continues, interrupt the kernel; finished rows are kept.</span>
      )}
      <Button
        tip={off ?? "Stops running trials; finished rows are kept"}
        isOff={off !== null}
        disabled={isAsked}
        press={() => void state.cancel()}
      >
        {isAsked ? "Cancelling…" : "Cancel"}
      </Button>
    </>
  );
}

interface BarProps {
  done: number;
  failed: number;
  running: number;
  total: number | null;
}

function Bar({ done, failed, running, total }: BarProps) {
  const whole = Math.max(1, total ?? done + failed + running);
  const part = (count: number) => ({ width: `${(100 * count) / whole}%` });
  return (
    <div
      class="sweep-bar"
      role="progressbar"
      aria-label="Finished configurations"
      aria-valuemin={0}
      aria-valuemax={whole}
      aria-valuenow={done + failed}
    >
      <i class="done" style={part(done)} />
      <i class="failed" style={part(failed)} />
    </div>
  );
}

function Answer({ doc }: { doc: SweepDocument }) {
  const left = doc.rows.filter((row) => row.status === "cancelled").length;
  const end = doc.sentence.indexOf(". ") + 1 || doc.sentence.length;
  const [first, rest] = [doc.sentence.slice(0, end), doc.sentence.slice(end).trim()];
  return (
    <>
      {doc.status === "cancelled" && (
        <p>
          <b>The sweep was cancelled.</b>
          {` Finished rows are kept; run it again to try ${plural(left, "more configuration")}.`}
        </p>
      )}
      <div class="row">
        <p class="grow">
          <b>{first}</b> {rest}
        </p>
        {doc.code && <Copy text={doc.code} label="Code" title={`Copy ${doc.code}`} />}
      </div>
      <p class="mut">{doc.facts}</p>
    </>
  );
}
