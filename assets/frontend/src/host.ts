// What a view asks of the place that it is shown in, whether a kernel answers there or not.

import { signal, type Signal } from "@preact/signals";
import type { Ask, Embedded, Job, Progress, Document as Report } from "./wire";

export type Question = NonNullable<Ask["question"]>;

export interface Host {
  /** "live": a kernel answers; "saved": a notebook's output without one; "page": report.html. */
  readonly kind: "live" | "saved" | "page";
  readonly document: Signal<Report | null>;
  /** Why there is no document, as a sentence. */
  readonly failure: Signal<string | null>;
  readonly progress: Signal<Progress>;
  /** Why the kernel answers no more, or null; a page never had one. */
  readonly lost: Signal<string | null>;
  /**
   * The part of this name. Answers without a question are kept; a rejection is an `Error` whose
   * message is a sentence for the reader.
   */
  part<T>(name: string, question?: Question): Promise<T>;
  /** Ends what runs, or one of several jobs. */
  cancel(job?: number): void;
}

/** What asks a kernel for work that takes a while. */
export type Asking = Pick<Host, "progress" | "lost" | "cancel">;

/** Whether a kernel answers what is asked. */
export function isAwake({ kind, lost }: Pick<Host, "kind" | "lost">): boolean {
  return kind === "live" && lost.value === null;
}

/** What would be asked for, to know it again among what was. */
export interface Wanted {
  readonly ask: string;
  readonly question?: Question;
}

/** Why nothing can be started at this moment, or null; `reason` is why it never can. */
export function whyNot(host: Asking, reason: string | null, wanted?: Wanted): string | null {
  if (host.lost.value !== null) return host.lost.value;
  if (reason !== null) return reason.replaceAll("`", "");
  const { status, jobs } = host.progress.value;
  if (status !== "running") return null;
  if (!jobs) return "Something is still running.";
  const at = wanted ? jobs.findIndex((job) => isSame(job, wanted)) : -1;
  if (at < 0) return null; // it waits for its turn
  return at === 0 ? "This runs now." : "This is queued: see the strip under the tabs.";
}

function isSame(job: Job, { ask, question }: Wanted): boolean {
  if (job.ask !== ask) return false;
  return job.question === null || JSON.stringify(job.question) === JSON.stringify(question);
}

export function idle(): Progress {
  return {
    status: "idle",
    title: "",
    elapsed_s: 0,
    steps: [],
    kernels: [],
    can_cancel: false,
    error: null,
  };
}

/** Keeps the answers that do not depend on a question, so that each part is asked for once. */
export class PartCache {
  private readonly kept = new Map<string, Promise<unknown>>();

  get<T>(name: string, ask: () => Promise<T>): Promise<T> {
    const known = this.kept.get(name);
    if (known) return known as Promise<T>;
    const answer = ask();
    this.kept.set(name, answer);
    answer.catch(() => this.kept.delete(name)); // what failed may be asked for again
    return answer;
  }

  clear(): void {
    this.kept.clear();
  }
}

export function hostSignals(): Pick<Host, "document" | "failure" | "progress" | "lost"> {
  return {
    document: signal<Report | null>(null),
    failure: signal<string | null>(null),
    progress: signal<Progress>(idle()),
    lost: signal<string | null>(null),
  };
}

/** Why a saved view can do nothing. */
export const ASLEEP =
  "This needs the process that compiled the code: run the cell again, or load the saved report.";

export function pageHost(embedded: Embedded, kind: "page" | "saved" = "page"): Host {
  const signals = hostSignals();
  signals.document.value = embedded.document;
  signals.progress.value = { ...idle(), status: "done" };
  return {
    kind,
    ...signals,
    part<T>(name: string): Promise<T> {
      const part = embedded.parts[name];
      if (part) return Promise.resolve(part as T);
      return Promise.reject(new Error(embedded.left_out[name] ?? ASLEEP));
    },
    cancel() {},
  };
}
