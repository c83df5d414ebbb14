// @vitest-environment happy-dom
import { signal, type Signal } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, expect, test, vi } from "vitest";
import { PaneStates } from "../src/panestates";
import { Table, type Column } from "../src/table/table";
import { usePaneState, useReveal } from "../src/ui/kept";

interface View {
  paneStates: PaneStates;
  pane: Signal<string>;
}

let view: View;

beforeEach(() => {
  view = { paneStates: new PaneStates(), pane: signal("first") };
  vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockReturnValue(266);
  vi.spyOn(HTMLElement.prototype, "offsetWidth", "get").mockReturnValue(800);
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(266);
  vi.spyOn(HTMLElement.prototype, "scrollHeight", "get").mockReturnValue(98);
});

function Filter({ name = "words" }: { name?: string }) {
  const [words, setWords] = usePaneState(view, name, () => "all");
  return <input value={words} onInput={(event) => setWords(event.currentTarget.value)} />;
}

async function typed(text: string): Promise<void> {
  const field = document.querySelector("input")!;
  field.value = text;
  await act(() => void field.dispatchEvent(new Event("input", { bubbles: true })));
}

async function draw(node: preact.ComponentChildren): Promise<void> {
  await act(() => render(null, document.body));
  await act(() => render(node, document.body));
}

test("what was typed is there again when the pane is drawn anew", async () => {
  await draw(<Filter />);
  expect(document.querySelector("input")!.value).toBe("all");
  await typed("weight");
  await draw(<Filter />);
  expect(document.querySelector("input")!.value).toBe("weight");
});

test("another pane and another key begin with their own", async () => {
  await draw(<Filter />);
  await typed("weight");
  await draw(<Filter name="reason" />);
  expect(document.querySelector("input")!.value).toBe("all");
  view.pane.value = "second";
  await draw(<Filter />);
  expect(document.querySelector("input")!.value).toBe("all");
});

function Shown({ selected, reveal }: { selected: string | null; reveal(): void }) {
  useReveal(view, "rows", selected, [selected], reveal);
  return null;
}

test("the selection is revealed when it is new, not when the pane comes back with it", async () => {
  const reveal = vi.fn();
  await draw(<Shown selected="k0" reveal={reveal} />);
  expect(reveal).toHaveBeenCalledTimes(1);
  await draw(<Shown selected="k0" reveal={reveal} />);
  expect(reveal).toHaveBeenCalledTimes(1);
  await act(() => render(<Shown selected="k1" reveal={reveal} />, document.body));
  expect(reveal).toHaveBeenCalledTimes(2);
  await draw(<Shown selected="k2" reveal={reveal} />);
  expect(reveal).toHaveBeenCalledTimes(3);
});

const COLUMNS: Column<number>[] = [
  { key: "id", title: "Id", width: "1fr", value: (row) => row, number: true },
];

test("a table is in the order in which it was left", async () => {
  const store = {
    ...view,
    selected: signal<string | null>(null),
    related: signal(new Set<string>()),
    select: () => {},
  };
  const table = (
    <Table store={store} label="Rows" columns={COLUMNS} rows={[1, 3, 2]} id={(row) => `n${row}`} />
  );
  const order = () =>
    [...document.querySelectorAll(".tbody [role=row]")].map((row) => row.textContent);
  await draw(table);
  expect(order()).toEqual(["1", "3", "2"]);
  await act(() => document.querySelector<HTMLElement>(".thead button")!.click());
  expect(order()).toEqual(["3", "2", "1"]);
  await draw(table);
  expect(order()).toEqual(["3", "2", "1"]);
});
