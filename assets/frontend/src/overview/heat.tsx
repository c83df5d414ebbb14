// The user's source: the state of each line, the kernels it ends in, the bytes it moves.

import { useEffect, useId, useMemo, useRef } from "preact/hooks";
import { bytes, microseconds, plural } from "../format";
import { numberOf } from "../ids";
import type { Store } from "../store";
import { target } from "../table/table";
import { Frame, Jump, Mark, Prose, StateIcon } from "../ui/basics";
import { Python } from "../ui/highlight";
import { Icon } from "../ui/icons";
import { useRows } from "../ui/virtual";
import { STATES, baseName, iconOf, labelOf, wordOf } from "../ui/words";
import type { Source } from "../wire";
import { mostBytes, rowsOf, type LineRow, type Row } from "./rows";

const HEIGHTS = { head: 26, line: 19, note: 24 };
const HEAD = 26;
const BAR = 52;

export function Heat({ store, sources }: { store: Store; sources: Source[] }) {
  const scroller = useRef<HTMLDivElement>(null);
  const prefix = useId();
  const rows = useMemo(() => rowsOf(sources), [sources]);
  const lines = useMemo(
    () => rows.filter((row): row is LineRow => row.kind === "line" && row.mark !== null),
    [rows],
  );
  const most = useMemo(() => mostBytes(sources), [sources]);
  const isTimed = useMemo(
    () => sources.some((source) => source.marks.some((mark) => mark.time_us !== null)),
    [sources],
  );
  const selected = store.selected.value;
  const related = store.related.value;
  const list = useRows({
    count: rows.length,
    scroller,
    size: (i) => HEIGHTS[rows[i]?.kind ?? "line"],
    head: HEAD,
    key: (i) => rows[i]?.key ?? "",
  });
  useEffect(() => {
    let at = rows.findIndex((row) => row.kind === "line" && row.id === selected);
    if (at < 0) at = rows.findIndex((row) => row.kind === "line" && related.has(row.id));
    if (at >= 0) list.reveal(at);
  }, [selected, related, rows]);
  const move = (event: KeyboardEvent) => {
    const current = lines.findIndex((line) => line.id === selected);
    const to = target(event.key, current < 0 ? undefined : current, lines.length, scroller.current);
    const line = to === null ? undefined : lines[to];
    if (!line || event.altKey) return;
    event.preventDefault();
    store.select(line.id);
  };
  const active = list.items.find((item) => rows[item.index]?.key === selected);
  if (!rows.length)
    return <div class="empty">No source is in this report: it was saved without it.</div>;
  return (
    <>
      <SourceBar store={store} sources={sources} />
      <div
        ref={scroller}
        class={isTimed ? "scroll heats timed" : "scroll heats"}
        role="grid"
        aria-label="Source with the state of each line"
        aria-rowcount={rows.length + 1}
        aria-activedescendant={active ? `${prefix}-${active.index}` : undefined}
        tabIndex={0}
        onKeyDown={move}
      >
        <div role="rowgroup" class="heat-top">
          <div class="heat hd" role="row">
            <span class="st" role="columnheader">
              <span class="sr">State</span>
            </span>
            <span class="no" role="columnheader">
              Line
            </span>
            <span role="columnheader">Source</span>
            <span class="ks" role="columnheader">
              Ends in
            </span>
            {isTimed && (
              <span class="mb" role="columnheader">
                Time
              </span>
            )}
            <span
              class="mb"
              role="columnheader"
              title="The estimated share of its kernels' traffic to DRAM"
            >
              DRAM moved
            </span>
          </div>
        </div>
        <div class="tbody" role="rowgroup" style={{ height: `${list.height}px` }}>
          {list.items.map((item) => {
            const row = rows[item.index];
            if (!row) return null;
            return (
              <div
                key={row.key}
                data-index={item.index}
                ref={list.measure}
                class="place"
                role="presentation"
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <HeatRow
                  store={store}
                  row={row}
                  id={`${prefix}-${item.index}`}
                  look={
                    row.kind !== "line"
                      ? ""
                      : row.id === selected
                        ? "sel"
                        : related.has(row.id)
                          ? "rel"
                          : ""
                  }
                  most={most}
                  isTimed={isTimed}
                />
              </div>
            );
          })}
        </div>
      </div>
    </>
  );
}

