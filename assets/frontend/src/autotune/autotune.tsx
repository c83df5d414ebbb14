// Autotune: the choices for each operation with their measured times, and what a model ranked.

import { useMemo } from "preact/hooks";
import { plural, seconds } from "../format";
import { kindOf } from "../ids";
import type { Store } from "../store";
import { RankedConfigs } from "../ranked/ranked";
import { Table, type Column } from "../table/table";
import { Frame, Mark, Message, Tag } from "../ui/basics";
import type { Choice } from "../wire";

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
  return 60 + 24 * Math.min(8, choices.length) + (isTimed ? 0 : 54);
}

function Choices({ store, choices }: { store: Store; choices: Choice[] }) {
  const columns = useMemo(() => choiceColumns(store, choices), [store, choices]);
  const isTimed = choices.some((choice) => choice.time_ms !== null);
  const ops = new Set(choices.map((choice) => choice.op)).size;
  return (
    <>
      <div class="bar">
        <h2>Choices</h2>
        <span class="faint">{`${plural(choices.length, "choice")} for ${plural(ops, "operation")}`}</span>
        <span class="grow" />
        <Frame store={store} name="autotune" />
      </div>
      {!isTimed && (
        <Message
          note={{
            title: "Nothing was timed.",
            text: "The choices are listed as the compiler ranked them; with a device in this machine the pane shows their measured times.",
            tone: "plain",
          }}
        />
      )}
      <Table
        store={store}
        label="Autotune choices"
        columns={columns}
        rows={choices}
        id={(choice) => choice.id}
        none="The autotuner had nothing to choose."
      />
    </>
  );
}

function choiceColumns(store: Store, choices: Choice[]): Column<Choice>[] {
  const most = Math.max(1e-9, ...choices.map((choice) => choice.time_ms ?? 0));
  const isTimed = choices.some((choice) => choice.time_ms !== null);
  const columns: Column<Choice>[] = [
    {
      key: "op",
      title: "Operation",
      width: "minmax(80px, 0.5fr)",
      value: (choice) => choice.op,
      draw: (choice) =>
        kindOf(choice.op) === "kernel" ? <Mark store={store} kernel={choice.op} /> : choice.op,
      look: "mono",
    },
    {
      key: "choice",
      title: "Choice",
      width: "minmax(120px, 1.8fr)",
      value: (c) => c.choice,
      look: "mono",
    },
    {
      key: "kind",
      title: "Kind",
      width: "minmax(80px, 0.8fr)",
      value: (c) => c.kind,
      look: "mut",
      wide: true,
    },
    {
      key: "state",
      title: "State",
      width: "minmax(90px, 0.5fr)",
      value: (choice) => stateOf(choice),
      full: (choice) => choice.note ?? stateOf(choice),
      draw: (choice) =>
        choice.chosen ? (
          <Tag tone="captured">chosen</Tag>
        ) : (
          <span class="mut">{stateOf(choice)}</span>
        ),
    },
    {
      key: "time",
      title: "Time",
      width: "80px",
      value: (choice) => choice.time_ms,
      draw: (choice) =>
        choice.time_ms === null ? (
          <span class="mut">not timed</span>
        ) : (
          seconds(choice.time_ms / 1e3)
        ),
      number: true,
    },
  ];
  if (!isTimed) return columns;
  const bar: Column<Choice> = {
    key: "bar",
    title: "Measured",
    width: "minmax(60px, 0.8fr)",
    value: (choice) => choice.time_ms,
    full: (choice) => choice.note ?? "",
    draw: (choice) => (
      <span class="meter">
        <b
          class={choice.chosen ? "accent" : ""}
          style={{ width: `${((choice.time_ms ?? 0) / most) * 100}%` }}
        />
      </span>
    ),
  };
  return [...columns, bar];
}

function stateOf(choice: Choice): string {
  if (choice.chosen) return "chosen";
  return choice.time_ms === null && choice.note ? "failed" : "alternative";
}
