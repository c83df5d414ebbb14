// @vitest-environment happy-dom
import { signal } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, expect, test, vi } from "vitest";
import { idle } from "../src/host";
import { PaneStates } from "../src/panestates";
import { Advice } from "../src/overview/advice";
import { axisOf, beyond, placeOn, savingWords } from "../src/overview/axis";
import type { Store } from "../src/store";
import type { Opportunity } from "../src/wire";

const CHANGE: Opportunity = {
  id: "o0",
  rule: "copied-matrix",
  text: "Leave .contiguous() out: it writes a copy.",
  saving: "Saves 1.05 MB, 1 kernel.",
  short: "1.05 MB",
  predicted_us: null,
  predicted_by: "not predicted",
  sure: "likely",
  sure_words: "Likely: it was counted.",
  source: "Counted: the bytes.",
  line_id: "L:s0:93",
  place: "model.py:93",
  change: {
    id: "o0",
    title: "Leave .contiguous() out",
    why: "It writes a copy.",
    lines: [
      ["-", "return x.t().contiguous() @ y"],
      ["+", "return x.t() @ y"],
    ],
    code: "return x.t() @ y",
    ask: "try",
    question: { opportunity: "o0" },
    why_not: null,
    outcome: null,
  },
  tried: null,
};

const part = vi.fn(async () => null);
const select = vi.fn();
const progress = signal(idle());
let store: Store;

beforeEach(() => {
  vi.clearAllMocks();
  const paneStates = new PaneStates();
  const view = {
    paneStates,
    pane: signal("overview"),
    host: { kind: "live", part, progress, lost: signal(null) },
    select,
  };
  store = { ...view, doc: signal({ variable: "fast" }) } as unknown as Store;
});

async function draw(change: Partial<Opportunity>, more = 0): Promise<void> {
  const rows = [{ ...CHANGE, ...change }];
  await act(() => render(null, document.body));
  await act(() =>
    render(<Advice store={store} advice={{ rows, more, none: "" }} />, document.body),
  );
}

async function click(words: string): Promise<void> {
  const buttons = [...document.querySelectorAll("button")];
  const found = buttons.find((button) => button.textContent?.includes(words));
  await act(() => found!.click());
}

test("a row has the saving and the line; opened, the change as a difference", async () => {
  await draw({}, 3);
  expect(document.body.textContent).toContain("3 more in the DataFrame");
  expect(document.querySelector(".item")!.textContent).toContain("1.05 MB");
  await click("line 93");
  expect(select).toHaveBeenCalledWith("L:s0:93");
  await click("Leave .contiguous() out");
  const lines = [...document.querySelectorAll("pre div")].map((line) => line.textContent);
  expect(lines).toEqual(["- return x.t().contiguous() @ y", "+ return x.t() @ y"]);
});

test("what can be tried is asked for, what cannot says why", async () => {
  await draw({});
  await click("Leave .contiguous() out");
  await click("Try it");
  expect(part).toHaveBeenCalledWith("try", { opportunity: "o0" });
  await draw({ change: { ...CHANGE.change, why_not: "The function is not in this process." } });
  await click("Try it");
  expect(part).toHaveBeenCalledTimes(1);
  expect(document.body.textContent).toContain("The function is not in this process.");
  await draw({ change: { ...CHANGE.change, ask: "", why_not: "Change the model's sizes." } });
  expect(document.body.textContent).toContain("Change the model's sizes.");
  expect(document.body.textContent).not.toContain("Try it");
});

