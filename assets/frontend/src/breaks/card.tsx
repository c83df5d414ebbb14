// One graph break: the line, why it stops there, what to do, and changes to try and to copy.

import { useRef } from "preact/hooks";
import { Proposed } from "../changes/change";
import type { Store } from "../store";
import { Button, Prose } from "../ui/basics";
import { Python } from "../ui/highlight";
import { useReveal } from "../ui/kept";
import { REVEAL } from "../ui/virtual";
import { baseName } from "../ui/words";
import type { Break } from "../wire";

export function BreakCard({ store, item }: { store: Store; item: Break }) {
  const isSelected = store.selected.value === item.id;
  const isRelated = store.related.value.has(item.id);
  const text = item.text.trim();
  const root = useRef<HTMLElement>(null);
  useReveal(store, item.id, isSelected ? item.id : null, [isSelected], () => {
    const box = root.current?.closest(".scroll");
    if (!isSelected || !box) return;
    box.scrollTop += root.current!.getBoundingClientRect().top - box.getBoundingClientRect().top;
    box.dispatchEvent(new Event(REVEAL, { bubbles: true }));
  });
  return (
    <article
      ref={root}
      class={`card ${isSelected ? "sel" : isRelated ? "rel" : ""}`}
      aria-label={`Graph break on line ${item.line}`}
      onClick={() => store.select(item.id)}
    >
      <div class="row">
        <b class="cut" data-tip="">
          {item.kind}
        </b>
        <span class="grow" />
        {item.count > 1 && <span class="faint">{`${item.count} times`}</span>}
        <Place store={store} item={item} />
        {item.gb_id && <span class="faint mono">{item.gb_id}</span>}
      </div>
      <div>
        <pre class="mono">
          <span class="faint">{`${item.line} `}</span>
          <Python text={text} />
          {"\n"}
          <span class="st-break" aria-hidden="true">
            {" ".repeat(String(item.line).length + 1) + "^".repeat(text.length)}
          </span>
        </pre>
        {!item.cures.length && <Torchs item={item} />}
      </div>
      {item.cures.map((change, at) => (
        <Proposed key={change.id} host={store.host} change={change} isOpen={!at} />
      ))}
      {item.cures.length > 0 && (
        <details>
          <summary>torch's explanation</summary>
          <Torchs item={item} />
        </details>
      )}
    </article>
  );
}

/** Torch's words on the break, and what it proposes for any of its kind. */
function Torchs({ item }: { item: Break }) {
  return (
    <>
      <p>
        <Prose text={item.explanation || item.reason} />
      </p>
      {item.hints.length > 0 && <h3>What to do</h3>}
      {item.hints.map((hint) => (
        <p key={hint}>
          <Prose text={hint} />
        </p>
      ))}
    </>
  );
}

function Place({ store, item }: { store: Store; item: Break }) {
  const words = `${baseName(item.file)}:${item.line}`;
  const line = item.line_id;
  if (line === null) return <span class="faint mono">{words}</span>;
  const go = (event: Event) => {
    event.stopPropagation();
    store.select(line, { pane: "overview" });
  };
  return (
    <Button look="link" tip={item.file} press={go}>
      {words}
    </Button>
  );
}
