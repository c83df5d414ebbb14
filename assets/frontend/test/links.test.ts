import { expect, test } from "vitest";
import { PANES } from "../src/panes";
import { chainOf } from "../src/shell/statusbar";
import { Links } from "../src/links";
import type { Store } from "../src/store";
import type { CodePart, Embedded, GraphPart, PairsPart, Document as Report } from "../src/wire";
import sample from "./sample.json";

const embedded = sample as unknown as Embedded;
const report: Report = embedded.document;

function taught(): Links<Store> {
  const links = new Links(report, PANES);
  links.learn(embedded.parts["graph:g1"] as GraphPart);
  links.learn(embedded.parts["code:k9"] as CodePart);
  return links;
}

test("a line leads to the kernels it ends in before any part was loaded", () => {
  const related = new Links(report, PANES).related("L:s0:37");
  expect([...related].filter((id) => id.startsWith("k")).sort()).toEqual(["k8", "k9"]);
});

test("once its graph is here, a line leads to its nodes and a node back to its line", () => {
  const links = taught();
  expect(links.related("L:s0:37")).toContain("g1:topk");
  expect(links.related("g1:topk")).toContain("L:s0:37");
  expect(links.related("g1:topk")).toContain("k8");
});

test("a line of a kernel leads to its node, the node's line and its kernel, and back", () => {
  const links = taught();
  const code = embedded.parts["code:k9"] as CodePart;
  const number = code.nodes.findIndex((nodes) => nodes.includes("g1:where")) + 1;
  const related = links.related(`K:k9:${number}`);
  expect(related).toContain("g1:where");
  expect(related).toContain("L:s0:37");
  expect(related).toContain("k9");
  expect(links.related("g1:where")).toContain(`K:k9:${number}`);
});

test("a rejected pair leads to both kernels", () => {
  const part = embedded.parts["pairs:"] as PairsPart;
  const pair = part.rows[0]!;
  const links = taught();
  links.learn(part);
  const related = links.related(pair.id);
  expect(related).toContain(pair.a_kernel);
  expect(related).toContain(pair.b_kernel);
});

test("a break leads to its line and the line to the break", () => {
  const links = new Links(report, PANES);
  expect(links.related("b0")).toContain("L:s0:30");
  expect(links.related("L:s0:30")).toContain("b0");
});

test("each of two calls of one helper leads to its own nodes and kernel", () => {
  const links = taught();
  const second = links.related("L:s0:39");
  expect(second).toContain("L:s0:19");
  expect(second).toContain("k13");
  expect(second).not.toContain("k0");
  expect(links.related("g1:rsqrt")).toContain("L:s0:34");
  expect(links.related("g1:rsqrt")).not.toContain("L:s0:39");
});

test("a thing does not belong to itself", () => {
  const links = taught();
  for (const id of ["L:s0:37", "g1:topk", "k9", "b0"]) expect(links.related(id)).not.toContain(id);
});

test("without kernels the nodes that are counted are those of the first stage", () => {
  const bare = new Links({ ...report, kernels: [] }, PANES);
  const first = report.graphs.filter((graph) => graph.stage === report.graphs[0]!.stage);
  expect([...bare.kernelGraphs]).toEqual(first.map((graph) => graph.id));
  expect(first.length).toBeLessThan(report.graphs.length);
});

test("a part is learned once", () => {
  const links = new Links(report, PANES);
  expect(links.learn(embedded.parts["graph:g1"] as GraphPart)).toBe(true);
  expect(links.learn(embedded.parts["graph:g1"] as GraphPart)).toBe(false);
});

test("the chain counts each kind, nodes only of the graphs that are asked for", () => {
  const related = ["L:s0:1", "g0:a", "g1:a", "g1:b", "k0", "K:k0:3", "W:w0:4", "W:w0:5", "W:w0:9"];
  expect(chainOf(related, new Set(["g1"]))).toEqual([
    "1 line",
    "2 nodes",
    "1 kernel",
    "1 kernel line",
    "2 places in the wrapper",
  ]);
});

test("what a card names as its own is tied to its row, what is no id is left alone", () => {
  const rows = [
    { id: "a0", op: "k1" },
    { id: "a1", op: "mm" },
    { id: "a2", op: null },
  ];
  const cards = { choice: [{ place: "choices", ties: ["op"], leads: [] }] };
  const shown = { ...report, choices: rows, cards } as unknown as Report;
  const links = new Links(shown, PANES);
  expect(links.related("k1")).toContain("a0");
  expect([links.related("a1").size, links.related("mm").size]).toEqual([0, 0]);
  expect(links.related("a2").size).toBe(0);
});

test("a part of a CUDA graph leads to its kernels and lines, and a kernel to its part", () => {
  const part = { id: "c0", kernels: ["k9"], lines: ["L:s0:37"] };
  const graphs = { summary: "", parts: [part] } as unknown as Report["cuda_graphs"];
  const card = { place: "cuda_graphs.parts", ties: ["kernels"], leads: ["lines"] };
  const cards = { "cuda-graph": [card] } as unknown as Report["cards"];
  const links = new Links({ ...report, cuda_graphs: graphs, cards }, PANES);
  expect([...links.related("c0")]).toEqual(expect.arrayContaining(["k9", "L:s0:37"]));
  expect(links.related("k9")).toContain("c0");
});