function SourceBar({ store, sources }: { store: Store; sources: Source[] }) {
  const first = sources[0];
  const name = sources.length === 1 && first ? baseName(first.file) : "Source";
  const more = sources.length === 1 ? (first?.name ?? "") : plural(sources.length, "function");
  return (
    <div class="bar">
      <h2 title={first?.file}>{name}</h2>
      <span class="faint wide cut">{more}</span>
      <span class="grow" />
      <span class="legend">
        {STATES.map((state) => (
          <span key={state}>
            <span class={`st st-${state}`}>
              <Icon name={iconOf(state)} />
            </span>
            {wordOf(state)}
          </span>
        ))}
      </span>
      <span class="wide">
        <Frame store={store} name="kernels" then={`.explode("lines")`} />
      </span>
    </div>
  );
}

interface RowProps {
  store: Store;
  row: Row;
  id: string;
  look: string;
  most: number;
  isTimed: boolean;
}

function HeatRow(props: RowProps) {
  const { store, row } = props;
  if (row.kind === "head")
    return (
      <div class="heat-head" role="row">
        <span role="gridcell" class="cut" title={row.source.file}>
          <b class="mono">{row.source.name}</b> <span class="faint">{row.source.file}</span>
        </span>
      </div>
    );
  if (row.kind === "note")
    return (
      <div class={`note ${row.note.tone}`} role="row">
        <Icon name={iconOf(row.note.tone)} />
        <span role="gridcell" class="grow says" title={`${row.note.title} ${row.note.text}`}>
          <b>{row.note.title}</b> <Prose text={row.note.text} />
        </span>
        {row.note.select && (
          <span role="gridcell">
            <Jump store={store} id={row.note.select} />
          </span>
        )}
      </div>
    );
  return <HeatLine {...props} row={row} />;
}

function HeatLine({ store, row, id, look, most, isTimed }: RowProps & { row: LineRow }) {
  const { mark } = row;
  const text = <Python text={row.text} inside={row.inside} />;
  if (!mark)
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
  const sites = mark.kernels.length ? [] : callsFrom(store, row.id);
  return (
    <div
      id={id}
      class={`heat ${look}`}
      role="row"
      aria-selected={look === "sel"}
      title={row.text.trim()}
      onClick={() => store.select(row.id)}
    >
      <span class="state" role="gridcell">
        <StateIcon state={mark.state} />
      </span>
      <span class="no" role="gridcell">
        {row.number}
      </span>
      <span class="src" role="gridcell">
        {text}
      </span>
      <span class="ks" role="gridcell">
        {mark.kernels.slice(0, 2).map((kernel) => (
          <Mark key={kernel} store={store} kernel={kernel} />
        ))}
        {mark.kernels.length > 2 && (
          <span class="faint" title={mark.kernels.join(", ")}>
            {`+${mark.kernels.length - 2}`}
          </span>
        )}
        {sites.length > 0 && (
          <span
            class="faint cut"
            title={`Inlined: ${sites.join(", ")}`}
          >{`in ${sites.join(", ")}`}</span>
        )}
      </span>
      {isTimed && (
        <span class="mb" role="gridcell">
          {mark.time_us === null ? "" : microseconds(mark.time_us)}
        </span>
      )}
      <span class="mb" role="gridcell">
        {mark.bytes ? (
          <>
            <b style={{ width: `${Math.max(1, (mark.bytes / most) * BAR)}px` }} />
            {bytes(mark.bytes)}
          </>
        ) : null}
      </span>
    </div>
  );
}

/** The lines that a call on this line was inlined to. */
function callsFrom(store: Store, line: string): string[] {
  const called = store.links.value?.calledFrom(line) ?? [];
  const labels = called.map((id) => labelOf(id, store));
  const numbers = called.map((id) => numberOf(id));
  if (labels.length > 2) return [`${labels[0]}`, `${labels.length - 1} more`];
  return labels.length === 1 || numbers.length ? labels : [];
}
