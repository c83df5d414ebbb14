// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { DiffShell } from "../src/diff/shell";
import { DiffState } from "../src/diff/state";
import type { DiffDocument } from "../src/wire";

const SRC = resolve(__dirname, "../src");
const LANDMARKS = /<(?:aside|main|footer)\b|role="(?:region|main|complementary|navigation)"/g;

const head = (name: string) => ({ name, words: "" });
const COMPARED = {
  ...{ a: head("f"), b: head("g"), is_same: true, sentences: [], parts: [], kernels: [] },
  program: { missing: "The programs are not compared: one has no source." },
} as unknown as DiffDocument;

async function views(count: number): Promise<(string | null)[]> {
  const places = Array.from({ length: count }, () => document.createElement("div"));
  document.body.replaceChildren(...places);
  await act(() => {
    for (const place of places) render(<DiffShell state={new DiffState(COMPARED)} />, place);
  });
  const found = [...document.querySelectorAll("[role=region]")];
  const labels = found.map((view) => view.getAttribute("aria-label"));
  await act(() => places.forEach((place) => render(null, place)));
  return labels;
}

test("several views of one page are told apart, and a closed one gives its name back", async () => {
  const label = "f and g, compared";
  expect(await views(3)).toEqual([label, `${label}, view 2`, `${label}, view 3`]);
  expect(await views(1)).toEqual([label]);
});

test("a view is one landmark: what is in it stands in every other view under the same name", () => {
  const found = readdirSync(SRC, { recursive: true, encoding: "utf-8" })
    .filter((name) => name.endsWith(".tsx"))
    .flatMap((name) => {
      const text = readFileSync(join(SRC, name), "utf-8");
      const sections = [...text.matchAll(/<section\b[^>]*aria-label/g)].filter(
        ([tag]) => !tag.includes('role="group"'),
      );
      return [...text.matchAll(LANDMARKS), ...sections].map(([tag]) => `${name}: ${tag}`);
    });
  expect(found).toEqual(['shell/frame.tsx: role="region"']);
});
