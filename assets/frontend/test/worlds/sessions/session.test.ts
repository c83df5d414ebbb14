import { signal } from "@preact/signals";
import { expect, test } from "vitest";
import { idle } from "../../../src/host";
import type { RecordsHost } from "../../../src/opened/host";
import { ADVICE, barAt, idOf, SessionState } from "../../../src/worlds/sessions/state";
import type { TableRows } from "../../../src/wire";
import type { SessionBar, SessionDocument } from "../../../src/worlds/sessions/wire";

function bar(first: number, marks: string, rows: string[]): SessionBar {
  return { first, last: first, heights: [0, 0.5, 0.1], marks, words: "", why: "", rows };
}

const BARS = [
  bar(0, "✂", ["compiles:0", "breaks:0"]),
  bar(1, "", []),
  bar(2, "↻", ["compiles:1", "recompiles:0"]),
];

function table(id: string, rows: TableRows["rows"]): TableRows {
  return { id, title: id, none: "", columns: [], rows, more: 0 };
}

const COMPILES = [
  { row: "compiles:0", id: "0/0", function: "f" },
  { row: "compiles:1", id: "0/1", function: "f" },
];

const SHOWN: SessionDocument = {
  version: 1,
  variable: "run",
  status: "done",
  title: "",
  facts: "",
  notes: [],
  advice: [],
  changes: [],
  slow: [],
  bars: BARS,
  scale: [],
  tables: [
    table("compiles", COMPILES),
    table("recompiles", [{ row: "recompiles:0", compile_id: "0/1" }]),
  ],
  can_open: ["compiles:1"],
};

function stateOf(kind: "live" | "saved"): [SessionState, string[]] {
  const asked: string[] = [];
  const host: RecordsHost<SessionDocument> = {
    kind,
    lost: signal(null),
    progress: signal(idle()),
    document: signal<SessionDocument | null>(SHOWN),
    row(id) {
      asked.push(id);
      return Promise.reject(new Error("There is none."));
    },
    part: () => Promise.reject(new Error("It is not asked.")),
    cancel() {},
    close() {},
  };
  return [new SessionState(host), asked];
}

test("a session that has ended opens with what to change, until another table is chosen", () => {
  const [state] = stateOf("live");
  expect(state.pane.value).toBe("compiles"); // it has no advice
  const host = { ...state.host, document: signal({ ...SHOWN, advice: ["Do."], status: "done" }) };
  const done = new SessionState(host as unknown as RecordsHost<SessionDocument>);
  expect(done.pane.value).toBe(ADVICE);
  host.document.value = { ...host.document.value, status: "running" };
  expect(done.pane.value).toBe("compiles");
  const [compiles, again] = SHOWN.tables.map((table) => ({ ...table, rows: [...table.rows] }));
  compiles!.rows = []; // all that ran was compiled before
  host.document.value = { ...host.document.value, advice: [], tables: [compiles!, again!] };
  expect(done.pane.value).toBe("recompiles");
  host.document.value = { ...host.document.value, advice: ["Do."] };
  done.show("recompiles");
  host.document.value = { ...host.document.value, status: "done" };
  expect(done.pane.value).toBe("recompiles");
});

test("keys lead through the steps, and to those in which something happened", () => {
  expect(barAt(BARS, undefined, "ArrowRight")).toBe(BARS[0]);
  expect(barAt(BARS, BARS[0], "ArrowRight")).toBe(BARS[1]);
  expect(barAt(BARS, BARS[0], "ArrowLeft")).toBe(BARS[0]);
  expect(barAt(BARS, BARS[0], "n")).toBe(BARS[2]);
  expect(barAt(BARS, BARS[2], "n")).toBe(undefined);
  expect(barAt(BARS, BARS[2], "p")).toBe(BARS[0]);
  expect(barAt(BARS, BARS[0], "End")).toBe(BARS[2]);
});

test("a bar marks its rows, a row its bar", () => {
  const [state] = stateOf("live");
  state.select(idOf(BARS[2]!));
  expect([...state.related.value]).toEqual(["compiles:1", "recompiles:0"]);
  state.select("breaks:0");
  expect(state.bar.value).toBe(BARS[0]);
  expect(state.related.value.size).toBe(0);
});

test("a compile opens from its row, from what is about it and from its bar", async () => {
  const [state, asked] = stateOf("live");
  await state.open(COMPILES[1]!);
  expect(state.opening.opened.value?.title).toBe("0/1 f");
  state.opening.back();
  await state.open(SHOWN.tables[1]!.rows[0]!);
  await state.openBar(BARS[2]!);
  expect(asked).toEqual(["compiles:1", "compiles:1", "compiles:1"]);
});

test("what has no report, and what is read without a kernel, is selected only", async () => {
  const [state, asked] = stateOf("live");
  await state.open(COMPILES[0]!);
  expect(state.selected.value).toBe("compiles:0");
  const [saved] = stateOf("saved");
  await saved.open(COMPILES[1]!);
  expect(saved.opening.opened.value).toBe(null);
  expect(asked).toEqual([]);
});
