// The answer: one sentence, what else is remarkable, and behind it all other figures.

import type { Store } from "../store";
import { Button } from "../ui/basics";
import { usePaneState } from "../ui/kept";
import { termOf } from "../ui/terms";
import type { Answered, Figure, PaneId, Piece } from "../wire";
import "./strip.css";

interface StripProps {
  store: Store;
  answer: Answered;
  figures: Figure[];
}

export function Strip({ store, answer, figures }: StripProps) {
  const [isOpen, setOpen] = usePaneState(store, "details", false);
  return (
    <section class="answer" role="group" aria-label="Answer">
      <p>
        <Pieces store={store} pieces={answer.sentence} />
      </p>
      <div class="below">
        {answer.chips.map(({ pane, pieces }) => (
          <button
            key={pane}
            type="button"
            class="chip"
            data-tip={tipOf(store, pane, termOf("chips", pane))}
            onClick={() => store.show(pane)}
          >
            <span>
              <Pieces store={store} pieces={pieces} />
            </span>
          </button>
        ))}
        <button
          type="button"
          class="btn link"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? "Less" : "Details"}
        </button>
        <span class="cap">{answer.source}</span>
      </div>
      {isOpen && <Details store={store} figures={figures} />}
    </section>
  );
}

/** What a figure is, and what a click on it does. */
function tipOf(store: Store, pane: PaneId, term: string | undefined): string {
  return [term, `Opens ${store.row("panes", pane)?.title ?? pane}.`].filter(Boolean).join("\n");
}

/** Text, figures and code; what has an id leads to it. */
function Pieces({ store, pieces }: { store: Store; pieces: Piece[] }) {
  return (
    <>
      {pieces.map(({ text, look, select }, i) => {
        if (select !== null)
          return (
            <Button key={i} look="link" press={() => store.select(select)}>
              {text}
            </Button>
          );
        if (look === "figure") return <b key={i}>{text}</b>;
        if (look === "code") return <code key={i}>{text}</code>;
        return text;
      })}
    </>
  );
}

/** Every other figure, as label and value; each leads to its pane. */
function Details({ store, figures }: { store: Store; figures: Figure[] }) {
  return (
    <dl class="details" aria-label="Figures">
      {figures.map(({ label, value, note, pane }) => (
        <div key={label}>
          <dt>
            <Button
              look="link"
              tip={tipOf(store, pane, termOf("figures", label))}
              press={() => store.show(pane)}
            >
              {label}
            </Button>
          </dt>
          <dd>
            <b>{value}</b> <span class="mut">{note}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}
