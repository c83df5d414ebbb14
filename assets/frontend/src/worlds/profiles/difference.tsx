// The view of two profiles: what takes more or less time, each row's times and change on one axis.

import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { microseconds } from "../../format";
import { PaneStates } from "../../panestates";
import type { RecordsHost } from "../../opened/host";
import { Frame, useFrame } from "../../shell/frame";
import type { KeyWords } from "../../shell/keys";
import type { Cells } from "../../table/columns";
import { type ShownRow, ShownTable } from "../../table/shown";
import type { Selecting } from "../../table/table";
import { usePaneState } from "../../ui/kept";
import type { ProfileCard, ProfileDiffDocument } from "./wire";
import { Card } from "./beside";
import "./profile.css";

const KEYS: readonly KeyWords[] = [
  { keys: ["1", "4"], words: "switch table", isRange: true },
  { keys: ["↑", "↓"], words: "previous or next row" },
  { keys: ["Esc"], words: "clear the selection" },
];

export class ProfileDiffState implements Selecting {
  readonly paneStates = new PaneStates();
  readonly pane: Signal<string> = signal("modules");
  readonly selected: Signal<string | null> = signal(null);
  readonly doc: ReadonlySignal<ProfileDiffDocument | null>;
  readonly related: ReadonlySignal<ReadonlySet<string>>;
  readonly card: ReadonlySignal<ProfileCard | undefined>;

  constructor(readonly host: RecordsHost<ProfileDiffDocument>) {
    this.doc = computed(() => host.document.value);
    this.related = computed(() => new Set(this.doc.value?.ties[this.selected.value ?? ""]));
    this.card = computed(() => this.doc.value?.cards[this.selected.value ?? ""]);
  }

  select(id: string | null): void {
    this.selected.value = id;
  }

  close(): void {
    this.host.close();
  }
}

export function ProfileDiffShell({ state }: { state: ProfileDiffState }) {
  const doc = state.doc.value;
  const [width, setWidth] = usePaneState(state, "width", 320);
  const table = doc?.tables.find(({ id }) => id === state.pane.value) ?? doc?.tables[0];
  const card = state.card.value;
  return (
    <Frame
      frame={useFrame()}
      view={state}
      look="profile prof-diff"
      label="Two profiles"
      tabsLabel="Tables of the difference"
      tabs={(doc?.tables ?? []).map(({ id, title, rows, more }) => ({
        id,
        title,
        count: rows.length + more,
      }))}
      show={(id) => (state.pane.value = id)}
      head={
        <h1 class="grow cut" data-tip="">
          {doc?.names.join(" → ")}
        </h1>
      }
      above={
        <section class="answer" role="group" aria-label="Answer">
          <p>{doc?.sentence}</p>
          {doc?.warnings.map((note) => (
            <p key={note} class="prof-note">
              {note}
            </p>
          ))}
        </section>
      }
      lost={state.host.lost.value}
      beside={{
        width,
        setWidth,
        panel: (
          <div class="prof-beside">
            <Card card={card} hint="Click a row to see its details and related rows here." />
          </div>
        ),
      }}
      status={
        <div class="status">
          <span class="path" role="status" aria-live="polite">
            {card?.path ?? "Nothing selected"}
          </span>
        </div>
      }
      keys={KEYS}
      press={({ key }) => key === "Escape" && (state.select(null), true)}
    >
      {doc && table && (
        <ShownTable
          key={table.id}
          store={state}
          table={table}
          code={`${doc.variable}.frame("${table.id}")`}
          cells={CELLS}
        />
      )}
    </Frame>
  );
}

const CELLS: Cells<ShownRow> = {
  both: {
    draw: ({ a_part, b_part }) => (
      <span class="prof-both">
        <i style={{ width: `${Number(a_part) * 100}%` }} />
        <i style={{ width: `${Number(b_part) * 100}%` }} />
      </span>
    ),
  },
  difference_us: {
    draw: ({ difference_us, change_part }) => {
      const [change, part] = [Number(difference_us), Number(change_part) * 50];
      const sign = change > 0 ? "+" : change < 0 ? "−" : "";
      return (
        <span class="prof-near">
          <span class="prof-axis">
            <i style={{ left: `${50 + Math.min(0, part)}%`, width: `${Math.abs(part)}%` }} />
          </span>
          <span class="num">{`${sign}${microseconds(Math.abs(change))}`}</span>
        </span>
      );
    },
  },
};
