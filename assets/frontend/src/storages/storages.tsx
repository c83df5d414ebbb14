// The Memory pane: live bytes over the steps, the peak taken apart, every storage from birth to death.

import { useMemo } from "preact/hooks";
import { bytes, percent } from "../format";
import type { Store } from "../store";
import { Bars, columnsOf, type Cells } from "../table/columns";
import { Table } from "../table/table";
import { Copy, Empty } from "../ui/basics";
import { usePaneState } from "../ui/kept";
import type { MemoryPart, MemoryShare, MemoryStorage } from "../wire";
import { MemoryChart, fill } from "./chart";
import { endOf, useMemoryPart } from "./part";
import "./storages.css";

export function MemoryPane({ store }: { store: Store }) {
  const [part, error] = useMemoryPart(store);
  if (part) return <Counted store={store} part={part} />;
  const note = error
    ? { title: "No memory is known.", text: error, tone: "plain" as const }
    : { title: "Counting", text: "The generated program is being read.", tone: "plain" as const };
  return <Empty store={store} note={note} />;
}

interface Props {
  store: Store;
  part: MemoryPart;
}

const CALLERS = "weights and inputs";

function Counted({ store, part }: Props) {
  const [isBare, setBare] = usePaneState(store, "bare", false);
  const { capacity, peaks, sentence, missing } = part;
  const variable = store.doc.value?.variable ?? "report";
  const code = `wb.memory(${variable}).frame("allocations")`;
  const most = peaks.at(-1)![1];
  return (
    <>
      <div class="bar">
        <h2>Memory</h2>
        <span class="tag plain">counted</span>
        <span class="faint cut" data-tip="">
          {peaks.map(([scope, size]) => `${scope} ${bytes(size)}`).join(", ")}
          {capacity !== null &&
            most / capacity >= 0.01 &&
            `; ${percent(most / capacity)} of ${store.doc.value?.target}'s ${bytes(capacity)}`}
        </span>
        <span class="grow" />
        <button
          type="button"
          class="btn"
          aria-pressed={isBare}
          data-tip="What the caller holds all the time"
          onClick={() => setBare(!isBare)}
        >
          {isBare ? `Show ${CALLERS}` : `Hide ${CALLERS}`}
        </button>
        <Copy quiet text={code} label="DataFrame" title={`Copy ${code}`} />
      </div>
      <p class="mem-note">
        {sentence} {missing && <span class="mut">{`Not in it: ${missing}.`}</span>}
      </p>
      <div class="mem-top">
        <div>
          <MemoryChart store={store} part={part} isBare={isBare} />
          <div class="mem-kinds">
            {part.layers
              .filter(({ mark }) => !isBare || mark !== "ext")
              .map(({ kind, mark }) => (
                <span key={kind} class={mark === "ext" ? "held" : ""} style={fill(mark)}>
                  <i />
                  {kind}
                </span>
              ))}
          </div>
        </div>
        <Peak store={store} part={part} />
      </div>
      {part.storages.length > 0 && <Storages store={store} part={part} />}
    </>
  );
}

/** What the peak is made of, by line, module or kind. */
function Peak({ store, part }: Props) {
  const [by, setBy] = usePaneState(store, "by", "line");
  const shares = part.at_peak[by] ?? [];
  return (
    <div class="mem-peak" role="group" aria-label="What lives at the peak">
      <div class="row">
        <b class="grow">At the peak</b>
        <span class="seg small">
          {Object.keys(part.at_peak).map((each) => (
            <button
              key={each}
              type="button"
              class="btn"
              aria-pressed={each === by}
              onClick={() => setBy(each)}
            >
              {each}
            </button>
          ))}
        </span>
      </div>
      <ul>
        {shares.map((share) => (
          <Share key={share.name} store={store} share={share} most={shares[0]!.bytes} />
        ))}
      </ul>
    </div>
  );
}

function Share({ store, share, most }: { store: Store; share: MemoryShare; most: number }) {
  const { name, line } = share;
  const known = line === null ? null : store.line(line);
  const is =
    line === null
      ? ""
      : line === store.selected.value
        ? "sel"
        : store.related.value.has(line)
          ? "rel"
          : "";
  const words = (
    <>
      <span class="cut" data-tip={known ? `${name}: ${known.text.trim()}` : name}>
        {known ? (
          <>
            <span class="mut">{known.number}</span> <span class="mono">{known.text.trim()}</span>
          </>
        ) : (
          name
        )}
      </span>
      <span class="num">{bytes(share.bytes)}</span>
      <Bars parts={[{ share: share.bytes / most, look: "accent" }]} />
    </>
  );
  return (
    <li class={is}>
      {line === null ? (
        <span>{words}</span>
      ) : (
        <button type="button" onClick={() => store.select(line)}>
          {words}
        </button>
      )}
    </li>
  );
}

function Storages({ store, part }: Props) {
  const [which, setWhich] = usePaneState(store, "which", "");
  const rows = useMemo(
    () =>
      part.storages.filter(
        ({ at_peak, kind }) => !which || (which === AT_PEAK ? at_peak : kind === which),
      ),
    [part, which],
  );
  const columns = useMemo(
    () => columnsOf(store, part.columns, rows, cellsOf(part)),
    [store, part, rows],
  );
  return (
    <>
      <div class="bar edge">
        <h2>Storages</h2>
        <select
          class="btn"
          aria-label="Which storages"
          value={which}
          onChange={(event) => setWhich(event.currentTarget.value)}
        >
          <option value="">{`All (${part.storages.length})`}</option>
          {[AT_PEAK, ...part.layers.map(({ kind }) => kind)].map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </div>
      <Table
        store={store}
        label="Storages"
        columns={columns}
        rows={rows}
        id={(row) => row.id}
        order={{ key: "bytes", direction: "desc" }}
        open={({ start }) => store.select(part.kernels[start] ?? null, { pane: "kernels" })}
      />
    </>
  );
}

const AT_PEAK = "at the peak";

function cellsOf(part: MemoryPart): Cells<MemoryStorage> {
  const count = part.kernels.length;
  return {
    value: { full: ({ value, reuse }) => [value, reuse].filter(Boolean).join(": ") },
    lives: {
      full: ({ start, end }) => `step ${start} to ${end ?? "the end, and longer"}`,
      draw: (row) => (
        <span class={row.mark === "ext" ? "life held" : "life"}>
          <i
            style={{
              ...fill(row.mark),
              left: `${(100 * row.start) / count}%`,
              width: `${(100 * (endOf(part, row) + 1 - row.start)) / count}%`,
            }}
          />
          <u style={{ left: `${(100 * (part.peaks.at(-1)![2] + 0.5)) / count}%` }} />
        </span>
      ),
    },
  };
}
