// One row of a tree of costs: a function, a call, a module, lines that cost nothing, a remark.

import type { CostColumn } from "../cost/column";
import { plural, writtenIn } from "../format";
import { numberOf } from "../ids";
import type { Store } from "../store";
import { StateIcon } from "../ui/basics";
import { coloured, Coloured, indentOf, type Piece, withoutStart } from "../ui/highlight";
import { Icon } from "../ui/icons";
import type { State } from "../ui/words";
import type { Line, Source, TreeRow, Unit } from "../wire";
import { Explanation } from "./row";
import type { Shown } from "./rows";

/** What all rows of a tree share. */
export interface TreeLook {
  /** The cost that the columns show; without one there are none. */
  kind: string;
  unit: Unit;
  column: CostColumn;
  /** The full bar. */
  most: number;
  hasOneRoot: boolean;
}

interface LineProps {
  store: Store;
  id: string;
  row: Shown;
  look: TreeLook;
  /** What is wrong with a line that is folded into it. */
  inside: State | undefined;
  isOpen: boolean;
  isActive: boolean;
  choose(): void;
  turn(): void;
}

/** What is wrong with a line; what is normal carries no mark. */
const WRONG: ReadonlySet<string> = new Set(["break", "failed", "faulty", "fallback", "unreached"]);

/** What is wrong with a line, or null. */
export function wrongOf(mark: Line | undefined): State | null {
  return mark && WRONG.has(mark.state) ? mark.state : null;
}

export function TreeLine({
  store,
  id,
  row,
  look,
  inside,
  isOpen,
  isActive,
  choose,
  turn,
}: LineProps) {
  if (row.kind === "note")
    return (
      <div class="tree-note" style={{ "--d": row.depth }}>
        <Explanation store={store} note={row.note} />
      </div>
    );
  const isQuiet = row.kind === "quiet";
  const own: TreeRow | null = isQuiet ? null : row.placed.row;
  const isParent = !isQuiet && row.placed.isParent;
  const isFolder = own?.kind === "function" || own?.kind === "library" || own?.kind === "fold";
  const depth = isQuiet ? row.depth : own!.depth;
  const name = isQuiet ? row.id : own!.id;
  const isSame = name === store.selected.value;
  const isRelated = isSame || store.related.value.has(name) || belongs(own, store.selected.value);
  const look_ = isActive ? "sel" : isRelated ? "rel" : "";
  return (
    <div
      id={id}
      class={`crow ${look_} is-${own?.kind ?? "quiet"} ${store.pair.has(name) ? "pick" : ""}`}
      role="row"
      aria-level={depth + 1}
      aria-selected={isActive}
      aria-expanded={isParent ? isOpen : undefined}
      onClick={() => {
        choose();
        if (isFolder) turn();
      }}
    >
      <span class="t" role="gridcell" style={{ "--d": depth }}>
        <span
          class="tw"
          onClick={(event) => {
            if (!isParent || isFolder) return;
            event.stopPropagation();
            turn();
          }}
        >
          {isParent && <Icon name={isOpen ? "down" : "right"} />}
        </span>
        {inside && own?.kind !== "line" && <StateIcon state={inside} />}
        {own ? (
          <Name store={store} row={own} look={look} inside={inside} />
        ) : (
          <Text store={store} line={name} />
        )}
      </span>
      {look.kind && (
        <>
          <Bar row={own} look={look} />
          <span class="num" role="gridcell">
            {look.column.write(own?.total[look.kind])}
          </span>
          <span class="num" role="gridcell">
            {look.column.write(own?.own[look.kind])}
          </span>
        </>
      )}
    </div>
  );
}

/** Whether a module has a line or a kernel that is selected. */
function belongs(row: TreeRow | null, selected: string | null): boolean {
  if (!row || !selected) return false;
  return !!row.lines?.includes(selected) || !!row.kernels?.includes(selected);
}

interface NameProps {
  store: Store;
  row: TreeRow;
  look: TreeLook;
  inside: State | undefined;
}

function Name({ store, row, look, inside }: NameProps) {
  if (row.kind === "fold") {
    const number = numberOf(row.id);
    const tip = `Lines ${number} to ${row.last ?? number} cost nothing`;
    return (
      <>
        <span class="no" />
        <span class="src" data-tip={tip}>{`… ${plural(row.count ?? 0, "line")}`}</span>
      </>
    );
  }
  const each = row.each?.[look.kind];
  const caption = [row.caption, each && `${range(each, look.unit)} each`];
  return (
    <>
      {row.kind === "line" ? (
        <Text store={store} line={row.id} inside={inside} />
      ) : (
        <span class="src name" data-tip="">
          {row.name}
        </span>
      )}
      {row.times !== undefined && <span class="times">{`× ${row.times}`}</span>}
      <span class="cap" data-tip="">
        {caption.filter(Boolean).join(", ")}
      </span>
    </>
  );
}

/** Three digits of their own: in the unit of the column the least of many is one, or none. */
function range(ends: [number, number], unit: Unit): string {
  return [...new Set(ends.map((end) => writtenIn(unit, end)))].join(" to ");
}

/** The number and the text of a line, and what is wrong with it. */
function Text({ store, line, inside }: { store: Store; line: string; inside?: State | undefined }) {
  const found = store.line(line);
  const state = wrongOf(found?.mark) ?? inside;
  return (
    <>
      <span class="no">{numberOf(line)}</span>
      {state && <StateIcon state={state} />}
      <span class="src" data-tip="">
        {found && <Coloured pieces={piecesOf(found.source, found.number)} />}
      </span>
    </>
  );
}

const texts = new WeakMap<Source, Piece[][]>();

/** The coloured text of a line, without the indentation of its function. */
function piecesOf(source: Source, number: number): Piece[] {
  let lines = texts.get(source);
  if (!lines) {
    const cut = indentOf(source.lines);
    lines = coloured(source.lines).map((pieces) => withoutStart(pieces, cut));
    texts.set(source, lines);
  }
  const pieces = lines[number - source.first] ?? [];
  const blank = pieces.findIndex(({ text }) => text.trim());
  const first = pieces[blank];
  if (!first) return [];
  return [{ ...first, text: first.text.trimStart() }, ...pieces.slice(blank + 1)];
}

/** Pale is all of it, dark what it costs itself; the only root has none. */
function Bar({ row, look }: { row: TreeRow | null; look: TreeLook }) {
  const total = row?.total[look.kind];
  const isRoot = look.hasOneRoot && row?.depth === 0;
  if (!row || !total || !look.most || isRoot) return <span class="cbar" role="gridcell" />;
  const wide = (value: number) => ({ width: `${(100 * value) / look.most}%` });
  return (
    <span class="cbar" role="gridcell">
      <i style={wide(total)} />
      <b style={wide(row.own[look.kind] ?? 0)} />
    </span>
  );
}
