// Memory budgets of a training step: the peak of each, what it computes twice, what to write for it.

import { bytes, plural, seconds } from "../format";
import { whyNot } from "../host";
import { STOPPED } from "../kernel";
import { Cancel } from "../progress/cancel";
import { useSince } from "../progress/progress";
import type { Store } from "../store";
import { useAttempt, usePart } from "../ui/asked";
import { Button, Copy, Facts, Message, Problem, Prose, Segments } from "../ui/basics";
import { Coloured, coloured } from "../ui/highlight";
import { usePaneState } from "../ui/kept";
import type { Budget, BudgetsPart } from "../wire";
import { LineRow } from "./line";

export function Budgets({ store }: { store: Store }) {
  const { has_budgets, actions } = store.doc.value!;
  const asleep = actions.budgets ?? null;
  const { part, failed } = usePart<BudgetsPart>(store, has_budgets ? "budgets:" : null);
  const [error, attempt] = useAttempt();
  const { task } = store.host.progress.value;
  const why = whyNot(store.host, asleep);
  /** Looks at all of them, or compiles one. */
  const start = (budget?: number) =>
    void attempt(
      store.host.part(budget === undefined ? "budgets" : "budget", { budget: budget ?? 1 }),
    );
  return (
    <div class="scroll budgets">
      <Problem title="No budget." text={error ?? failed} />
      {task === "budget" && <Doing store={store} />}
      {part ? (
        <Advisor store={store} part={part} why={why} start={start} />
      ) : (
        !has_budgets && (
          <div class="ask">
            <p>
              A memory budget says how much a step keeps for its backward, which computes the rest
              again: from 1, as fast as can be, to 0, everything again.
            </p>
            {asleep === null ? (
              <>
                <Button tip={why ?? undefined} isOff={why !== null} press={() => start()}>
                  Show the budgets
                </Button>
                <p class="mut">
                  Compiles the step once more for its joint graph; this report stays unchanged.
                </p>
              </>
            ) : (
              <p class="mut">
                <Prose text={asleep} />
              </p>
            )}
          </div>
        )
      )}
    </div>
  );
}

/** What is compiled for a budget now, with its end; it is cancelled here. */
function Doing({ store }: { store: Store }) {
  const progress = store.host.progress.value;
  const since = useSince(progress, progress.status === "running");
  const { status, title, elapsed_s, steps, can_cancel, error } = progress;
  if (status === "failed" && error !== STOPPED)
    return (
      <Message note={{ title: "The compilation failed.", text: error ?? "", tone: "break" }} />
    );
  if (status !== "running") return null;
  return (
    <div class="row doing" role="status">
      <span class="spin" aria-hidden="true" />
      <b>{title}</b>
      <span class="mut num">{seconds(elapsed_s + since)}</span>
      <span class="mut cut grow">{steps.findLast((step) => step.duration_s === null)?.name}</span>
      {can_cancel && <Cancel host={store.host} />}
    </div>
  );
}

interface Props {
  store: Store;
  part: BudgetsPart;
  /** Why none can be compiled now. */
  why: string | null;
  start(budget: number): void;
}

/** The peak as it is known: of the compiled program, else by the preview. */
export function peakOf({ peak, preview }: Budget): number | null {
  return peak ?? preview;
}

export function peakWords(row: Budget): string {
  if (row.peak !== null) return `${bytes(row.peak)}, compiled`;
  return row.preview === null ? "not compiled" : `${bytes(row.preview)} (preview)`;
}

