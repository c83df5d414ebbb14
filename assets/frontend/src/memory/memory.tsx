// The Memory pane: live bytes over the steps, the peak taken apart, every storage from birth to death.

import { useMemo } from "preact/hooks";
import { bytes, percent, plural } from "../format";
import type { Store } from "../store";
import { columnsOf, type Cells } from "../table/columns";
import { Table } from "../table/table";
import { titleOf, usePart } from "../ui/asked";
import { Button, Copy, Empty, plain, Segments, Select } from "../ui/basics";
import { usePaneState } from "../ui/kept";
import type { MemoryPart, MemoryShare } from "../wire";
import { Budgets } from "./budgets";
import { MemoryChart, fill } from "./chart";
import { LineRow } from "./line";
import { endOf, merged, NAME } from "./part";
import { Stack } from "./stack";
import "./memory.css";

export function MemoryPane({ store }: { store: Store }) {
  const { part, failed: error } = usePart<MemoryPart>(store, NAME);
  if (part) return <Counted store={store} part={part} />;
  const note = error
    ? plain(titleOf(store, "Memory is unknown."), error)
    : plain("Counting", "Reading the generated program.");
  return <Empty store={store} note={note} />;
}

interface Props {
  store: Store;
  part: MemoryPart;
}

const CALLERS = "weights and inputs";

function Counted({ store, part }: Props) {
  const [view, setView] = usePaneState(store, "view", "step");
  const [isBare, setBare] = usePaneState(store, "bare", false);
  const { capacity, peaks } = part;
  const variable = store.doc.value?.variable ?? "report";
  const isStep = view === "step";
  const code = isStep
    ? `wb.memory(${variable}).frame("allocations")`
    : `${variable}.frame("memory_budgets")`;
  const most = peaks.at(-1)![1];
  const parts = peaks.filter(([scope]) => PARTS.has(scope)); // the sentence has the whole
  return (
    <>
      <div class="bar">
        <h2>Memory</h2>
        <Segments of={VIEWS} value={view} set={setView} />
        <span class="tag plain">counted</span>
        <span class="faint cut" data-tip="">
          {[
            ...parts.map(([scope, size]) => `${scope} ${bytes(size)}`),
            ...(capacity !== null && most / capacity >= 0.01
              ? [`${percent(most / capacity)} of ${store.doc.value?.target}'s ${bytes(capacity)}`]
              : []),
          ].join(", ")}
        </span>
        <span class="grow" />
        {isStep && (
          <Button
            tip="Memory that the caller holds during the whole call"
            isPressed={isBare}
            press={() => setBare(!isBare)}
          >
            {isBare ? `Show ${CALLERS}` : `Hide ${CALLERS}`}
          </Button>
        )}
        <Copy quiet text={code} label="DataFrame" title={`Copy ${code}`} />
      </div>
      {isStep ? <Step store={store} part={part} isBare={isBare} /> : <Budgets store={store} />}
    </>
  );
}

const PARTS = new Set(["forward", "backward"]);
const VIEWS = [
  ["step", "This call"],
  ["budgets", "Memory budgets"],
] as const;

/** What lives when, the peak, and every storage. */
function Step({ store, part, isBare }: Props & { isBare: boolean }) {
  const { missing } = part;
  const [first, ...rest] = part.sentence.split(/(?<=\.) /);
  const more = [...rest, ...(missing ? [`Not included: ${missing}.`] : [])];
  return (
    <>
      <p class="pane-says">{first}</p>
      {more.length > 0 && <p class="memory-note mut">{more.join(" ")}</p>}
      <div class="memory-top">
        <div>
          <MemoryChart store={store} part={part} isBare={isBare} />
          <div class="memory-kinds">
            {part.layers
              .filter(({ mark }) => !isBare || mark !== "ext")
              .map(({ kind, mark }) => (
                <span key={kind} class={mark === "ext" ? "held" : ""} style={fill(mark)}>
                  <i />
                  {kind}
                </span>
              ))}
            <span class="mut" data-tip={part.eager?.[1]}>
              {part.eager ? "dotted: eager" : "eager's peak was not counted"}
            </span>
          </div>
        </div>
        <Peak store={store} part={part} />
      </div>
      {part.storages.length > 0 && <Storages store={store} part={part} />}
    </>
  );
}

/** What the peak is made of, by line, module or kind, and what could be spared. */
function Peak({ store, part }: Props) {
  const [by, setBy] = usePaneState(store, "by", "line");
  const shares = part.at_peak[by] ?? [];
  const { remarks } = part;
  const isSpare = by === SPARE;
  const ways = [
    ...Object.keys(part.at_peak),
    ...(part.stack.length ? [STACK] : []),
    ...(remarks.length ? [SPARE] : []),
  ];
  return (
    <div class="memory-peak" role="group" aria-label="Live memory at the peak">
      <div class="row">
        <b class="grow">{isSpare ? "To spare" : "At the peak"}</b>
        <Segments of={ways.map((each) => [each, each])} value={by} set={setBy} />
      </div>
      {by === STACK && <Stack store={store} frames={part.stack} />}
      <ul class="memory-list">
        {isSpare
          ? remarks.map((each) => (
              <LineRow
                key={each.text}
                store={store}
                line={each.line}
                name={each.text}
                isText
                bytes={each.bytes}
                share={each.bytes / remarks[0]!.bytes}
              />
            ))
          : shares.map((share) => (
              <Share key={share.name} store={store} share={share} most={shares[0]!.bytes} />
            ))}
      </ul>
    </div>
  );
}

