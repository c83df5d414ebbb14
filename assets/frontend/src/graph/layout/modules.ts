// The tree of nn.Modules: long lists of layers cut into runs, names without what all of them share.

export interface Step {
  key: string;
  title: string;
}

interface ModuleTree {
  /** For each module the boxes around it, the outermost first, its own last. */
  steps: readonly (readonly Step[])[];
  /** The keys inside of each key; the outermost are inside of "". */
  children: ReadonlyMap<string, readonly string[]>;
}

const MANY = 40; // numbered siblings: more of them come in runs
const RUNS = 32;
const FEW = 6;
const FAR_TOO_MANY = 2000;

const known = new WeakMap<readonly string[], ModuleTree>();

/** The tree of these module paths; the same list is read once. */
export function moduleTree(modules: readonly string[]): ModuleTree {
  let tree = known.get(modules);
  if (!tree) known.set(modules, (tree = treeOf(modules)));
  return tree;
}

function treeOf(modules: readonly string[]): ModuleTree {
  const paths = new Set(modules.flatMap((path) => [...outward(path)].reverse()));
  const runs = runsOf(paths);
  const shared = sharedBy(modules);
  const children = new Map<string, string[]>();
  const stepsOf = new Map<string, Step[]>();
  for (const path of paths) {
    const outer = parentOf(path);
    const steps = [...(stepsOf.get(outer) ?? [])];
    const run = runs.get(path);
    if (run) {
      if (!children.has(run.key)) put(children, outer, run.key);
      steps.push({ key: run.key, title: titleOf(run.title, shared) });
    }
    put(children, run?.key ?? outer, path);
    steps.push({ key: path, title: titleOf(path, shared) });
    stepsOf.set(path, steps);
  }
  return { steps: modules.map((path) => stepsOf.get(path)!), children };
}

function put<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

/** A path and the paths around it, from inside out. */
function* outward(path: string): Generator<string> {
  for (let at = path; at !== ""; at = parentOf(at)) yield at;
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf(".")));
}

/** Where a list has very many numbered parts: the run that each of them belongs to. */
function runsOf(paths: ReadonlySet<string>): Map<string, Step> {
  const lists = new Map<string, number[]>();
  for (const path of paths) {
    const name = path.slice(path.lastIndexOf(".") + 1);
    if (!/^\d+$/.test(name)) continue;
    put(lists, parentOf(path), Number(name));
  }
  const found = new Map<string, Step>();
  for (const [outer, numbers] of lists) {
    if (numbers.length <= MANY) continue;
    numbers.sort((a, b) => a - b);
    const size = Math.ceil(numbers.length / RUNS);
    const lead = outer && `${outer}.`;
    for (let at = 0; at < numbers.length; at += size) {
      const run = numbers.slice(at, at + size);
      const title = `${lead}${run[0]}–${run.at(-1)}`;
      for (const number of run) found.set(`${lead}${number}`, { key: `${title}:run`, title });
    }
  }
  return found;
}

/** The steps that all modules begin with: they tell nothing apart. */
function sharedBy(modules: readonly string[]): string {
  let shared = modules[0] ?? "";
  for (const path of modules)
    while (shared && path !== shared && !path.startsWith(`${shared}.`)) shared = parentOf(shared);
  const isList = modules.some((path) => /^\d/.test(path.slice(shared.length + 1)));
  return isList ? parentOf(shared) : shared; // a number alone would say nothing
}

function titleOf(path: string, shared: string): string {
  if (shared && path.startsWith(`${shared}.`)) return path.slice(shared.length + 1);
  return shared ? path.slice(path.lastIndexOf(".") + 1) : path;
}

/**
 * The boxes to open at first: from outside in, as long as no more than `most` show; a list of very
 * many is still better than the one box that holds them all.
 */
export function firstOpen({ children }: ModuleTree, most: number): Set<string> {
  const open = new Set<string>();
  let level = children.get("") ?? [];
  let shown = level.length;
  while (level.length > 0) {
    const inner = level.flatMap((key) => children.get(key) ?? []);
    const next = shown + inner.length - level.length;
    if (inner.length === 0 || (next > most && (shown >= FEW || next > FAR_TOO_MANY))) break;
    shown = next;
    for (const key of level) if (children.has(key)) open.add(key);
    level = inner;
  }
  return open;
}
