// @vitest-environment happy-dom
import { signal } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Sandbox } from "../src/breaks/sandbox";
import { PaneStates } from "../src/panestates";
import type { Store } from "../src/store";
import { Table } from "../src/table/table";

const X = { path: "L['x']", shape: [4], stride: [1], dtype: "float32", device: "cpu" };
const sandbox = () => ({ inputs: [X], dtypes: ["float32"], why_not: null });
const part = vi.fn();
const host = { part, lost: signal(null) };
const view = { paneStates: new PaneStates(), pane: signal("breaks"), selected: signal(null) };
const store = { ...view, related: signal(new Set()), host } as unknown as Store;

beforeEach(() => {
  vi.useFakeTimers();
  part.mockReset();
});
afterEach(() => vi.useRealTimers());

async function draw(described: ReturnType<typeof sandbox>): Promise<void> {
  await act(() => render(<Sandbox store={store} sandbox={described} />, document.body));
  await act(async () => void (await vi.advanceTimersByTimeAsync(300)));
}

test("guards of a compilation that takes the place of another are asked anew", async () => {
  part.mockResolvedValue({ ok: true, failed: null, guard: null, checked: 12 });
  await draw(sandbox());
  expect(document.body.textContent).toContain("All 12 guards pass");
  part.mockResolvedValue({ ok: true, failed: null, guard: null, checked: 9 });
  await draw(sandbox());
  expect(document.body.textContent).toContain("All 9 guards pass");
});

test("a table without rows has no head, but says why", async () => {
  const columns = [{ key: "a", title: "Guard", width: "80px", value: () => 1 }];
  const given = { store, label: "Guards", columns, none: "No guards." };
  await act(() => render(<Table {...given} rows={[]} />, document.body));
  expect(document.body.textContent).toBe("No guards.");
  expect(document.querySelector("[role=grid], .thead")).toBe(null);
  await act(() => render(<Table {...given} rows={[{ id: "q0" }]} />, document.body));
  expect(document.querySelector("[role=columnheader]")!.textContent).toBe("Guard");
});
