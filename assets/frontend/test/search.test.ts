import { expect, test } from "vitest";
import { search } from "../src/search";
import type { CodePart, Embedded } from "../src/wire";
import sample from "./sample.json";

const { document, parts } = sample as unknown as Embedded;

test("hits are grouped and counted, with the place of the match", () => {
  const groups = search(document, [], "softmax");
  expect(groups.map((group) => group.title)).toEqual(["Source", "Kernels"]);
  const hit = groups[0]!.hits[0]!;
  expect(hit.text.slice(hit.from, hit.to)).toBe("softmax");
});

test("kernel lines are searched once their code is here", () => {
  const code = parts["code:k0"] as CodePart;
  const groups = search(document, [code], "tl.sum");
  expect(groups[0]!.title).toBe("Kernel lines");
  expect(groups[0]!.hits[0]!.id).toMatch(/^K:k0:\d+$/);
});

test("capitals do not matter, blanks find nothing", () => {
  expect(search(document, [], "TOPK").length).toBeGreaterThan(0);
  expect(search(document, [], "  ")).toEqual([]);
});

test("a long list of hits is cut and says how many there were", () => {
  const source = search(document, [], "e").find((group) => group.title === "Source")!;
  expect(source.hits.length).toBe(8);
  expect(source.total).toBeGreaterThan(20);
});
