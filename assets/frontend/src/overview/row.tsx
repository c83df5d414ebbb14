// The rows of the source view: the head of a function, a line, or an explanation under it.

import { costText, type ShownCost, valueOf } from "../cost/cost";
import { lookOf } from "../pair";
import { linesOf, type Store } from "../store";
import { Jump, Mark, Prose, StateIcon } from "../ui/basics";
import { coloured, Coloured, indentOf, type Piece, withoutStart } from "../ui/highlight";
import { Icon } from "../ui/icons";
import { iconOf } from "../ui/words";
import type { Line, Note, Source } from "../wire";

const BAR = 52;
const MARKS = 2;

interface RowProps {
  store: Store;
  row: Row | undefined;
  id: string;
  cost: ShownCost | null;
}

export function HeatRow({ store, row, id, cost }: RowProps) {
  if (!row) return null;
  if (row.kind === "head") return <FunctionHead source={row.source} />;
  if (row.kind === "note") return <Explanation store={store} note={row.note} />;
  if (!row.mark) return <QuietLine row={row} />;
  return <HeatLine store={store} row={row} mark={row.mark} id={id} cost={cost} />;
}

function FunctionHead({ source }: { source: Source }) {
  return (
    <div class="heat-head" role="row">
      <span role="gridcell" class="cut" data-tip="">
        <b class="mono">{source.name}</b> <span class="faint">{source.file}</span>
      </span>
    </div>
  );
}

export function Explanation({ store, note }: { store: Store; note: Note }) {
  return (
    <div class={`note ${note.tone}`} role="row">
      <Icon name={iconOf(note.tone)} />
      <span role="gridcell" class="says" data-tip="">
        <b>{note.title}</b> <Prose text={note.text} />
      </span>
      {note.select && (
        <span role="gridcell">
          <Jump store={store} id={note.select} />
        </span>
      )}
    </div>
  );
}

/** A line that is no part of the call. */
function QuietLine({ row }: { row: LineRow }) {
  return (
    <div class="heat dead" role="row">
      <span class="no" role="gridcell">
        {row.number}
      </span>
      <span class="src" role="gridcell">
        {row.text}
      </span>
    </div>
  );
}

interface LineProps {
  store: Store;
  row: LineRow;
  mark: Line;
  id: string;
  cost: ShownCost | null;
}

function HeatLine({ store, row, mark, id, cost }: LineProps) {
  const isSelected = store.selected.value === row.id;
  const look = lookOf(store, row.id);
  const own = valueOf(cost, mark);
  return (
    <div
      id={id}
      class={`heat ${look}`}
      role="row"
      aria-selected={isSelected}
      onClick={() => store.select(row.id)}
    >
      <span class="state" role="gridcell">
        <StateIcon state={mark.state} />
      </span>
      <span class="no" role="gridcell">
        {row.number}
      </span>
      <span class="src" role="gridcell" data-tip="">
        <Coloured pieces={row.pieces} />
      </span>
      <EndsIn store={store} mark={mark} />
      <span class="mb" role="gridcell">
        {!!own && cost && (
          <b style={{ width: `${Math.max(1, (own / cost.mostOfLine) * BAR)}px` }} />
        )}
        {!!own && cost && costText(cost, own)}
      </span>
    </div>
  );
}

/** The kernels of a line, or the lines that its call was inlined to. */
function EndsIn({ store, mark }: { store: Store; mark: Line }) {
  const { kernels } = mark;
  const inlined = kernels.length ? [] : [...(store.links.value?.calledFrom(mark.id) ?? [])];
  const names = inlined.map((id) => store.labelOf(id));
  const first = names.slice(0, 2).join(", ");
  return (
    <span class="ks" role="gridcell">
      {kernels.slice(0, MARKS).map((kernel) => (
        <Mark key={kernel} store={store} kernel={kernel} />
      ))}
      {kernels.length > MARKS && (
        <span class="faint" data-tip={kernels.join(", ")}>
          {`+${kernels.length - MARKS}`}
        </span>
      )}
      {names.length > 0 && (
        <span class="faint cut" data-tip={`Inlined to ${names.join(", ")}`}>
          {`in ${first}`}
        </span>
      )}
    </span>
  );
}

export type Row =
  | { kind: "head"; key: string; source: Source }
  | {
      kind: "line";
      key: string;
      id: string;
      number: number;
      text: string;
      mark: Line | null;
      pieces: Piece[];
    }
  | { kind: "note"; key: string; id: string; note: Note };

export type LineRow = Extract<Row, { kind: "line" }>;

/** One row for each line, with its problems right under it; several functions get heads. */
export function rowsOf(sources: Source[]): Row[] {
  const rows: Row[] = [];
  for (const source of sources) {
    if (sources.length > 1) rows.push({ kind: "head", key: source.id, source });
    const pieces = coloured(source.lines);
    const cut = indentOf(source.lines);
    linesOf(source).forEach(({ id, number, text: whole, mark = null }, i) => {
      const text = whole.slice(cut);
      const drawn = withoutStart(pieces[i] ?? [], cut);
      rows.push({ kind: "line", key: id, id, number, text, mark, pieces: drawn });
      mark?.notes.forEach((note, n) => rows.push({ kind: "note", key: `${id}/${n}`, id, note }));
    });
  }
  return rows;
}
