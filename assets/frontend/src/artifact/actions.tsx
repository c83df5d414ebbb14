// A file in the view that needs one: saved where the kernel runs, compared with a machine.

import { useState } from "preact/hooks";
import { isAwake, whyNot } from "../host";
import type { Store } from "../store";
import { useAttempt } from "../ui/asked";
import { Button, Problem } from "../ui/basics";
import { ByHand } from "../ui/offer";
import type { Artifact } from "../wire";

/** Where the file lies; null without one, and of one that a round trip removed. */
export function fileOf(groups: readonly Artifact[]): string | null {
  const facts = groups.flatMap(({ facts }) => facts);
  const path = facts.find(([name]) => name === "Path")?.[1] ?? null;
  return path?.endsWith(" and removed") ? null : path;
}

/** The function's name as the name of a file. */
function nameFile({ doc }: Store): string {
  const name = doc.value?.name ?? "";
  return `${name.replace(/\W+/g, "_").replace(/^_+|_+$/g, "") || "compiled"}.aot`;
}

export function Saving({ store }: { store: Store }) {
  const line = `compiled.save("${nameFile(store)}")`;
  const ask = (path: string) => store.host.part("save", { path });
  const label = "File to write";
  return <Asking {...{ store, line, label, ask }} id="save" words="Save" first={nameFile(store)} />;
}

export function Checking({ store }: { store: Store }) {
  const path = fileOf(store.doc.value?.artifact ?? []);
  const line = `wb.check("${path ?? "f.aot"}", machine="target.json")`;
  const ask = (machine: string) => store.host.part("check", { machine });
  const label = "Description of a machine";
  return (
    <Asking
      {...{ store, line, label, ask }}
      id="check"
      words="Check against it"
      hint="target.json; empty: this machine"
    />
  );
}

interface AskingProps {
  store: Store;
  id: "save" | "check";
  words: string;
  label: string;
  line: string;
  first?: string;
  hint?: string;
  ask(text: string): Promise<unknown>;
}

/** A field and what is done with it; where nothing is alive, the line that does the same. */
function Asking({ store, id, words, label, line, first = "", hint, ask }: AskingProps) {
  const [text, setText] = useState(first);
  const [error, attempt] = useAttempt();
  const report = store.doc.value;
  const reason = report?.actions[id] ?? null;
  if (reason !== null || !isAwake(store.host)) return <ByHand line={line} why={null} />;
  const why = whyNot(store.host, reason);
  const begin = () => void attempt(ask(text));
  const submit = (event: Event) => {
    event.preventDefault();
    if (why === null) begin();
  };
  return (
    <form class="offered" onSubmit={submit} onKeyDown={(event) => event.stopPropagation()}>
      <Problem title="That cannot be done." text={error} />
      <label>
        <span>{label}</span>
        <input
          type="text"
          class="mono"
          value={text}
          placeholder={hint}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <Button isOff={why !== null} tip={why ?? undefined} press={begin}>
        {words}
      </Button>
      <span class="mut">{report?.efforts?.[id]}</span>
    </form>
  );
}
