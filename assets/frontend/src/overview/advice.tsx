// What to change: the changes that save most, each with its line, and tried in place.

import { useEffect, useRef, useState } from "preact/hooks";
import { ChangeLines, TryIt, whyNotTried } from "../changes/change";
import { DiffShell } from "../diff/shell";
import { DiffState } from "../diff/state";
import type { Store } from "../store";
import { useAttempt } from "../ui/asked";
import { Button, Frame, Problem, Prose } from "../ui/basics";
import { Icon } from "../ui/icons";
import { usePaneState } from "../ui/kept";
import { termOf } from "../ui/terms";
import type { Advice as Given, DiffDocument, Opportunity, TriedChange } from "../wire";
import { type Axis, AxisHead, axisOf, isClear, Mark, Pairs, savingWords } from "./axis";
import "./advice.css";

/** How many stand there at once. */
const FEW = 3;

export function Advice({ store, advice }: { store: Store; advice: Given }) {
  const [open, setOpen] = usePaneState<string | null>(store, "advice", null);
  const [isAll, setAll] = usePaneState(store, "all advice", false);
  if (!advice.rows.length) return advice.none ? <p class="advice none">{advice.none}</p> : null;
  const axis = axisOf(advice.rows);
  const hidden = advice.rows.length - FEW;
  return (
    <section class={axis ? "advice timed" : "advice"} role="group" aria-label="What to change">
      <div class="row">
        <h2>What to change</h2>
        <span class="faint grow">{advice.more > 0 && `${advice.more} more in the DataFrame`}</span>
        <Frame store={store} name="opportunities" />
      </div>
      {axis && (
        <div class="item top">
          <span>Change</span>
          <AxisHead axis={axis} />
          <span class="num">Change of a call</span>
        </div>
      )}
      <ol>
        {(isAll ? advice.rows : advice.rows.slice(0, FEW)).map((item) => (
          <Row
            key={item.id}
            store={store}
            item={item}
            axis={axis}
            isOpen={open === item.id}
            turn={() => setOpen(open === item.id ? null : item.id)}
          />
        ))}
      </ol>
      {hidden > 0 && (
        <div class="row">
          <Button look="link" press={() => setAll(!isAll)}>
            {isAll ? "Fewer" : `${hidden} more`}
          </Button>
        </div>
      )}
    </section>
  );
}

interface RowProps {
  store: Store;
  item: Opportunity;
  axis: Axis | null;
  isOpen: boolean;
  turn(): void;
}

function Row({ store, item, axis, isOpen, turn }: RowProps) {
  const { line_id, place, tried } = item;
  const { title, why } = item.change;
  const [saving, source] = savingWords(item);
  const isGrey = !!tried?.times && !isClear(tried.times);
  return (
    <li>
      <div class="item">
        <div class="change">
          <button
            type="button"
            class="says"
            aria-expanded={isOpen}
            data-tip={item.text}
            onClick={turn}
          >
            <Icon name={isOpen ? "down" : "right"} />
            <span class="cut">
              <Prose text={title} />
            </span>
          </button>
          <div class="why">
            <span class="cut" data-tip={why}>
              {why.replaceAll("`", "")}
            </span>
            {line_id && place ? (
              <Button look="link" tip={place} press={() => store.select(line_id)}>
                {`line ${place.split(":").pop()}`}
              </Button>
            ) : (
              place && <span>{place}</span>
            )}
          </div>
        </div>
        {axis && <Mark axis={axis} item={item} />}
        <div class="saving" data-tip={tried ? tried.checked : `${item.saving} ${item.source}`}>
          <span class={isGrey ? "grey" : "sum"}>{saving}</span>
          <span class="cap">{source}</span>
        </div>
        {tried ? (
          <Compare store={store} tried={tried} />
        ) : (
          <TryIt host={store.host} change={item.change} isShort />
        )}
      </div>
      {tried?.times && <Pairs times={tried.times} agrees={tried.agrees} />}
      {isOpen && <Details store={store} item={item} />}
    </li>
  );
}

function Details({ store, item }: { store: Store; item: Opportunity }) {
  const why = whyNotTried({ host: store.host, change: item.change });
  return (
    <div class="more">
      <p>
        <Prose text={item.text} />
      </p>
      <ChangeLines change={item.change} />
      {!item.tried && <p>{item.saving}</p>}
      <p class="mut">{`${item.source} ${item.sure_words}`}</p>
      {item.tried ? (
        <Measured item={item} tried={item.tried} />
      ) : (
        <p class="mut">{why ?? "Tried on a copy; this report is unchanged."}</p>
      )}
    </div>
  );
}

function Measured({ item, tried }: { item: Opportunity; tried: TriedChange }) {
  return (
    <>
      <table class="tried">
        <caption class="sr">{`What ${item.rule} changed`}</caption>
        <tbody>
          {tried.rows.map(([name, before, after]) => (
            <tr key={name}>
              <th scope="row" data-tip={termOf("tried", "*")}>
                {name}
              </th>
              <td class="num">{before}</td>
              <td class="num">{`→ ${after}`}</td>
            </tr>
          ))}
          <tr>
            <th scope="row" data-tip={termOf("tried", "Predicted")}>
              Predicted
            </th>
            <td colSpan={2}>{item.saving.replace(/^Saves /, "").replace(/\.$/, "")}</td>
          </tr>
        </tbody>
      </table>
      {tried.times && <p>{tried.times.sentence}</p>}
      <p class={tried.agrees === false ? "st-break" : ""}>{tried.checked}</p>
    </>
  );
}

function Compare({ store, tried }: { store: Store; tried: TriedChange }) {
  const [shown, show] = useState<DiffState | null>(null);
  const [error, attempt] = useAttempt();
  const lost = store.host.lost.value;
  const open = () => {
    const found = store.host.part<DiffDocument>(tried.part);
    void attempt(found.then((shown) => show(new DiffState(shown))));
  };
  return (
    <>
      <Button tip={lost ?? undefined} isOff={lost !== null} press={open}>
        Compare
      </Button>
      <Problem title="No comparison." text={error} />
      {shown && <Comparison state={shown} close={() => show(null)} />}
    </>
  );
}

/** The difference of the two compilations, over the view. */
function Comparison({ state, close }: { state: DiffState; close(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class="compared"
      aria-label="Without and with the change"
      onClose={close}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <DiffShell state={state} />
      <div class="row">
        <span class="grow" />
        <Button press={() => dialog.current?.close()}>Close</Button>
      </div>
    </dialog>
  );
}
