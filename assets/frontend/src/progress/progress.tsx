// A compilation as it goes, and what is left of one that failed or was cancelled.

import { useEffect, useReducer, useRef } from "preact/hooks";
import { plural, seconds } from "../format";
import { STOPPED } from "../kernel";
import type { Asking } from "../host";
import type { Store } from "../store";
import { Copy, Message, Problem } from "../ui/basics";
import { Icon } from "../ui/icons";
import { Cancel } from "./cancel";
import type { Note, Progress, StepState, Task } from "../wire";

const TICK_MS = 200;

/** Seconds since a word of Python came, redrawn several times a second while it runs. */
export function useSince(word: unknown, isRunning: boolean): number {
  const arrived = useRef({ word, at: performance.now() });
  if (arrived.current.word !== word) arrived.current = { word, at: performance.now() };
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => redraw(0), TICK_MS);
    return () => clearInterval(timer);
  }, [isRunning]);
  return isRunning ? (performance.now() - arrived.current.at) / 1000 : 0;
}

export function ProgressView({ store }: { store: Store }) {
  const progress = store.host.progress.value;
  const isRunning = progress.status === "running";
  const since = useSince(progress, isRunning);
  const failure = store.host.failure.value;
  return (
    <div class="scroll">
      {!isRunning && <Ended progress={progress} />}
      <Problem title="The request failed." text={failure} />
      <section class="prog" role="group" aria-label="Progress">
        <div class="row">
          {isRunning && <span class="spin" aria-hidden="true" />}
          <b class="cut">{progress.title || "Compiling"}</b>
          <span class="mut num">{seconds(progress.elapsed_s + since)}</span>
          <span class="grow" />
          {isRunning && progress.can_cancel && <Cancel host={store.host} />}
        </div>
        {isRunning && progress.words && <p role="status">{progress.words}</p>}
        <Steps progress={progress} since={since} />
        {isRunning && <p class="mut">{endWords(progress)}</p>}
      </section>
      <Kernels names={progress.kernels} isRunning={isRunning} />
    </div>
  );
}

/** How it can be ended. */
function endWords({ can_cancel, task }: Progress): string {
  if (!can_cancel) return "Interrupt the kernel to stop; what was done so far is kept.";
  return task ? "Cancel stops before the next step." : "Cancel stops the worker at once.";
}

function Steps({ progress, since }: { progress: Progress; since: number }) {
  const isRunning = progress.status === "running";
  const { shown, short } = shownSteps(progress.steps);
  return (
    <>
      <ul>
        {shown.map(({ step, depth, isRunning: isOpen }) => (
          <li key={`${step.name}@${step.start_s}`}>
            {isOpen && isRunning ? (
              <span class="spin" aria-label="running" role="img" />
            ) : (
              <span class={isOpen ? "st st-break" : "st st-captured"}>
                <Icon name={isOpen ? "cross" : "captured"} />
                <span class="sr">{isOpen ? "not finished" : "done"}</span>
              </span>
            )}
            <span class="cut" data-tip="" style={{ paddingLeft: `${Math.min(depth, 8) * 12}px` }}>
              {step.name}
            </span>
            <span class="mut num">
              {seconds(step.duration_s ?? Math.max(0, progress.elapsed_s + since - step.start_s))}
            </span>
          </li>
        ))}
      </ul>
      {short > 0 && <p class="mut">{`${plural(short, "short phase")} not listed.`}</p>}
    </>
  );
}

function Kernels({ names, isRunning }: { names: string[]; isRunning: boolean }) {
  if (!names.length) return null;
  return (
    <section class="fresh" role="group" aria-label="Kernels so far">
      <div class="bar">
        <h2>Kernels</h2>
        <span class="faint" aria-live="polite">
          {`${plural(names.length, "kernel")}${isRunning ? " so far" : ""}`}
        </span>
      </div>
      <ol class="mono">
        {names.map((name, i) => (
          <li key={`${i}:${name}`} data-tip="">
            <span class="faint num">{i + 1}</span>
            <span class="cut">{name}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** What runs is called, and what the header says while it does. */
export const TASKS: Record<Task, readonly [what: string, doing: string]> = {
  measurement: ["measurement", "measuring"],
  trial: ["trial", "trying"],
  budget: ["compilation", "compiling"],
  target: ["compilation", "compiling"],
  saving: ["saving", "saving"],
  comparison: ["comparison", "comparing"],
  watch: ["instrumented run", "running instrumented"],
};

function endNote(progress: Progress): Note | null {
  const [what] = TASKS[progress.task ?? "target"];
  if (progress.error === STOPPED) {
    const text = `It had run for ${seconds(progress.elapsed_s)} when the kernel stopped.`;
    return { title: `The ${what} did not finish.`, text, tone: "plain" };
  }
  if (progress.status === "failed")
    return {
      title: `The ${what} failed.`,
      text: (progress.error ?? "No reason was given.").split("\n")[0] ?? "",
      tone: "break",
    };
  if (progress.status !== "cancelled") return null;
  const left = progress.task ? "the view is unchanged" : "the work so far is shown";
  const text = `It was stopped after ${seconds(progress.elapsed_s)}; ${left}.`;
  return { title: `The ${what} was cancelled.`, text, tone: "plain" };
}

function Ended({ progress }: { progress: Progress }) {
  const note = endNote(progress);
  if (!note) return null;
  const isLong = progress.error?.includes("\n");
  return (
    <Message note={note}>
      {isLong && (
        <Copy text={progress.error ?? ""} label="Copy traceback" title="Copy the whole error" />
      )}
    </Message>
  );
}

/** The end of a compilation that did not go well, above what there is of it. */
export function ProgressStrip({ host }: { host: Asking }) {
  const progress = host.progress.value;
  return (
    <>
      {progress.failed?.map(({ id, words }) => (
        <Message key={id} note={{ title: "The request failed.", text: words, tone: "break" }} />
      ))}
      <Ended progress={progress} />
    </>
  );
}

interface ShownStep {
  step: StepState;
  /** How many steps it lies inside of. */
  depth: number;
  isRunning: boolean;
}

/** A step that ended sooner is only counted. */
const SHORT_S = 0.05;
const MOST = 12;

/** The steps to list in their order, and how many short ones are left out. */
export function shownSteps(steps: readonly StepState[]): { shown: ShownStep[]; short: number } {
  const around: StepState[] = [];
  const all = [...steps].sort((a, b) => a.start_s - b.start_s);
  const nested = all.map((step) => {
    while (around.length && !holds(around[around.length - 1] as StepState, step)) around.pop();
    const depth = around.length;
    around.push(step);
    return { step, depth, isRunning: step.duration_s === null };
  });
  const long = nested.filter(({ step }) => step.duration_s === null || step.duration_s >= SHORT_S);
  const shown = long.length > MOST ? longest(long) : long;
  return { shown, short: nested.length - shown.length };
}

function holds(outer: StepState, inner: StepState): boolean {
  return outer.duration_s === null || outer.start_s + outer.duration_s > inner.start_s + 1e-6;
}

/** What runs, and the longest of what ended, in order. */
function longest(steps: ShownStep[]): ShownStep[] {
  const byTime = [...steps].sort(
    (a, b) =>
      (b.step.duration_s ?? Number.POSITIVE_INFINITY) -
      (a.step.duration_s ?? Number.POSITIVE_INFINITY),
  );
  const kept = new Set(byTime.slice(0, MOST));
  return steps.filter((step) => kept.has(step));
}
