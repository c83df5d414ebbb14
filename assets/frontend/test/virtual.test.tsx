// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { signal } from "@preact/signals";
import { beforeEach, expect, test, vi } from "vitest";
import { PaneStates } from "../src/panestates";
import { Table, type Column } from "../src/table/table";

const COLUMNS: Column<number>[] = [
  { key: "id", title: "Id", width: "1fr", value: (row) => `n${row}` },
];
const KEPT = { paneStates: new PaneStates(), pane: signal("numbers") };
const ROWS = Array.from({ length: 10_000 }, (_, n) => n);

beforeEach(() => {
  // The page has no layout here: the list is given a window of ten rows and its head.
  vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockReturnValue(266);
  vi.spyOn(HTMLElement.prototype, "offsetWidth", "get").mockReturnValue(800);
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(266);
  vi.spyOn(HTMLElement.prototype, "scrollHeight", "get").mockReturnValue(240_026);
});

async function drawn(): Promise<{ box: HTMLElement; selected: (id: string) => Promise<void> }> {
  const store = { selected: signal<string | null>(null), related: signal(new Set<string>()) };
  const table = (
    <Table
      store={{ ...store, ...KEPT, select: (id) => (store.selected.value = id) }}
      label="Numbers"
      columns={COLUMNS}
      rows={ROWS}
      id={(row) => `n${row}`}
    />
  );
  await act(() => render(null, document.body));
  await act(() => render(table, document.body));
  const box = document.querySelector<HTMLElement>("[role=grid]")!;
  return { box, selected: (id) => act(() => void (store.selected.value = id)) };
}

function shown(box: HTMLElement): string[] {
  return [...box.querySelectorAll(".tbody [role=row]")].map((row) => row.textContent ?? "");
}

test("of 10,000 rows those in sight and a few more are in the page", async () => {
  const { box } = await drawn();
  const rows = shown(box);
  expect(rows[0]).toBe("n0");
  expect(rows.length).toBeGreaterThan(11);
  expect(rows.length).toBeLessThan(40);
  expect(box.querySelector<HTMLElement>(".tbody")!.style.height).toBe("240000px");
});

test("a row that is selected out of sight comes to a third of the height", async () => {
  const { box, selected } = await drawn();
  await selected("n5000");
  expect(box.scrollTop).toBe(5000 * 24 - 240 / 3);
});

test("a row in sight stays where it is", async () => {
  const { box, selected } = await drawn();
  await selected("n9");
  expect(box.scrollTop).toBe(0);
});

test("arrow keys walk the rows", async () => {
  const { box } = await drawn();
  const press = (key: string) =>
    act(() => void box.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })));
  await press("End");
  expect(box.scrollTop).toBeGreaterThan(9980 * 24);
  await press("ArrowUp");
  expect(box.getAttribute("aria-activedescendant")).toMatch(/9998$/);
});
