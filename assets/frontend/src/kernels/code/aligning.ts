// Two texts of a stage side by side: rows of equal height, with what differs and what is folded.

import { plural } from "../../format";
import type { ComparePart } from "../../wire";
import { type Difference, pickedRows, type Rows } from "./rows";

export interface Aligned {
  left: Rows;
  right: Rows;
  /** The first row of each difference. */
  differences: number[];
  /** Rows that stand for folded lines, with their block. */
  folds: Map<number, number>;
  /** How many lines were changed, added, removed. */
  counts: Record<"changed" | "added" | "removed", number>;
}

const CONTEXT = 3; // lines alike that stay beside a difference
const SHORTEST = 4; // lines that are worth folding

/** `open` are blocks that are not folded; null opens all. */
export function aligned(
  part: ComparePart,
  left: Rows,
  right: Rows,
  open: ReadonlySet<number> | null,
): Aligned {
  const sides = [new Side(left), new Side(right)] as const;
  const found = { differences: [] as number[], folds: new Map<number, number>() };
  const counts = { changed: 0, added: 0, removed: 0 };
  part.blocks.forEach(([kind, a, aEnd, b, bEnd], block) => {
    const height = Math.max(aEnd - a, bEnd - b) + 1;
    if (kind === "same") {
      const hidden = open?.has(block) === false ? hiddenOf(part, block, height) : null;
      same(sides, [a - 1, b - 1], height, hidden, () => found.folds.set(sides[0].size, block));
      return;
    }
    found.differences.push(sides[0].size);
    counts[kind] += height;
    sides[0].take(a - 1, aEnd - a + 1, height, kind);
    sides[1].take(b - 1, bEnd - b + 1, height, kind);
  });
  return { left: sides[0].rows(), right: sides[1].rows(), ...found, counts };
}

/** The lines of a block that are folded: from, to; those beside a difference stay. */
function hiddenOf(part: ComparePart, block: number, height: number): [number, number] | null {
  const from = block === 0 ? 0 : CONTEXT;
  const to = height - (block === part.blocks.length - 1 ? 0 : CONTEXT);
  return to - from >= SHORTEST ? [from, to] : null;
}

function same(
  sides: readonly [Side, Side],
  starts: [number, number],
  height: number,
  hidden: [number, number] | null,
  onFold: () => void,
): void {
  const [from, to] = hidden ?? [height, height];
  sides.forEach((side, at) => side.take(starts[at]!, from, from, null));
  if (!hidden) return;
  onFold();
  sides.forEach((side, at) => {
    side.fold(to - from);
    side.take(starts[at]! + to, height - to, height - to, null);
  });
}

/** The rows of one side as they grow. */
class Side {
  private readonly lines: string[];
  private readonly text: string[] = [];
  private readonly from: (number | null)[] = [];
  private readonly kinds: (Difference | null)[] = [];

  constructor(private readonly source: Rows) {
    this.lines = source.text.split("\n");
  }

  get size(): number {
    return this.text.length;
  }

  /** Takes `count` lines and fills up to `height` with gaps. */
  take(start: number, count: number, height: number, kind: Difference | null): void {
    for (let at = 0; at < height; at++) {
      const isLine = at < count;
      this.text.push(isLine ? (this.lines[start + at] ?? "") : "");
      this.from.push(isLine ? start + at : null);
      this.kinds.push(isLine ? kind : "gap");
    }
  }

  fold(count: number): void {
    this.text.push(`⋯ ${plural(count, "line")} alike`);
    this.from.push(null);
    this.kinds.push("fold");
  }

  rows(): Rows {
    return { ...pickedRows(this.source, this.from, this.text), differences: this.kinds };
  }
}

/** A comparison seen from the other side. */
export function turned(part: ComparePart): ComparePart {
  const other = { same: "same", changed: "changed", added: "removed", removed: "added" } as const;
  const blocks = part.blocks.map(
    ([kind, a, aEnd, b, bEnd]) =>
      [other[kind], b, bEnd, a, aEnd] satisfies ComparePart["blocks"][number],
  );
  return { ...part, before: part.after, after: part.before, blocks };
}

/** The difference to go to from a row: the next one, or the one before. */
export function nextDifference(rows: readonly number[], from: number, by: 1 | -1): number | null {
  const ahead = by === 1 ? rows.filter((row) => row > from) : rows.filter((row) => row < from);
  return (by === 1 ? ahead[0] : ahead[ahead.length - 1]) ?? null;
}
