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
    lost === null ? `${running} running` : "the rest did not end",
    `${failed} failed`,
    ...(left === null || lost !== null ? [] : [`about ${seconds(Math.round(left))} left`]),
  ];
  const timed = state.rows.value.filter((row) => row.verdict);
  const faster = timed.filter((row) => row.verdict === "faster");
  return (
    <>
      <div class="row">
        {lost === null && <span class="spin" aria-hidden="true" />}
        <b>{`${done + failed}${doc.total === null ? "" : ` of ${doc.total}`} settings`}</b>
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
            ? `${faster.length} of ${timed.length} that are timed: faster than the original beyond the noise.`
            : "The first row comes when its code is compiled and measured."}
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
        <span class="mut">If it goes on, interrupt the kernel: what is done is kept.</span>
      )}
      <Button
        tip={off ?? "Ends what runs; what is done is kept"}
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
      aria-label="Settings that have ended"
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
          {` What was done is kept; ${plural(left, "setting")} can be tried by running it again.`}
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
