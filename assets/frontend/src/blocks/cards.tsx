// Cards of the inspector as Python describes them: what is said of a row that is selected.

import { fieldOf, rowsAt } from "../fields";
import { sentence, writtenIn } from "../format";
import type { Kind } from "../ids";
import { Belongings, type CardProps, Head } from "../inspector/parts";
import { Section } from "../inspector/sections";
import type { Thing } from "../registration";
import type { Store } from "../store";
import { Chips, Facts, Prose, Tag } from "../ui/basics";
import type { State } from "../ui/words";
import type { CardSpec, ColumnSpec } from "../wire";

/** A kind of thing whose card and name Python describes. */
export function cardThing(kind: Kind, more: Omit<Thing<Store>, "Card" | "label"> = {}) {
  return {
    ...more,
    Card: ({ store, id }: CardProps) => <Card store={store} kind={kind} id={id} />,
    label(id: string, store: Store) {
      const found = find(store, kind, id);
      return found ? filled(found.card.label, found.row) : id;
    },
  };
}

function find(store: Store, kind: Kind, id: string) {
  const report = store.doc.value;
  for (const card of report?.cards?.[kind] ?? []) {
    const row = rowsAt(report!, card.place).find((each) => each.id === id);
    if (row) return { card, row };
  }
  return null;
}

function Card({ store, kind, id }: CardProps & { kind: Kind }) {
  const found = find(store, kind, id);
  if (!found) return <h2>{id}</h2>;
  const { card, row } = found;
  const [tag, tone] = (card.tag ?? []).map((text) => filled(text, row));
  const says = filled(card.says, row);
  const facts = card.facts.flatMap((spec) => factOf(spec, row));
  return (
    <>
      <Head kind={sentence(filled(card.caption, row))} title={filled(card.title, row)} />
      {tag && tone && (
        <p>
          <Tag tone={tone as State}>{tag}</Tag>
        </p>
      )}
      {says && (
        <p>
          <Prose text={says} />
        </p>
      )}
      <Facts of={card.of} rows={facts} />
      <Parts card={card} row={row} />
      {card.chips.map(([title, field]) => (
        <Chips key={field} store={store} title={title} ids={[fieldOf(row, field)].flat() as []} />
      ))}
      <Belongings store={store} without={card.without as Kind[]} />
    </>
  );
}

function Parts({ card, row }: { card: CardSpec; row: object }) {
  return (
    <>
      {card.parts.map(([title, text], at) => {
        const words = sentence(filled(text, row));
        if (!words) return null;
        const said = (
          <p key={at}>
            <Prose text={words} />
          </p>
        );
        return title ? (
          <Section key={at} title={title}>
            {said}
          </Section>
        ) : (
          said
        );
      })}
    </>
  );
}

/** A fact of a row with its name; none where it is not known and nothing stands for that. */
function factOf({ title, key, field = key, unit, absent }: ColumnSpec, row: object) {
  const value = fieldOf(row, field);
  const isMissing = value === null || value === "";
  if (isMissing && absent === undefined) return [];
  const count = Array.isArray(value) ? value.length : value;
  const text = isMissing ? absent! : unit ? writtenIn(unit, Number(count)) : String(count);
  return [[title, text] as [string, string]];
}

/** A text with the fields of a row; what stands in brackets goes where one in it is missing. */
export function filled(text: string, row: object): string {
  const put = (part: string) => {
    let isWhole = true;
    const words = part.replace(/\{(\w+)\}/g, (_, field: string) => {
      const value = fieldOf(row, field);
      if (value === null || value === "") isWhole = false;
      return String(value ?? "");
    });
    return { words, isWhole };
  };
  const kept = text.replace(/\[([^\]]*\{\w+\}[^\]]*)\]/g, (_, part: string) => {
    const { words, isWhole } = put(part);
    return isWhole ? words : "";
  });
  return put(kept).words;
}
