// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import { Blocks } from "../src/blocks/blocks";
import { filled } from "../src/blocks/cards";
import { BlocksState, sectionsOf } from "../src/blocks/page";
import { pageHost } from "../src/host";
import { PANES } from "../src/panes";
import { Store } from "../src/store";
import type { Block, Embedded } from "../src/wire";
import sample from "./sample.json";

async function drawn(block: Block, store?: Store): Promise<HTMLElement> {
  const box = document.createElement("div");
  const view = store ?? new BlocksState({ title: "t", facts: "", blocks: [block] });
  const place = store ? { store, own: { chart: () => <i>drawn</i> } } : {};
  await act(() => render(<Blocks view={view} blocks={[block]} {...place} />, box));
  return box;
}

const sentence = (text: string): Block => ({ kind: "sentence", text, look: "plain" });
const width = "80px";
const EACH: [Block, string][] = [
  [sentence("It `fits`."), "It fits."],
  [{ kind: "sentence", text: "f(x)", look: "code" }, "f(x)"],
  [{ kind: "sentence", text: "Mind.", look: "note" }, "Mind."],
  [{ kind: "heading", title: "File", note: "a.aot", frame: "" }, "Filea.aot"],
  [{ kind: "items", title: "", texts: ["one", "two"], call: "" }, "onetwo"],
  [{ kind: "facts", title: "Memory", of: "", rows: [["Peak", "3 GB"]] }, "MemoryPeak3 GB"],
  [{ kind: "tree", title: "", rows: [[1, "norm", "2 µs"]] }, "norm2 µs"],
  [
    {
      kind: "table",
      table: {
        id: "t1",
        title: "Kernels",
        none: "",
        columns: [{ key: "bytes", title: "Bytes", width, kind: "number", unit: "B" }],
        rows: [],
        more: 2,
      },
      call: ".frame()",
      is_open: null,
    },
    "Kernels2 rows more in .frame()DataFrame",
  ],
  [
    {
      kind: "heat",
      title: "Times",
      caption: "best on top",
      corner: "k",
      columns: ["4"],
      rows: [{ label: "a", cells: [[0.5, "3 µs"]] }],
      is_open: true,
    },
    "Times best on topk4a3 µs",
  ],
  [{ kind: "code", title: "", facts: "", language: "python", text: "x = 1", call: "" }, "x = 1"],
  [
    { kind: "code", title: "a.py", facts: "", language: "python", text: null, call: ".source(0)" },
    "Too long for here: .source(0)",
  ],
  [{ kind: "changes", title: "k0", facts: "2", lines: ["-a", "+b"] }, "k0 2-a+b"],
  [{ kind: "beside", codes: [["first", "y = 2"]] }, "firsty = 2"],
  [
    { kind: "waterfall", title: "ours", steps: [["load", 0, 1]], total_s: 2, is_open: true },
    "load1.00 s",
  ],
  [
    {
      kind: "timeline",
      title: "Steps",
      call: "",
      first: 1,
      last: 9,
      scale: [[0.5, "1 ms"]],
      bars: [{ words: "step 1", marks: "✂", heights: [0.1, 0.2, 0] }],
    },
    "step 1 to 91 ms✂",
  ],
  [
    { kind: "section", title: "All", count: "3", is_open: true, blocks: [sentence("inner")] },
    "All 3inner",
  ],
  [{ kind: "columns", blocks: [sentence("left"), sentence("right")] }, "leftright"],
  [{ kind: "action", ask: "save", words: "Save", line: "f.save('a')" }, "f.save('a')Copy"],
];

test.each(EACH)("%o is drawn", async (block, words) => {
  expect((await drawn(block)).textContent).toContain(words);
});

test("a picture has the words in its place, and changed lines their colours", async () => {
  const chart = await drawn({ kind: "chart", alt: "a bar", address: "data:," });
  expect(chart.querySelector("img")?.alt).toBe("a bar");
  const changes = await drawn({ kind: "changes", title: "", facts: "", lines: ["-a", "+b", " c"] });
  expect([...changes.querySelectorAll("pre div")].map(({ className }) => className)).toEqual([
    "a",
    "b",
    "",
  ]);
});

const store = new Store(pageHost(sample as unknown as Embedded), PANES);

test("what a pane draws its own way stands among its blocks", async () => {
  expect((await drawn({ kind: "own", name: "chart" }, store)).textContent).toBe("drawn");
  expect((await drawn({ kind: "own", name: "gone" }, store)).textContent).toBe("");
});

test("a tab for each section, what stands in none comes first", () => {
  const section: Block = { kind: "section", title: "All", count: "3", is_open: false, blocks: [] };
  const found = sectionsOf([section, sentence("said")]);
  expect(found.map(({ title, count }) => [title, count])).toEqual([
    ["Answer", undefined],
    ["All", 3],
  ]);
  expect(sectionsOf([section])).toHaveLength(1);
});

test("a text takes the fields of its row; brackets go where one in them is missing", () => {
  const row = { kind: "race", number: 21, note: null, sizes: [] };
  expect(filled("{kind}[, line {number}]", row)).toBe("race, line 21");
  expect(filled("{kind}[: {note}]", row)).toBe("race");
  expect(filled("[{note}.]", row)).toBe("");
  expect(filled("[rows] {kind}", row)).toBe("[rows] race");
});
