// The Numerics pane and its things: values that a part computes otherwise than eager.

import { percent, whole, writtenIn } from "../../format";
import { Belongings, Head, type RowCardProps, rowThing } from "../../inspector/parts";
import { Section } from "../../inspector/sections";
import type { World } from "../../registration";
import type { Store } from "../../store";
import { Bars } from "../../table/columns";
import { Chips, Copy, Facts } from "../../ui/basics";
import type { Deviation } from "./wire";
import { Answers, CurePrice } from "./numerics";

export const world: World<Store> = {
  panes: [
    {
      id: "numerics",
      own: { numerics: Answers },
      things: {
        deviation: rowThing((store, id) => store.row("deviations", id), {
          Card: DeviationCard,
          label: ({ kernel, value }) => [kernel, value].filter(Boolean).join(" "),
          isFollowed: true,
        }),
      },
      ties({ deviations = [] }, { both, one }) {
        for (const { id, kernel, line, node } of deviations) {
          if (kernel) both(id, kernel);
          if (line) both(id, line);
          one(id, node);
        }
      },
    },
  ],
};

function DeviationCard({ store, row }: RowCardProps<Deviation>) {
  const eps = (off: number | null) => (off === null ? "–" : `${writtenIn("eps", off)} eps`);
  const found = store.doc.value?.numerics;
  const cures = found?.cures.filter(({ id }) => row.cures.includes(id)) ?? [];
  return (
    <>
      <Head kind={`Difference, ${row.verdict}`} title={`${row.kernel ?? row.part}, ${row.value}`} />
      <Facts
        of="deviations"
        rows={[
          ["Off", eps(row.own_off)],
          ["Eager off", eps(row.eager_off)],
          ["Noise", eps(row.noise)],
          ["Differ", `${percent(row.differ)} of ${whole(row.elements)}, ${row.dtype}`],
        ]}
      />
      <Section title="Why">
        <p>{[row.cause, row.detail].filter(Boolean).join(": ")}</p>
      </Section>
      {(cures.length > 0 || row.write) && (
        <Section title="Next">
          {cures.map((cure) => (
            <CurePrice key={cure.id} store={store} cure={cure} />
          ))}
          {row.write && <Copy text={row.write} label="Copy repro" />}
        </Section>
      )}
      <Histogram row={row} />
      {row.lowerings.length > 0 && (
        <Section title="Lowered from">
          {row.lowerings.map((text) => (
            <p key={text}>{text}</p>
          ))}
        </Section>
      )}
      <Chips store={store} title="Never rounded" ids={row.never_rounded} />
      <Chips
        store={store}
        title="Computed for it"
        ids={row.cone.filter((id) => !row.never_rounded.includes(id))}
      />
      <Belongings store={store} without={["node"]} />
    </>
  );
}

/** How many elements are how many units in the last place away: grey from eager, blue from float64. */
function Histogram({ row }: { row: Deviation }) {
  const [eager, exact] = [new Map(row.histogram), new Map(row.exact_histogram)];
  const parts = [...new Set([...eager.keys(), ...exact.keys()])];
  if (!parts.length) return null;
  const first = (part: string) => (part === "NaN" ? -1 : parseInt(part));
  const share = (count = 0) => (row.elements ? count / row.elements : 0);
  return (
    <Section title="Elements by ULPs from eager, float64">
      <table class="ulps">
        <thead>
          <tr>
            <th scope="col">ULPs</th>
            <th scope="col">Eager</th>
            <th scope="col">float64</th>
            <td />
          </tr>
        </thead>
        {parts
          .sort((a, b) => first(a) - first(b))
          .map((part) => (
            <tr key={part}>
              <th scope="row">{part}</th>
              <td>{whole(eager.get(part) ?? 0)}</td>
              <td>{whole(exact.get(part) ?? 0)}</td>
              <td>
                <Bars
                  parts={[{ share: share(eager.get(part)) }, { share: share(exact.get(part)) }]}
                />
              </td>
            </tr>
          ))}
      </table>
    </Section>
  );
}
