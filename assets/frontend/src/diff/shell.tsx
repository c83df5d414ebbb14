// The view of two compilations: the frame with a pane for each part in which they differ.

import { plural } from "../format";
import { Frame, useFrame } from "../shell/frame";
import type { KeyWords } from "../shell/keys";
import { Button } from "../ui/basics";
import "./diff.css";
import { Kernels } from "./kernels";
import { Part } from "./part";
import { Sources } from "./source";
import { type DiffState, isTold, SUMMARY } from "./state";

const KEYS: readonly KeyWords[] = [
  { keys: ["1", "0"], words: "switch part", isRange: true },
  { keys: ["↑", "↓"], words: "previous or next kernel" },
  { keys: ["n", "p"], words: "in source code: next and previous difference" },
];

export function DiffShell({ state }: { state: DiffState }) {
  const { a, b } = state.doc;
  const pane = state.pane.value;
  return (
    <Frame
      frame={useFrame()}
      view={state}
      look="diff"
      label={`${a.name} and ${b.name}, compared`}
      tabsLabel="Parts"
      tabs={state.heads}
      show={(id) => state.show(id)}
      head={<Head state={state} />}
      status={<Status state={state} />}
      keys={KEYS}
    >
      <Pane key={pane} state={state} />
    </Frame>
  );
}

function Head({ state }: { state: DiffState }) {
  const { a, b, is_same } = state.doc;
  return (
    <>
      <h1 data-tip="">{`${a.name} → ${b.name}`}</h1>
      <span class="tag plain">{is_same ? "the same" : "differ"}</span>
      <span class="facts mut grow" data-tip="">
        {`a: ${a.words} · b: ${b.words}`}
      </span>
    </>
  );
}

function Pane({ state }: { state: DiffState }) {
  const id = state.pane.value;
  const part = state.part(id);
  if (id === SUMMARY || !part) return <Summary state={state} />;
  if (id === "kernels" && state.doc.kernels.length) return <Kernels state={state} />;
  return <Part state={state} part={part} />;
}

function Status({ state }: { state: DiffState }) {
  const part = state.part(state.pane.value);
  const parts = state.heads.length - 1;
  return (
    <div class="status">
      <span class="path" role="status" aria-live="polite">
        {part
          ? `${part.title}: ${part.differ} differ`
          : `Differences in ${plural(parts, "part")}, from a to b`}
      </span>
      <span class="grow" />
      <span class="keys" aria-hidden="true">
        <kbd>1</kbd> … <kbd>0</kbd> parts
      </span>
      <span class="keys" aria-hidden="true">
        <kbd>n</kbd> <kbd>p</kbd> differences in the source
      </span>
    </div>
  );
}

export function Summary({ state }: { state: DiffState }) {
  const { title, missing, cost, costs, lines } = state.doc.program;
  if (missing) return <Sentences state={state} />;
  return (
    <>
      <Sentences state={state} />
      <div class="bar">
        <h2>{title}</h2>
        {cost && <span class="mut">{`with its share of the ${cost} in a and in b`}</span>}
      </div>
      <Sources
        state={state}
        name="program"
        source={lines}
        language="python"
        costs={costs}
        alike="The lines are the same in both"
      />
    </>
  );
}

function Sentences({ state }: { state: DiffState }) {
  const { doc } = state;
  const alike = doc.parts.filter((part) => !isTold(part));
  return (
    <div class="scroll diff-summary" tabIndex={0} role="group" aria-label="Summary">
      <ol>
        {doc.sentences.map((sentence, n) => {
          const part = state.part(sentence.part);
          return (
            <li key={n}>
              <span>{sentence.text}</span>
              {part && isTold(part) && (
                <Button look="link" press={() => state.show(part.id)}>
                  {part.title}
                </Button>
              )}
            </li>
          );
        })}
      </ol>
      {doc.program.missing && <p class="mut">{doc.program.missing}</p>}
      {alike.length > 0 && (
        <p class="mut">{`The same in both: ${alike.map((part) => `${part.title} (${part.same})`).join(", ")}.`}</p>
      )}
    </div>
  );
}
