// Where the bars of the flame chart go: one block of rows for each thread, width is time.

import { roundStep } from "../lists";
import type { Phase } from "../wire";

export interface Window {
  start: number;
  end: number;
}

export interface Bar {
  phase: Phase;
  /** Fractions of the width. */
  left: number;
  width: number;
  row: number;
}

export interface Flame {
  bars: Bar[];
  rows: number;
  /** Where each thread begins: its first row of bars; a caption stands above, if there are several. */
  threads: { name: string; row: number }[];
}

export function wholeOf(phases: readonly Phase[]): Window {
  if (!phases.length) return { start: 0, end: 1 };
  let start = Number.POSITIVE_INFINITY;
  let end = Number.NEGATIVE_INFINITY;
  for (const phase of phases) {
    start = Math.min(start, phase.start_s);
    end = Math.max(end, phase.start_s + phase.duration_s);
  }
  return { start, end: end > start ? end : start + 1e-6 };
}

/** Bars inside the window; those narrower than `least` of it are left to the table. */
export function flameOf(phases: readonly Phase[], window: Window, least: number): Flame {
  const span = window.end - window.start;
  const depths = new Map<string, number>();
  for (const phase of phases)
    depths.set(phase.thread, Math.max(depths.get(phase.thread) ?? 0, phase.depth + 1));
  const threads: { name: string; row: number }[] = [];
  const caption = depths.size > 1 ? 1 : 0;
  let rows = 0;
  for (const [name, depth] of depths) {
    rows += caption;
    threads.push({ name, row: rows });
    rows += depth;
  }
  const first = new Map(threads.map((thread) => [thread.name, thread.row]));
  const bars: Bar[] = [];
  for (const phase of phases) {
    const from = Math.max(phase.start_s, window.start);
    const to = Math.min(phase.start_s + phase.duration_s, window.end);
    const width = (to - from) / span;
    if (width < least) continue;
    const row = (first.get(phase.thread) ?? 0) + phase.depth;
    bars.push({ phase, left: (from - window.start) / span, width, row });
  }
  return { bars, rows, threads };
}

/** Seconds within a window that each kind has itself, without what runs inside, most first. */
export function sumsOf(
  phases: readonly Phase[],
  window: Window,
  kindOf: (phase: Phase) => string,
): [string, number][] {
  const within = ({ start_s, duration_s }: Phase) =>
    Math.max(0, Math.min(start_s + duration_s, window.end) - Math.max(start_s, window.start));
  const sums = new Map<string, number>();
  const add = (phase: Phase, seconds: number) =>
    sums.set(kindOf(phase), (sums.get(kindOf(phase)) ?? 0) + seconds);
  const open = new Map<string, Phase[]>(); // by thread the phases that are begun, outermost first
  const ordered = [...phases].sort((a, b) => a.start_s - b.start_s || a.depth - b.depth);
  for (const phase of ordered) {
    const above = open.get(phase.thread) ?? [];
    while (above.length && above.at(-1)!.depth >= phase.depth) above.pop();
    add(phase, within(phase));
    const caller = above.at(-1);
    if (caller) add(caller, -within(phase));
    open.set(phase.thread, [...above, phase]);
  }
  const seen = (window.end - window.start) * 1e-4;
  return [...sums].filter(([, sum]) => sum > seen).sort((a, b) => b[1] - a[1]);
}

/** Round times between 0 and `span`, at most `most` of them. */
export function ticksOf(span: number, most: number): number[] {
  const step = roundStep(span / Math.max(1, most));
  const ticks: number[] = [];
  for (let at = 0; at <= span * 0.97; at += step) ticks.push(at);
  return ticks;
}

/** The bar that an arrow key leads to: left and right on one row, up and down between rows. */
export function nextBar(bars: readonly Bar[], current: Bar, key: string): Bar | null {
  const middle = current.left + current.width / 2;
  const row = current.row + (key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0);
  const there = bars.filter((bar) => bar.row === row && bar !== current);
  const side = (bar: Bar) => bar.left + bar.width / 2 - middle;
  const fits = there.filter((bar) => {
    if (key === "ArrowRight") return side(bar) > 0;
    if (key === "ArrowLeft") return side(bar) < 0;
    return true;
  });
  fits.sort((a, b) => Math.abs(side(a)) - Math.abs(side(b)));
  return fits[0] ?? null;
}

/** The index of the colour of each word for phases; torch has several names for one of them. */
export function coloursOf(phases: readonly Phase[]): ReadonlyMap<string, number> {
  const colours = new Map<string, number>();
  for (const { words, name } of phases) if (!colours.has(words)) colours.set(words, colourOf(name));
  return colours;
}

/** The index of the colour of a part of the compiler, by torch's name of its phase. */
function colourOf(name: string): number {
  const kinds: [RegExp, number][] = [
    [/triton|cubin|ptxas|precompile|async_compile|compile_worker|c\+\+|cpp|load_by_key/i, 4],
    [/codegen|code generation|compile_to_module|compile module/i, 6],
    [/schedul|fusion/i, 3],
    [/aot|joint|partition|dispatch/i, 5],
    [/inductor|lowering|post.?grad|compile_fx|graphlowering/i, 1],
    [/^collective$/, 5],
    [/dynamo|bytecode|guard|variable_builder|fake/i, 0],
  ];
  return kinds.find(([form]) => form.test(name))?.[1] ?? 2;
}

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
