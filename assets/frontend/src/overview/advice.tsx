// What to change: the changes that save most, each with its line, and tried in place.

import { useEffect, useRef, useState } from "preact/hooks";
import { Change, TryIt } from "../breaks/change";
import { DiffShell } from "../diff/shell";
import { DiffState } from "../diff/state";
import type { Store } from "../store";
import { useAttempt } from "../ui/asked";
import { Button, Frame, Problem, Prose } from "../ui/basics";
import { Icon } from "../ui/icons";
import { usePaneState } from "../ui/kept";
import type { Advice as Given, DiffDocument, Opportunity, TriedChange } from "../wire";
import "./advice.css";

export function Advice({ store, advice }: { store: Store; advice: Given }) {
  const [open, setOpen] = usePaneState<string | null>(store, "advice", null);
  if (!advice.rows.length) return advice.none ? <p class="advice none">{advice.none}</p> : null;
  return (
    <section class="advice" role="group" aria-label="What to change">
      <div class="row">
        <h2>What to change</h2>
        <span class="faint grow">{advice.more > 0 && `${advice.more} more in the DataFrame`}</span>
        <Frame store={store} name="opportunities" />
      </div>
      <ol>
        {advice.rows.map((item) => (
          <Row
            key={item.id}
            store={store}
            item={item}
            isOpen={open === item.id}
            turn={() => setOpen(open === item.id ? null : item.id)}
          />
        ))}
      </ol>
    </section>
  );
}

interface RowProps {
  store: Store;
  item: Opportunity;
  isOpen: boolean;
  turn(): void;
}

function Row({ store, item, isOpen, turn }: RowProps) {
  const { line_id, place, tried } = item;
  return (
    <li>
      <div class="item">
        <button
          type="button"
          class="says"
          aria-expanded={isOpen}
          data-tip={item.text}
          onClick={turn}
        >
          <Icon name={isOpen ? "down" : "right"} />
          <span class="cut">{item.text.replaceAll("`", "")}</span>
        </button>
        <span
          class="num cut"
          data-tip={tried ? `Measured: ${tried.saved}` : `${item.saving} ${item.source}`}
        >
          {tried ? tried.saved : item.short}
        </span>
        <span class="faint cut" data-tip={tried ? tried.checked : item.sure_words}>
          {tried ? "tried" : item.sure}
        </span>
        {line_id && place ? (
          <Button look="link cut" tip={place} press={() => store.select(line_id)}>
            {`line ${place.split(":").pop()}`}
          </Button>
        ) : (
          <span class="faint cut" data-tip="">
            {place ?? ""}
          </span>
        )}
      </div>
      {isOpen && <Details store={store} item={item} />}
    </li>
  );
}

function Details({ store, item }: { store: Store; item: Opportunity }) {
  return (
    <div class="more">
      <p>
        <Prose text={item.text} />
      </p>
      <Change {...item} text={item.action ?? item.after.join("\n")} />
      {!item.tried && <p>{item.saving}</p>}
      <p class="mut">{`${item.source} ${item.sure_words}`}</p>
      {item.tried ? (
        <Measured store={store} item={item} tried={item.tried} />
      ) : (
        <TryIt store={store} ask="try" question={{ opportunity: item.id }} reason={item.why_not} />
      )}
    </div>
  );
}

interface MeasuredProps {
  store: Store;
  item: Opportunity;
  tried: TriedChange;
}

function Measured({ store, item, tried }: MeasuredProps) {
  const [shown, show] = useState<DiffState | null>(null);
  const [error, attempt] = useAttempt();
  const open = () => {
    const found = store.host.part<DiffDocument>(tried.part);
    void attempt(found.then((shown) => show(new DiffState(shown))));
  };
  return (
    <>
      <table class="tried">
        <caption class="sr">{`What ${item.rule} changed`}</caption>
        <tbody>
          {tried.rows.map(([name, before, after]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="num">{before}</td>
              <td class="num">{`→ ${after}`}</td>
            </tr>
          ))}
          <tr>
            <th scope="row">Predicted</th>
            <td colSpan={2}>{item.saving.replace(/^Saves /, "").replace(/\.$/, "")}</td>
          </tr>
        </tbody>
      </table>
      <p class={tried.agrees === false ? "st-break" : ""}>{tried.checked}</p>
      <Problem title="No comparison." text={error} />
      <div class="row">
        <button type="button" class="btn" aria-haspopup="dialog" onClick={open}>
          Compare
        </button>
      </div>
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
