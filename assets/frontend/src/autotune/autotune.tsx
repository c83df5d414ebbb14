// Autotune: the choices for each operation with their measured times, and what a model ranked.

import { useMemo } from "preact/hooks";
import { seconds } from "../format";
import { kindOf } from "../ids";
import type { Store } from "../store";
import { Bars, type Cells, RecordTable, shareOf } from "../table/columns";
import { Frame, Mark, Message, plain, Tag } from "../ui/basics";
import type { Choice } from "../wire";
import { RankedConfigs } from "./ranked";

export function AutotunePane({ store }: { store: Store }) {
  const choices = store.doc.value?.choices ?? [];
  const ranked = store.doc.value?.ranked ?? [];
  if (!ranked.length) return <Choices store={store} choices={choices} />;
  return (
    <>
      {choices.length > 0 && (
        <div class="choices" style={{ flexBasis: `${heightOf(choices)}px` }}>
          <Choices store={store} choices={choices} />
        </div>
      )}
      <RankedConfigs store={store} all={ranked} />
    </>
  );
}

/** The height of the bar, the head and at most eight rows, and of the message that none was timed. */
function heightOf(choices: readonly Choice[]): number {
  const isTimed = choices.some((choice) => choice.time_ms !== null);
  return 125 + 24 * Math.min(8, choices.length) + (isTimed ? 0 : 54);
}

function Choices({ store, choices }: { store: Store; choices: Choice[] }) {
  const cells = useMemo(() => choiceCells(store, choices), [store, choices]);
  const isTimed = choices.some((choice) => choice.time_ms !== null);
  const says = store.doc.value?.autotune_says;
  return (
    <>
      {says && <p class="pane-says">{says}</p>}
      <div class="bar">
        <h2>Choices</h2>
        <span class="faint">best first</span>
        <span class="grow" />
        <Frame store={store} name="autotune" />
      </div>
      {!isTimed && (
        <Message
          note={plain(
            "Nothing was timed.",
            "The choices are listed as the compiler ranked them; with a device in this machine the pane shows their measured times.",
          )}
        />
      )}
      <RecordTable
        store={store}
        label="Autotune choices"
        table="choices"
        cells={cells}
        rows={choices}
        none="The autotuner had nothing to choose."
      />
      <Total choices={choices} />
    </>
  );
}

/** What is chosen takes in all, with what the best of each operation would. */
function Total({ choices }: { choices: readonly Choice[] }) {
  const sum = (rows: readonly Choice[]) =>
    rows.reduce((total, { time_ms }) => total + (time_ms ?? 0), 0);
  const chosen = choices.filter(({ chosen, time_ms }) => chosen && time_ms !== null);
  if (!chosen.length) return null;
  return (
    <p class="pane-total">
      <b>Total of what was chosen</b> <b class="num">{seconds(sum(chosen) / 1e3)}</b>
    </p>
  );
}

function choiceCells(store: Store, choices: readonly Choice[]): Cells<Choice> {
  const share = shareOf(choices, (choice) => choice.time_ms ?? 0);
  return {
    op: {
      draw: ({ op }) => (kindOf(op) === "kernel" ? <Mark store={store} kernel={op} /> : op),
    },
    state: {
      draw: ({ state, chosen }) =>
        chosen ? <Tag tone="captured">{state}</Tag> : <span class="mut">{state}</span>,
    },
    bar: {
      full: (choice) => choice.note ?? "",
      draw: (choice) => (
        <Bars parts={[{ share: share(choice), look: choice.chosen ? "accent" : "" }]} />
      ),
    },
  };
}
