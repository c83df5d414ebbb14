import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, test } from "vitest";

const SRC = resolve(__dirname, "../src");
const MOST_FILES = 24; // in a folder, styles too
const IMPORT = /(?:from|import)\s*\(?\s*"(\.[^"]*)"/g;

/** The files of `src/` with what each imports, types included; styles and data are not code. */
function imports(): Map<string, string[]> {
  const files = readdirSync(SRC, { recursive: true, encoding: "utf-8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(SRC, name));
  const known = new Set(files);
  const found = new Map<string, string[]>();
  for (const file of files) {
    const names = [...readFileSync(file, "utf-8").matchAll(IMPORT)].map((match) => match[1]!);
    const code = names.filter((name) => !/\.(css|json)$/.test(name));
    found.set(
      file,
      code.map((name) => resolved(known, join(dirname(file), name))),
    );
  }
  return found;
}

function resolved(known: ReadonlySet<string>, path: string): string {
  const forms = [`${path}.ts`, `${path}.tsx`, join(path, "index.ts"), join(path, "index.tsx")];
  const file = forms.find((form) => known.has(form));
  if (!file) throw new Error(`nothing is at ${path}`);
  return file;
}

/** Files that import one another, directly or through others (Tarjan's components). */
function knots(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (file: string): void => {
    order.set(file, order.size);
    low.set(file, order.get(file)!);
    stack.push(file);
    for (const next of graph.get(file) ?? []) {
      if (!order.has(next)) visit(next);
      if (stack.includes(next)) low.set(file, Math.min(low.get(file)!, low.get(next)!));
    }
    if (low.get(file) !== order.get(file)) return;
    const knot = stack.splice(stack.indexOf(file));
    if (knot.length > 1 || graph.get(file)?.includes(file)) found.push(knot);
  };
  for (const file of graph.keys()) if (!order.has(file)) visit(file);
  return found;
}

test("a circle is found, through others and onto itself", () => {
  const graph = new Map([
    ["a", ["b"]],
    ["b", ["c"]],
    ["c", ["a"]],
    ["d", ["d", "a"]],
  ]);
  expect(knots(graph).map((knot) => knot.sort())).toEqual([["a", "b", "c"], ["d"]]);
});

test("no file imports itself through others, types included", () => {
  const graph = imports();
  expect(graph.size).toBeGreaterThan(100);
  expect([...graph.values()].flat().length).toBeGreaterThan(300);
  expect(knots(graph).map((knot) => knot.map((file) => relative(SRC, file)))).toEqual([]);
});

test("no folder has more files than a reader takes in", () => {
  const counts = new Map<string, number>();
  for (const entry of readdirSync(SRC, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) counts.set(entry.parentPath, (counts.get(entry.parentPath) ?? 0) + 1);
  expect(counts.size).toBeGreaterThan(20);
  const full = [...counts].filter(([, count]) => count > MOST_FILES);
  expect(full.map(([folder]) => relative(SRC, folder))).toEqual([]);
});

test("a folder inside of a pane's is used by it and knows nothing of it", () => {
  const found = [...imports()].flatMap(([file, imported]) => {
    const inner = dirname(relative(SRC, file)).split("/");
    if (inner.length < 2) return [];
    const pane = join(SRC, inner[0]!);
    return imported.filter((other) => dirname(other) === pane).map((other) => [file, other]);
  });
  expect(found).toEqual([]);
});

test("what draws the graph knows how it is laid out, not the other way round", () => {
  const layout = [...imports()].filter(([file]) => dirname(file) === join(SRC, "graph/layout"));
  expect(layout.length).toBeGreaterThan(5);
  for (const [, imported] of layout)
    for (const other of imported)
      expect([join(SRC, "graph/layout"), SRC]).toContain(dirname(other));
});