test("what was measured stands beside what was predicted", async () => {
  const rows: [string, string, string][] = [["Kernels, counted", "3", "2"]];
  const checked = "Outputs agree (rtol 1.3e-06, atol 1e-05).";
  const tried = { rows, times: null, saved: "20 µs", agrees: true, checked, part: "tried:o0" };
  await draw({ tried });
  expect(document.querySelector(".item")!.textContent).toContain("20 µs");
  await click("Leave .contiguous() out");
  const cells = [...document.querySelectorAll("tr")].map((row) => row.textContent);
  expect(cells).toEqual(["Kernels, counted3→ 2", "Predicted1.05 MB, 1 kernel"]);
  expect(document.body.textContent).toContain(checked);
  await click("Compare");
  expect(part).toHaveBeenCalledWith("tried:o0");
});

test("without any there is one line, of a failure none", async () => {
  await act(() =>
    render(<Advice store={store} advice={{ rows: [], more: 0, none: "None." }} />, document.body),
  );
  expect(document.body.textContent).toBe("None.");
  await act(() =>
    render(<Advice store={store} advice={{ rows: [], more: 0, none: "" }} />, document.body),
  );
  expect(document.body.textContent).toBe("");
});

const RUNS = {
  runs_us: [10, 12],
  minimum_us: 10,
  median_us: 11,
  middle_us: [10, 12] as [number, number],
};

function timed(verdict: "faster" | "too noisy to say", saved: [number, number, number]) {
  const times = { before: RUNS, after: RUNS, saved_us: saved, faster: 20, slower: 0, disturbed: 1 };
  const told = { ...times, verdict, doubt: "", sentence: "" };
  return { rows: [], times: told, saved: "", agrees: true, checked: "", part: "tried:o0" };
}

test("a saving has a sign only where the pairs allow it", () => {
  const words = (change: Partial<Opportunity>) => savingWords({ ...CHANGE, ...change });
  expect(words({})).toEqual(["1.05 MB", "likely"]);
  expect(words({ predicted_us: [220, 370, 520], predicted_by: "predicted, CPU model" })).toEqual([
    "−370 µs ± 150 µs",
    "predicted, CPU model",
  ]);
  expect(words({ predicted_us: [0, 200, 400], predicted_by: "model" })[0]).toBe("up to −400 µs");
  expect(words({ tried: timed("faster", [710, 890, 1020]) })).toEqual([
    "−890 µs",
    "measured, 710 µs to 1.02 ms",
  ]);
  expect(words({ tried: timed("too noisy to say", [-240, 20, 110]) })).toEqual([
    "too noisy to say",
    "+240 µs to −110 µs",
  ]);
});

test("savings stand on one axis with no change as a line, runs before and after on one scale", async () => {
  const axis = axisOf([{ ...CHANGE, predicted_us: [100, 200, 300] }, CHANGE])!;
  expect(axis).toEqual({ least: 0, most: 300 });
  expect(placeOn(axis, 0)).toBeLessThan(placeOn(axis, 100));
  expect(axisOf([CHANGE])).toBeNull();
  await draw({ tried: timed("too noisy to say", [-240, 20, 110]) });
  expect(document.querySelector(".mark.noise")).not.toBeNull();
  expect(document.querySelectorAll(".runs.before line")).toHaveLength(3); // two runs on a line
  expect(document.querySelector(".pairs")!.textContent).toContain(
    "20 of 2 pairs faster, 1 disturbed",
  );
});

test("an interval of noise does not squash the axis: it ends in an arrow, its words are whole", async () => {
  const noise = { ...CHANGE, tried: timed("too noisy to say", [-9000, 20, 30_000]) };
  const axis = axisOf([{ ...CHANGE, predicted_us: [100, 200, 300] }, noise])!;
  expect(axis).toEqual({ least: 0, most: 300 });
  expect([beyond(axis, -9000), beyond(axis, 20), beyond(axis, 30_000)]).toEqual([
    "left",
    null,
    "right",
  ]);
  expect(placeOn(axis, 30_000)).toBe(placeOn(axis, 300));
  expect(savingWords(noise)[1]).toContain("to −30.0 ms");
  expect(axisOf([noise])).toEqual({ least: -9000, most: 30_000 }); // nothing else to draw it for
});
