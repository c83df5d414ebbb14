import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { idle } from "../src/host";
import { liveHost, type Model } from "../src/live";
import type { Ask } from "../src/wire";

/** A model that keeps what was asked and lets the test answer. */
class Kernel implements Model {
  readonly asked: Ask[] = [];
  private readonly calls = new Map<string, ((...args: unknown[]) => void)[]>();

  get(name: string): unknown {
    return name === "progress" ? idle() : null;
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