const SPARE = "spare";
const STACK = "stack";

/** A share; of equal layers with what is in them, open where the peak is made. */
function Share({ store, share, most }: { store: Store; share: MemoryShare; most: number }) {
  const { name, line, times, parts, peak } = share;
  const [isOpen, setOpen] = usePaneState(store, `open ${name}`, peak);
  const inner = parts.map((part) => (
    <Share key={part.name} store={store} share={part} most={most} />
  ));
  return (
    <LineRow
      store={store}
      line={line}
      name={name}
      bytes={share.bytes}
      share={share.bytes / most}
      more={times > 1 ? `${eachWords(share)} each` : undefined}
      note={[times > 1 && `× ${times}`, peak && AT_PEAK].filter(Boolean).join(", ")}
      open={parts.length ? { isOpen, turn: () => setOpen(!isOpen), inner } : undefined}
    >
      {times > 1 && <b class="times">{` × ${times}`}</b>}
      {peak && " "}
      {peak && <span class="tag plain">{AT_PEAK}</span>}
    </LineRow>
  );
}

/** What one of several equal layers holds. */
export function eachWords({ each: [least, most] }: MemoryShare): string {
  const [low, high] = [bytes(least), bytes(most)];
  return low === high ? low : `${low} to ${high}`;
}

function Storages({ store, part }: Props) {
  const [wanted, setWhich] = usePaneState(store, "which", "");
  const [each, setEach] = usePaneState(store, "each", false);
  const selected = store.selected.value;
  const kinds = [AT_PEAK, ...part.layers.map(({ kind }) => kind)];
  const which = kinds.includes(wanted) ? wanted : "";
  const rows = useMemo(
    () =>
      part.storages.filter(
        ({ at_peak, kind }) => !which || (which === AT_PEAK ? at_peak : kind === which),
      ),
    [part, which],
  );
  const shown = useMemo(
    () => (each ? rows.map((row) => ({ ...row, all: [row] })) : merged(rows, selected)),
    [rows, each, selected],
  );
  const columns = useMemo(
    () => columnsOf(store, "storages", part.columns, shown, cellsOf(part)),
    [store, part, shown],
  );
  return (
    <>
      <div class="bar edge">
        <h2>Storages</h2>
        <Select
          label="Which storages"
          of={[
            ["", `All (${part.storages.length})`],
            ...kinds.map((kind) => [kind, kind] as const),
          ]}
          value={which}
          set={setWhich}
        />
        {part.storages.some(({ id, same }) => id !== same) && (
          <Button
            tip="Show matching storages of identical layers as one row with their sum"
            isPressed={each}
            press={() => setEach(!each)}
          >
            Each
          </Button>
        )}
      </div>
      <Table
        store={store}
        label="Storages"
        columns={columns}
        rows={shown}
        order={{ key: "bytes", direction: "desc" }}
        open={({ start }) => store.select(part.kernels[start] ?? null, { pane: "kernels" })}
      />
    </>
  );
}

const AT_PEAK = "at the peak";

type Shown = ReturnType<typeof merged>[number];

function cellsOf(part: MemoryPart): Cells<Shown> {
  const count = part.kernels.length;
  return {
    value: {
      draw: ({ value, in_layers, all, kind }) =>
        all.length > 1 ? (
          <span class="row">
            <span class="cut">{kind === "weights" || kind === "input" ? in_layers : value}</span>
            <b>{`× ${all.length}`}</b>
          </span>
        ) : (
          value
        ),
      full: ({ value, reuse, in_layers, all }) =>
        all.length > 1
          ? `${value}, × ${all.length}: the same in ${plural(all.length - 1, "other layer")}, ${in_layers}`
          : [value, reuse].filter(Boolean).join(": "),
    },
    lives: {
      full: ({ start, end }) => `step ${start} to ${end ?? "the end, and longer"}`,
      draw: (row) => (
        <span class={row.mark === "ext" ? "life held" : "life"}>
          {row.all.map((each) => (
            <i
              key={each.id}
              style={{
                ...fill(row.mark),
                left: `${(100 * each.start) / count}%`,
                width: `${(100 * (endOf(part, each) + 1 - each.start)) / count}%`,
              }}
            />
          ))}
          <u style={{ left: `${(100 * (part.peaks.at(-1)![2] + 0.5)) / count}%` }} />
        </span>
      ),
    },
  };
}
