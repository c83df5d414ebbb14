// A choice of the autotuner in the inspector.

import { seconds } from "../format";
import type { CardProps } from "../inspector/parts";
import { Facts, Prose, Tag } from "../ui/basics";

export function ChoiceCard({ store, id }: CardProps) {
  const choice = store.doc.value?.choices.find((each) => each.id === id);
  if (!choice) return <h2>{id}</h2>;
  return (
    <>
      <div class="kind">{`Choice for ${choice.op}`}</div>
      <h2>{choice.choice}</h2>
      {choice.chosen && <Tag tone="captured">Chosen</Tag>}
      <Facts
        rows={[
          ["Kind", choice.kind],
          ["Time", choice.time_ms === null ? "not timed" : seconds(choice.time_ms / 1e3)],
        ]}
      />
      {choice.note && (
        <p>
          <Prose text={choice.note} />
        </p>
      )}
    </>
  );
}
