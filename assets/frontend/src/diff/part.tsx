// One part as a table: what differs, what stands in either compilation, where it belongs.

import { useMemo } from "preact/hooks";
import { plural, whole } from "../format";
import { counted } from "../lists";
import { Button, Copy, Select } from "../ui/basics";
import { usePaneState } from "../ui/kept";
import { termOf } from "../ui/terms";
import type { DiffPart, DiffRow } from "../wire";
import type { DiffState } from "./state";

export function Part({ state, part }: { state: DiffState; part: DiffPart }) {
  const [kind, setKind] = usePaneState<string | null>(state, "kind", null);
  const kinds = useMemo(() => counted(part.rows.map(filterOf)), [part]);
  const rows = kind === null ? part.rows : part.rows.filter((row) => filterOf(row) === kind);
  const code = `diff.frame("${part.id}")`;
  const words = [...kinds].map(([name, count]) => [name, `${name} (${count})`] as const);
  const choices = words.length > 1 ? words : [];
  return (
    <>
      <div class="bar">
        <h2>{part.title}</h2>
        <span class="mut cut">{countWords(part)}</span>
        <span class="grow" />
        {choices.length > 0 && (
          <Select
            label="Show"
            of={[["", "All differences"], ...choices]}
            value={kind ?? ""}
            set={(name) => setKind(name || null)}
          />
        )}
        <Copy quiet text={asText(rows)} label="Copy" title="Copy the rows, tab-separated" />
        <Copy quiet text={code} label="DataFrame" title={`Copy ${code}`} />
      </div>
      {part.missing && (
        <div class="msg" role="note">
          <div class="grow">
            <b>Not compared.</b> {part.missing}
          </div>
        </div>
      )}
      <div class="scroll" tabIndex={0} role="group" aria-label={part.title}>
        <Rows state={state} rows={rows} look={NUMBERS.has(part.id) ? "num" : undefined} />
        {part.more > 0 && <p class="none">{`${plural(part.more, "row")} more in ${code}`}</p>}
      </div>
    </>
  );
}

/** Parts whose values are numbers. */
const NUMBERS = new Set(["graphs", "traffic", "resources", "times", "phases"]);

interface RowsProps {
  state: DiffState;
  rows: readonly DiffRow[];
  /** The look of the values. */
  look: string | undefined;
}

function Rows({ state, rows, look }: RowsProps) {
  const hasPlaces = rows.some((row) => row.where);
  const hasDeltas = rows.some((row) => row.delta);
  const hasNotes = rows.some((row) => row.note);
  return (
    <table class="listing">
      <thead>
        <tr>
          <Head word="Change" />
          <Head word="What" />
          {hasPlaces && <Head word="Graph" />}
          <Head word="a" look={look} />
          <Head word="b" look={look} />
          {hasDeltas && <Head word="Change in %" look="num" />}
          {hasNotes && <Head word="Note" />}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, n) => (
          <tr key={n}>
            <td class="diff-change">{row.change}</td>
            <td class="mono">
              <Item state={state} row={row} />
            </td>
            {hasPlaces && <td class="mut">{row.where}</td>}
            <td class={look}>{row.a}</td>
            <td class={look}>{row.b}</td>
            {hasDeltas && <td class="num">{row.delta}</td>}
            {hasNotes && <td class="mut">{row.note}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Head({ word, look }: { word: string; look?: string | undefined }) {
  return (
    <th scope="col" class={look} data-tip={termOf("diff", word)}>
      {word}
    </th>
  );
}

/** What differs; where kernels are meant, the way to them. */
function Item({ state, row }: { state: DiffState; row: DiffRow }) {
  const first = row.kernels[0];
  if (first === undefined) return <>{row.item}</>;
  return (
    <Button look="link" press={() => state.look(first)}>
      {row.item}
    </Button>
  );
}

function countWords(part: DiffPart): string {
  if (part.is_measured) return `${plural(part.differ, "measured number")}, different in every run`;
  return `${whole(part.differ)} differ, ${whole(part.same)} the same`;
}

/** What the rows can be filtered by: the change, of nodes also the graph. */
function filterOf(row: DiffRow): string {
  return row.where ? `${row.change}, ${row.where}` : row.change;
}

function asText(rows: readonly DiffRow[]): string {
  const lines = rows.map((row) =>
    [row.change, row.item, row.where, row.a, row.b, row.delta, row.note].join("\t"),
  );
  return ["change\titem\tgraph\ta\tb\tdelta\tnote", ...lines].join("\n");
}
