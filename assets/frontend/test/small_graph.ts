// A small graph for the tests: nodes as `name op(inputs)`, in the order of FX.

import type { GraphPart } from "../src/wire";

export interface Spec {
  name: string;
  op?: string;
  target?: string;
  inputs?: string[];
  kernel?: string;
  module?: string;
  line?: string;
  quiet?: boolean;
}

function numbered(values: (string | undefined)[]): [number[], string[]] {
  const names = [...new Set(values.filter((value) => value !== undefined))];
  return [values.map((value) => (value === undefined ? -1 : names.indexOf(value))), names];
}

export function graph(specs: Spec[]): GraphPart {
  const at = new Map(specs.map((spec, i) => [spec.name, i]));
  const inputs = specs.map((spec) => (spec.inputs ?? []).map((name) => at.get(name)!));
  const level: number[] = [];
  inputs.forEach((each, i) => (level[i] = Math.max(-1, ...each.map((input) => level[input]!)) + 1));
  const [kernel, kernels] = numbered(specs.map((spec) => spec.kernel));
  const [module, modules] = numbered(specs.map((spec) => spec.module));
  const of = <T>(value: T) => specs.map(() => value);
  return {
    kind: "graph",
    id: "g0",
    names: specs.map((spec) => spec.name),
    ops: specs.map((spec) => spec.op ?? "call_function"),
    targets: specs.map((spec) => spec.target ?? `aten.${spec.name}.default`),
    inputs,
    shapes: of("[4]"),
    strides: of("[1]"),
    dtypes: of("f32"),
    bytes: of(16),
    lines: specs.map((spec) => spec.line ?? null),
    called_from: specs.map(() => []),
    before: specs.map(() => []),
    module,
    modules,
    kernel,
    kernels,
    is_quiet: specs.map((spec) => spec.quiet ?? false),
    x: specs.map((_, i) => i * 10),
    y: level.map((each) => each * 48 + 11),
    level,
    width: 500,
    height: 500,
    routes: inputs.flatMap((each, node) => each.map((input) => [input, node, 0, 0, 0, 26])),
  };
}

/** x → relu → view → add (with x) → mul, the last two in another kernel. */
export function usual(): GraphPart {
  return graph([
    { name: "x", op: "placeholder", target: "x" },
    { name: "w", op: "placeholder", target: "fc.weight", quiet: true },
    { name: "relu", inputs: ["x"], kernel: "k0", module: "m.a", line: "L:s0:1" },
    { name: "view", inputs: ["relu"], quiet: true, module: "m.a", line: "L:s0:1" },
    { name: "add", inputs: ["view", "x"], kernel: "k1", module: "m.b", line: "L:s0:2" },
    { name: "mul", inputs: ["add", "w"], kernel: "k1", module: "m.b.c", line: "L:s0:1" },
    { name: "output", op: "output", target: "output", inputs: ["mul"] },
  ]);
}
