// The phases as a trace that Perfetto and chrome://tracing open.

import type { Phase } from "../wire";
import { wholeOf } from "./flame";

export function traceOf(phases: readonly Phase[], process: string): string {
  const { start } = wholeOf(phases);
  const threads = [...new Set(phases.map((phase) => phase.thread))];
  const names = threads.map((name, i) => ({
    name: "thread_name",
    ph: "M",
    pid: 1,
    tid: i + 1,
    args: { name },
  }));
  const events = phases.map((phase) => ({
    name: phase.name,
    cat: "compile",
    ph: "X",
    ts: Math.round((phase.start_s - start) * 1e9) / 1e3,
    dur: Math.round(phase.duration_s * 1e9) / 1e3,
    pid: 1,
    tid: threads.indexOf(phase.thread) + 1,
    args: { self_s: phase.self_s },
  }));
  const title = { name: "process_name", ph: "M", pid: 1, args: { name: process } };
  return JSON.stringify({ displayTimeUnit: "ms", traceEvents: [title, ...names, ...events] });
}
