// A bar for each stage that may depart from eager, five questions answered, what to change.

import { ChangeLines, TryIt } from "../../changes/change";
import { writtenIn } from "../../format";
import type { Store } from "../../store";
import { Prose } from "../../ui/basics";
import type { ProposedChange } from "../../wire";
import type { StageBar } from "./wire";
import "./numerics.css";

export function Answers({ store }: { store: Store }) {
  const found = store.doc.value?.numerics;
  if (!found) return null;
  const cure = found.cures.find(({ id }) => id === found.cure);
  return (
    <div class="nums">
      <Stages store={store} stages={found.stages} />
      <dl>
        {found.answers.map(([question, answer], at) => (
          <>
            <dt>{question}</dt>
            <dd>
              <Prose text={answer} />
              {at === 4 && cure && !cure.outcome && (
                <TryIt host={store.host} change={cure} isShort />
              )}
            </dd>
          </>
        ))}
      </dl>
      <Prices store={store} cures={found.cures.filter((each) => each !== cure)} />
    </div>
  );
}

/** Changes that may take deviations away, with what each removes and costs, or its trial. */
function Prices({ store, cures }: { store: Store; cures: readonly ProposedChange[] }) {
  if (!cures.length) return null;
  return (
    <table class="prices" aria-label="Other options">
      {cures.map((cure) => (
        <tr key={cure.id}>
          <th scope="row" class="mono" data-tip={cure.why}>
            {cure.title}
          </th>
          <td>{cure.outcome?.words ?? <TryIt host={store.host} change={cure} isShort />}</td>
        </tr>
      ))}
    </table>
  );
}

/** An option, what it removes and costs, or the button that measures it. */
export function CurePrice({ store, cure }: { store: Store; cure: ProposedChange }) {
  return (
    <>
      <ChangeLines change={cure} />
      <p>{cure.outcome?.words ?? cure.why}</p>
      {!cure.outcome && <TryIt host={store.host} change={cure} isShort />}
    </>
  );
}

/** Distances below are as good as nothing: where the logarithmic scale begins. */
const LEAST = 0.01;

/** What each stage departs by itself at the most, with eager and the noise for the same value. */
function Stages({ store, stages }: { store: Store; stages: readonly StageBar[] }) {
  const offs = stages.flatMap(({ own_off, eager_off, noise }) => [own_off, eager_off, noise]);
  const decades = Math.max(1, ...offs.map((off) => Math.ceil(Math.log10(off || LEAST)))) + 2;
  const at = (off: number) =>
    `${(100 * Math.max(0, Math.log10(Math.max(off, LEAST)) + 2)) / decades}%`;
  const step = Math.ceil(decades / 4);
  return (
    <figure aria-label="Local error of each stage">
      {stages.map(({ stage, said, words, own_off, eager_off, noise, row }) => (
        <button
          key={stage}
          type="button"
          class={row !== null && row === store.selected.value ? "sel" : ""}
          disabled={row === null}
          data-tip={words}
          onClick={() => store.select(row)}
        >
          <span>{stage}</span>
          <span class="track">
            {own_off !== null && <b style={{ width: at(own_off) }} />}
            {noise !== null && <u style={{ left: at(noise) }} />}
            {eager_off !== null && <i style={{ left: at(eager_off) }} />}
          </span>
          <span class="cut">{said}</span>
        </button>
      ))}
      <div>
        <span />
        <span class="track">
          {Array.from({ length: Math.floor(decades / step) + 1 }, (_, i) => (
            <em key={i} style={{ left: at(10 ** (i * step - 2)) }}>
              {writtenIn("eps", 10 ** (i * step - 2))}
            </em>
          ))}
        </span>
      </div>
      <figcaption class="mut">
        <b /> error against float64 (eps) <i /> eager <u /> noise floor
      </figcaption>
    </figure>
  );
}
