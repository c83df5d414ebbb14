// A view of many records in a notebook with its kernel: it changes as they come, each is opened by
// message. On a page and in a saved output it is only read.

import { signal, type Signal } from "@preact/signals";
import { type Host, hostSignals, idle, pageHost, PartCache, type Question } from "../host";
import { Mail, unpack } from "../live";
import type { Model } from "../model";
import type { Answer, Document as Report, Embedded, Progress } from "../wire";

export interface RecordsHost<Shown> {
  readonly kind: "live" | "saved" | "page";
  readonly document: Signal<Shown | null>;
  /** Why the kernel answers no more, or null. */
  readonly lost: Signal<string | null>;
  readonly progress: Signal<Progress>;
  /** The record of a row; a rejection is an `Error` with a sentence for the reader. */
  row(id: string): Promise<Host>;
  part<T>(name: string, question?: Question): Promise<T>;
  /** Ends what runs, or one of several jobs. */
  cancel(job?: number): void;
  close(): void;
}

/** What a model shows in one of its traits, as gzip of JSON. */
export function liveRecords<Shown>(model: Model, trait: string): RecordsHost<Shown> {
  const document = signal<Shown | null>(null);
  const lost = signal<string | null>(null);
  const progress = signal<Progress>(idle());
  const mail = new Mail(model, lost);
  let asked = 0;
  const receive = (answer: Answer, buffers: BufferSource[] = []) => {
    void mail.receive(answer, buffers);
  };
  const follow = async () => {
    asked += 1;
    const mine = asked;
    const shown = (await unpack(model.get(trait) as DataView<ArrayBuffer>)) as Shown;
    if (mine === asked) document.value = shown; // a later one may be there already
  };
  const changed = () => void follow();
  const hear = () => (progress.value = (model.get("progress") as Progress | undefined) ?? idle());
  model.on("msg:custom", receive);
  model.on(`change:${trait}`, changed);
  model.on("change:progress", hear);
  changed();
  hear();
  const ask = <T>(name: string, question?: Question) => mail.ask(name, question) as Promise<T>;
  return {
    kind: "live",
    document,
    lost,
    progress,
    part: ask,
    cancel: (job) => void ask("cancel", job === undefined ? undefined : { job }).catch(() => {}),
    async row(row) {
      const part = <T>(name: string) => ask<T>("row", { row, part: name });
      return rowHost(await part<Report>("document"), part, lost);
    },
    close() {
      model.off("msg:custom", receive);
      model.off(`change:${trait}`, changed);
      model.off("change:progress", hear);
      mail.close();
    },
  };
}

/** What a view of one row's record asks: its parts, nothing that needs the function. */
function rowHost(
  report: Report,
  ask: (part: string) => Promise<unknown>,
  lost: Signal<string | null>,
): Host {
  const signals = hostSignals();
  const parts = new PartCache();
  signals.document.value = report;
  signals.progress.value = { ...idle(), status: "done" };
  return {
    kind: "live",
    ...signals,
    lost,
    part: <T>(name: string) => parts.get(name, () => ask(name) as Promise<T>),
    cancel() {},
  };
}

/** What was embedded, and of its records those that were, too. */
export function readRecords<Shown>(
  shown: Shown,
  kind: "page" | "saved",
  records: Record<string, Embedded> = {},
): RecordsHost<Shown> {
  const refuse = () =>
    Promise.reject(new Error("The reports are on the machine that recorded them."));
  const document = signal<Shown | null>(shown);
  return {
    kind,
    document,
    lost: signal(null),
    progress: signal(idle()),
    row: (id) => (records[id] ? Promise.resolve(pageHost(records[id], kind)) : refuse()),
    part: refuse,
    cancel() {},
    close() {},
  };
}
