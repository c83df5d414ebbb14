// A sweep in a notebook with its kernel: it changes as it runs; rows are opened by message.

import { signal, type Signal } from "@preact/signals";
import { hostSignals, idle, PartCache, type Host } from "../host";
import type { Answer, DiffDocument, Document as Report, SweepDocument } from "../wire";
import { Mail, unpack, type Model } from "./live";

export interface SweepHost {
  readonly kind: "live" | "saved" | "page";
  readonly document: Signal<SweepDocument | null>;
  /** The record of a row; a rejection is an `Error` with a sentence for the reader. */
  row(id: string): Promise<Host>;
  compare(a: string, b: string): Promise<DiffDocument>;
  cancel(): Promise<unknown>;
  close(): void;
}

export function liveSweep(model: Model): SweepHost {
  const document = signal<SweepDocument | null>(null);
  const mail = new Mail(model);
  let asked = 0;
  const receive = (answer: Answer, buffers: BufferSource[] = []) => {
    void mail.receive(answer, buffers);
  };
  const follow = async () => {
    asked += 1;
    const mine = asked;
    const shown = (await unpack(model.get("sweep") as DataView<ArrayBuffer>)) as SweepDocument;
    if (mine === asked) document.value = shown; // a later one may be there already
  };
  const changed = () => void follow();
  model.on("msg:custom", receive);
  model.on("change:sweep", changed);
  changed();
  const ask = <T>(row: string, part: string) => mail.ask("row", { row, part }) as Promise<T>;
  return {
    kind: "live",
    document,
    async row(id) {
      return rowHost(await ask<Report>(id, "document"), (part) => ask(id, part));
    },
    compare: (a, b) => mail.ask("compare-rows", { rows: [a, b] }) as Promise<DiffDocument>,
    cancel: () => mail.ask("cancel"),
    close() {
      model.off("msg:custom", receive);
      model.off("change:sweep", changed);
      mail.close();
    },
  };
}

/** What a view of one row's record asks: its parts, nothing that needs the function. */
function rowHost(report: Report, ask: (part: string) => Promise<unknown>): Host {
  const signals = hostSignals();
  const parts = new PartCache();
  signals.document.value = report;
  signals.progress.value = { ...idle(), status: "done" };
  return {
    kind: "live",
    ...signals,
    part: <T>(name: string) => parts.get(name, () => ask(name) as Promise<T>),
    cancel() {},
  };
}

const ASLEEP =
  "This needs the session that holds the records: run the cell again, or open the store with wb.Sweep.load.";

/** A page on disk or a saved output: the table and the charts, no records. */
export function pageSweep(shown: SweepDocument, kind: "page" | "saved"): SweepHost {
  const asleep = () => Promise.reject(new Error(ASLEEP));
  return {
    kind,
    document: signal<SweepDocument | null>(shown),
    row: asleep,
    compare: asleep,
    cancel: asleep,
    close() {},
  };
}
