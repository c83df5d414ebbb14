import { gzipSync } from "node:zlib";
import { expect, test, vi } from "vitest";
import { hostSignals, idle, isAwake, whyNot } from "../src/host";
import { AWAY, SILENT, SILENT_MS, STOPPED, UNSEEN } from "../src/kernel";
import { liveHost } from "../src/live";
import type { Model } from "../src/model";
import type { Ask, Progress } from "../src/wire";

/** A model that keeps what was asked and lets the test answer. */
class Kernel implements Model {
  readonly asked: Ask[] = [];
  readonly widget_manager: unknown;
  isLive = true;
  private readonly calls = new Map<string, ((...args: unknown[]) => void)[]>();

  /** `signals` are what a manager of widgets has of its kernel. */
  constructor(
    signals: object | null = null,
    private readonly progress: Progress = idle(),
  ) {
    this.widget_manager = {
      kernel: signals,
      get_model: (id: string) => Promise.resolve({ comm_live: id === "front" && this.isLive }),
    };
  }
  get(name: string): unknown {
    return { progress: this.progress, front_end: "IPY_MODEL_front" }[name] ?? null;
  }
  set(): void {}
  save_changes(): void {}
  send(content: unknown): void {
    this.asked.push(content as Ask);
  }
  on(event: string, call: (...args: never[]) => void): void {
    this.calls.set(event, [...(this.calls.get(event) ?? []), call as () => void]);
  }
  off(event: string, call: (...args: never[]) => void): void {
    this.calls.set(
      event,
      (this.calls.get(event) ?? []).filter((each) => each !== call),
    );
  }
  tell(event: string, ...args: unknown[]): void {
    for (const call of this.calls.get(event) ?? []) call(...args);
  }
  answer(ask: Ask, value: unknown, error: string | null = null): void {
    const buffers = error === null ? [new Uint8Array(gzipSync(JSON.stringify(value)))] : [];
    this.tell("msg:custom", { id: ask.id, ask: ask.ask, error }, buffers);
  }
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 20));

test("the document is asked for at once and again when it changed", async () => {
  const kernel = new Kernel();
  const host = liveHost(kernel);
  expect(kernel.asked.map((ask) => ask.ask)).toEqual(["document"]);
  kernel.answer(kernel.asked[0]!, { name: "f(x)" });
  await expect.poll(() => host.document.value?.name).toBe("f(x)");
  kernel.tell("change:revision");
  expect(kernel.asked.map((ask) => ask.ask)).toEqual(["document", "document"]);
});

test("a part is asked for once, an answer goes to who asked, an error is a sentence", async () => {
  const kernel = new Kernel();
  const host = liveHost(kernel);
  const first = host.part("code:k0");
  const second = host.part("code:k0");
  const other = host.part("code:k1");
  expect(kernel.asked.map((ask) => ask.ask)).toEqual(["document", "code:k0", "code:k1"]);
  const refused = expect(other).rejects.toThrow("There is no kernel k1.");
  kernel.answer(kernel.asked[2]!, null, "There is no kernel k1.");
  kernel.answer(kernel.asked[1]!, { id: "k0" });
  expect(await first).toEqual({ id: "k0" });
  expect(await second).toEqual({ id: "k0" });
  await refused;
});

test("a question is asked every time", () => {
  const kernel = new Kernel();
  const host = liveHost(kernel);
  void host.part("guard-check", { inputs: [] });
  void host.part("guard-check", { inputs: [] });
  expect(kernel.asked.filter((ask) => ask.ask === "guard-check")).toHaveLength(2);
});

test("answers to another view of the same model are left alone", async () => {
  const kernel = new Kernel();
  const host = liveHost(kernel);
  kernel.answer({ id: -1, ask: "document" }, { name: "other" });
  await turn();
  expect(host.document.value).toBeNull();
});

test("crejection refuses what is still open and hears nothing more", async () => {
  const kernel = new Kernel();
  const host = liveHost(kernel);
  const waiting = host.part("code:k0");
  host.close();
  await expect(waiting).rejects.toThrow("The view was closed.");
  kernel.tell("change:revision");
  expect(kernel.asked).toHaveLength(2);
});

/** What JupyterLab's kernel tells of itself. */
class Signal<Word> {
  private readonly hear = new Set<(from: unknown, word: Word) => void>();

