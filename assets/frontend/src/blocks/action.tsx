// What can be done, asked for in a view that is alive; elsewhere the line that does the same.

import { useState } from "preact/hooks";
import { isAwake, whyNot } from "../host";
import type { Store } from "../store";
import { useAttempt } from "../ui/asked";
import { Button, Copy, Problem } from "../ui/basics";
import { ByHand, Offer } from "../ui/offer";
import type { ActionBlock } from "../wire";

export function Action({ store, block }: { store: Store | undefined; block: ActionBlock }) {
  const { ask, words, line, field } = block;
  if (!store) return <ByHand line={line} why={null} />;
  if (!field) return <Offer store={store} ask={ask} words={words} line={line} />;
  return <Asking key={field.text} store={store} block={block} field={field} />;
}

interface AskingProps {
  store: Store;
  block: ActionBlock;
  field: NonNullable<ActionBlock["field"]>;
}

/** A field and what is done with it. */
function Asking({ store, block: { ask, words, line }, field }: AskingProps) {
  const [text, setText] = useState(field.text);
  const [error, attempt] = useAttempt();
  const report = store.doc.value;
  const reason = report?.actions[ask] ?? null;
  if (reason !== null || !isAwake(store.host)) return <ByHand line={line} why={null} />;
  const why = whyNot(store.host, reason);
  const begin = () => void attempt(store.host.part(ask, { [field.name]: text } as never));
  const submit = (event: Event) => {
    event.preventDefault();
    if (why === null) begin();
  };
  return (
    <form class="offered" onSubmit={submit} onKeyDown={(event) => event.stopPropagation()}>
      <Problem title="The request failed." text={error} />
      <label>
        <span>{field.label}</span>
        <input
          type="text"
          class="mono"
          value={text}
          placeholder={field.hint}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <Button isOff={why !== null} tip={why ?? undefined} press={begin}>
        {words}
      </Button>
      {field.command && (
        <Copy
          quiet
          text={field.command}
          label="Copy the command"
          title={`Run there: ${field.command}`}
        />
      )}
      <span class="mut">{report?.efforts?.[ask]}</span>
    </form>
  );
}