function Advisor({ store, part, why, start }: Props) {
  const [chosen, choose] = usePaneState(store, `budget ${store.doc.value?.target}`, part.best);
  const [what, show] = usePaneState(store, "twice", "lines");
  const { rows, own, best, sentence } = part;
  const at = Math.max(
    0,
    rows.findIndex(({ budget }) => budget === chosen),
  );
  const row = rows[at]!;
  const reason = row.peak !== null ? "Its peak is known" : why;
  return (
    <>
      <p class="memory-note">{sentence}</p>
      <div class="budget-top">
        <div>
          <Columns part={part} at={at} choose={(to) => choose(rows[to]!.budget)} />
          <input
            type="range"
            min={0}
            max={rows.length - 1}
            value={at}
            aria-label="Memory budget"
            aria-valuetext={`Budget ${row.budget}: peak ${peakWords(row)}, ${bytes(row.saved)} saved`}
            style={{ "--n": rows.length }}
            onInput={(event) => choose(rows[+event.currentTarget.value]!.budget)}
            onKeyDown={(event) => event.stopPropagation()}
          />
          <div class="budget-legend">
            <span>Height: the peak of the whole step</span>
            <span>
              <i />
              compiled
            </span>
            <span>
              <i class="guess" />
              preview, a model
            </span>
            <span>
              <i class="kept" />
              kept for the backward
            </span>
          </div>
        </div>
        <div>
          <Facts
            of="budgets"
            rows={[
              [
                "Budget",
                `${row.budget}${said(row.budget === own, "its own")}${said(row.budget === best, "lowest known peak")}`,
              ],
              ["Peak", peakWords(row)],
              ["Kept", bytes(row.saved)],
              ["Twice", plural(row.again, "operator")],
              ["Adds", row.cost],
            ]}
          />
          <Button
            tip={reason ?? "Compile it in the background and count its peak"}
            isOff={reason !== null}
            press={() => start(row.budget)}
          >
            {`Compile ${row.budget}`}
          </Button>
        </div>
      </div>
      <div class="bar edge">
        <Segments of={WHAT} value={what} set={show} />
        <span class="faint cut" data-tip="">
          {what === "lines"
            ? `Bytes moved by ${plural(row.again, "operator")}, unfused`
            : `Code for a budget of ${row.budget}`}
        </span>
      </div>
      {what === "lines" ? <Twice store={store} row={row} /> : <Code row={row} />}
    </>
  );
}

const WHAT = [
  ["lines", "Recomputed"],
  ["code", "Code"],
] as const;

function said(is: boolean, words: string): string {
  return is ? `, ${words}` : "";
}

/** A column for each budget, as high as the peak; its foot is what is kept. */
function Columns({
  part,
  at,
  choose,
}: {
  part: BudgetsPart;
  at: number;
  choose(at: number): void;
}) {
  const { rows, own, best } = part;
  const top = 1.2 * Math.max(1, ...rows.map((row) => peakOf(row) ?? row.saved));
  const height = (size: number) => ({ height: `${((100 * size) / top).toFixed(2)}%` });
  return (
    <div class="budget-plot" aria-hidden="true">
      {rows.map((row, i) => {
        const peak = peakOf(row);
        const { budget, saved } = row;
        const isFar = Math.abs(i - at) > 1; // names of neighbours would touch
        const isNamed = i === at || (isFar && (budget === best || budget === own));
        return (
          <div key={budget} class={i === at ? "on" : ""} onClick={() => choose(i)}>
            <p>
              <i class={row.peak === null ? "guess" : ""} style={height(peak ?? 0)}>
                {isNamed && peak !== null && <b>{bytes(peak)}</b>}
              </i>
              <i class="kept" style={height(saved)} />
            </p>
            <span class={budget === best ? "best" : ""}>
              {budget === best ? `★ ${budget}` : budget}
            </span>
          </div>
        );
      })}
    </div>
  );
}

function Twice({ store, row }: { store: Store; row: Budget }) {
  if (!row.lines.length) return <p class="memory-note">Nothing is computed again.</p>;
  const most = Math.max(1, ...row.lines.map((each) => each.bytes));
  return (
    <ul class="memory-list" aria-label="Computed twice, by line">
      {row.lines.map(({ line, place, operators, ...each }) => (
        <LineRow
          key={place}
          store={store}
          line={line}
          name={place}
          more={operators}
          bytes={each.bytes}
          share={each.bytes / most}
        />
      ))}
    </ul>
  );
}

function Code({ row }: { row: Budget }) {
  if (!row.code.length)
    return (
      <p class="memory-note">
        Nothing to write: the step has this budget already, or nothing is recomputed.
      </p>
    );
  return (
    <>
      {row.code.map(({ title, text, note }) => (
        <section key={title} class="budget-code">
          <div class="row">
            <b class="grow">{title}</b>
            <Copy quiet text={text} label="Copy" title={`Copy: ${title}`} />
          </div>
          <pre class="mono">
            {coloured(text.split("\n")).map((pieces, i) => (
              <div key={i}>
                <Coloured pieces={pieces} />
              </div>
            ))}
          </pre>
          <p class="mut">{note}</p>
        </section>
      ))}
    </>
  );
}