  connect(hear: (from: unknown, word: Word) => void): void {
    this.hear.add(hear);
  }
  disconnect(hear: (from: unknown, word: Word) => void): void {
    this.hear.delete(hear);
  }
  emit(word: Word): void {
    for (const hear of this.hear) hear(null, word);
  }
  get count(): number {
    return this.hear.size;
  }
}

test("a cut comm refuses what is asked, ends what runs and says why", async () => {
  const running: Progress = { ...idle(), status: "running", task: "trial" };
  const kernel = new Kernel(null, running);
  const host = liveHost(kernel);
  const waiting = host.part("code:k0");
  kernel.tell("comm_live_update"); // told of a new comm, too
  await turn();
  expect(host.lost.value).toBeNull();
  kernel.isLive = false;
  kernel.tell("comm_live_update");
  await expect(waiting).rejects.toThrow(STOPPED);
  await expect(host.part("code:k1")).rejects.toThrow(UNSEEN);
  expect(kernel.asked.map((ask) => ask.ask)).toEqual(["document", "code:k0"]);
  expect(host.progress.value).toMatchObject({ status: "failed", error: STOPPED });
  expect([whyNot(host, null), isAwake(host)]).toEqual([STOPPED, false]);
});

test.each(["restarting", "autorestarting", "terminating", "dead"])(
  "a kernel that is %s has stopped",
  (word) => {
    const statusChanged = new Signal<string>();
    const host = liveHost(new Kernel({ statusChanged }));
    statusChanged.emit("busy");
    expect(host.lost.value).toBeNull();
    statusChanged.emit(word);
    expect(host.lost.value).toBe(STOPPED);
    host.close();
    expect(statusChanged.count).toBe(0);
  },
);

test("a kernel that is shut down has stopped; one that is far away comes back", () => {
  vi.useFakeTimers();
  const [disposed, connectionStatusChanged] = [new Signal<void>(), new Signal<string>()];
  const host = liveHost(new Kernel({ disposed, connectionStatusChanged }));
  connectionStatusChanged.emit("connecting");
  expect(host.lost.value).toBeNull(); // as at each restart
  vi.advanceTimersByTime(5000);
  expect(host.lost.value).toBe(AWAY);
  connectionStatusChanged.emit("connected");
  expect(host.lost.value).toBeNull();
  disposed.emit();
  connectionStatusChanged.emit("connected");
  expect(host.lost.value).toBe(STOPPED);
  vi.useRealTimers();
});

test("what was asked for already is not asked for again, anything else queued", () => {
  const signals = { ...hostSignals(), kind: "live" as const };
  const host = { ...signals, part: () => Promise.reject(new Error()), cancel() {} };
  const job = { id: 1, ask: "profile", question: null, words: "Measuring f", is_made: false };
  const tried = { ...job, id: 2, ask: "try", question: { opportunity: "o1" } };
  host.progress.value = { ...idle(), status: "running", jobs: [job, tried] };
  const whyOf = (ask: string, opportunity: string) =>
    whyNot(host, null, { ask, question: { opportunity } });
  expect(whyOf("profile", "")).toBe("This runs now.");
  expect(whyOf("try", "o1")).toMatch("queued");
  expect([whyOf("try", "o2"), whyNot(host, null)]).toEqual([null, null]);
  host.progress.value = { ...idle(), status: "running" }; // of the cell itself
  expect(whyOf("try", "o2")).toBe("Something is still running.");
});

test("where nothing tells of the kernel, silence is said, and taken back at its next word", async () => {
  vi.useFakeTimers();
  try {
    const kernel = new Kernel(); // as in marimo: a manager of models that knows no kernel
    const host = liveHost(kernel);
    vi.advanceTimersByTime(SILENT_MS + 1);
    expect(host.lost.value).toBe(SILENT);
    kernel.tell("change:progress");
    expect(host.lost.value).toBeNull();
    vi.advanceTimersByTime(SILENT_MS + 1); // the document has still not come
    expect(host.lost.value).toBe(SILENT);
    host.close();
    const watched = liveHost(new Kernel({}));
    vi.advanceTimersByTime(SILENT_MS + 1); // a long cell runs: the frontend tells of its end
    expect(watched.lost.value).toBeNull();
    watched.close();
  } finally {
    vi.useRealTimers();
  }
});
