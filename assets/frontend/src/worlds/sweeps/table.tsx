// The settings of a sweep: how they ended, their figures; a click opens one, two are compared.

import { useMemo } from "preact/hooks";
import { isAwake } from "../../host";
import { Table, type Column } from "../../table/table";
import { Button, Copy } from "../../ui/basics";
import { Icon, type IconName } from "../../ui/icons";
import { termOf } from "../../ui/terms";
import type { SweepDocument, SweepRow } from "./wire";
import { constantOf, type Constant } from "./constant";
import { isNoisy, type SweepState } from "./state";

/** Figures that a narrow view leaves out. */
const WIDE = new Set(["first_call_s", "peak_bytes", "artifact_bytes", "dram_bytes", "kernels"]);

export function Settings({ state, doc }: { state: SweepState; doc: SweepDocument }) {
  const count = state.picked.value.length;
  const constant = constantOf(doc);
  const lost = state.host.lost.value;
  const same = constant.words.join(", ");
  const shape = JSON.stringify([doc.axes, doc.figures, state.host.kind, same]);
  const columns = useMemo(() => columnsOf(state, doc, constant), [state, shape]);
  const code = `${doc.variable}.frame()`;
  return (
    <>
      <div class="bar">
        <h2>Configurations</h2>
        <span class="mut cut" data-tip="">
          {[same && `Same in all rows: ${same}.`, hintOf(state)].filter(Boolean).join(" ")}
        </span>
        <span class="grow" />
        {state.host.kind === "live" && (
          <Button
            tip={lost ?? "Compare the two picked rows"}
            isOff={count !== 2 || lost !== null}
            press={() => void state.compare()}
          >
            {count === 2 ? "Compare the two" : `Compare (${count} of 2 picked)`}
          </Button>
        )}
        <Copy quiet text={code} label="DataFrame" title={`Copy ${code}`} />
      </div>
      <Table
        store={state}
        label="Configurations"
        columns={columns}
        rows={doc.rows}
        order={{ key: doc.by, direction: doc.by === "speedup" ? "desc" : "asc" }}
        none="No configuration has finished yet."
        open={(row) => void state.open(row)}
        click={(row) => void state.open(row)}
      />
    </>
  );
}

function hintOf(state: SweepState): string {
  if (!isAwake(state.host)) return "";
  return state.rows.value.some((row) => row.can_open) ? "A click opens the full report." : "";
}

function columnsOf(state: SweepState, doc: SweepDocument, constant: Constant): Column<SweepRow>[] {
  const axes = doc.axes.map(({ name, values }, at): Column<SweepRow> => ({
    key: `axis:${name}`,
    title: name,
    tip: termOf("sweep", name) ?? name,
    width: `minmax(${Math.max(headWidth(name), widthOf(values))}px, 1fr)`,
    value: (row) => sortable(row.settings[at] ?? null),
    draw: (row) => row.settings[at] ?? "–",
    look: "mono",
  }));
  const figures = doc.figures.map(({ id, title }, at): Column<SweepRow> => ({
    key: id,
    title,
    tip: termOf("sweep", title),
    width: `minmax(${widthOf([title, id === "speedup" ? "00.0 × (00.0 to 00.0)" : "00.0 MB"])}px, 1fr)`,
    value: (row) => row.figures[at] ?? null,
    draw: (row) => (id === "speedup" ? withInterval(row, row.words[at]) : row.words[at]),
    ...(id === "speedup" ? { full: verdictOf } : {}),
    number: true,
    wide: WIDE.has(id),
  }));
  const pick = state.host.kind === "live" ? [pickColumn(state)] : [];
  const varied = [
    ...axes.filter((_, at) => !constant.axes.has(at)),
    ...figures.filter((_, at) => !constant.figures.has(at)),
  ];
  return [...pick, statusColumn(), ...varied, remarkColumn()];
}

/** The verdict against the original and on what it rests. */
function verdictOf(row: SweepRow): string {
  return row.verdict ? `Against eager: ${row.verdict} (${row.evidence})` : "";
}

/** A speed-up with its interval; nothing stands out of one that is too noisy to say. */
function withInterval(row: SweepRow, word: string | undefined) {
  if (isNoisy(row)) return <span class="mut">{word}</span>;
  return (
    <>
      {word} {row.interval && <span class="mut">{`(${row.interval})`}</span>}
    </>
  );
}

/** Pixels for the longest of some texts, in bold as in the head; cut where it is very long. */
function widthOf(texts: readonly string[]): number {
  return Math.min(170, 14 + 8 * Math.max(...texts.map((text) => text.length)));
}

/** A name of an option is whole up to the longest that torch has. */
function headWidth(name: string): number {
  return Math.min(400, 18 + 8 * name.length);
}

function sortable(text: string | null): string | number | null {
  return text !== null && text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

function pickColumn(state: SweepState): Column<SweepRow> {
  return {
    key: "pick",
    title: "Pick",
    tip: termOf("sweep", "Pick"),
    width: "32px",
    value: (row) => (state.picked.value.includes(row.id) ? 1 : 0),
    full: () => "Pick two rows to compare them",
    draw: (row) => (
      <label class="sweep-pick" onClick={(event) => event.stopPropagation()}>
        <input
          type="checkbox"
          aria-label={`Pick ${row.id}`}
          disabled={!state.canOpen(row)}
          checked={state.picked.value.includes(row.id)}
          onClick={(event) => event.stopPropagation()}
          onDblClick={(event) => event.stopPropagation()}
          onChange={() => state.pick(row.id)}
        />
      </label>
    ),
  };
}

const ICONS: Record<string, [IconName, string]> = {
  done: ["captured", "st-captured"],
  waiting: ["traced", "st-traced"],
  cancelled: ["traced", "st-traced"],
};

function statusColumn(): Column<SweepRow> {
  return {
    key: "status",
    title: "Ended",
    tip: termOf("sweep", "Ended"),
    width: "minmax(72px, 0.8fr)",
    value: (row) => row.status,
    draw: (row) => {
      const [icon, look] = ICONS[row.status] ?? ["cross", "st-break"];
      return (
        <span class="row">
          {row.status === "running" ? (
            <span class="spin" aria-hidden="true" />
          ) : (
            <span class={`st ${look}`}>
              <Icon name={icon} />
            </span>
          )}
          {row.status}
        </span>
      );
    },
  };
}

function remarkColumn(): Column<SweepRow> {
  return {
    key: "remark",
    title: "Note",
    tip: termOf("sweep", "Note"),
    width: "minmax(110px, 2fr)",
    value: (row) => row.remark || (row.from_store ? "from the store" : ""),
    look: "mut",
  };
}
