// A page on disk or a saved output: the parts are those that were embedded.

import { hostSignals, idle, type Host } from "../host";
import type { Embedded } from "../wire";

const ASLEEP =
  "This needs the session that compiled it: run the cell again, or load the saved report.";

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
