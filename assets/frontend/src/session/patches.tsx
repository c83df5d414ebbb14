// One thing to change in a program: the sentence, ways to write it, each tried on the calls again.

import { Result } from "../breaks/change";
import { whyNot } from "../host";
import { useAttempt } from "../ui/asked";
import { Button, Copy, Message, Problem, Prose } from "../ui/basics";
import type { SessionChange, SessionDocument, SessionPatch } from "../wire";
import type { SessionState } from "./state";

interface ChangeProps {
  state: SessionState;
  doc: SessionDocument;
  change: SessionChange;
}

export function Change({ state, doc, change }: ChangeProps) {
  return (
    <section>
      <p>
        <Prose text={change.sentence} />
      </p>
      {change.patches.map((patch, at) => (
        <Patch key={patch.id} state={state} doc={doc} patch={patch} isOpen={!at} />
      ))}
    </section>
  );
}

interface PatchProps {
  state: SessionState;
  doc: SessionDocument;
  patch: SessionPatch;
  isOpen: boolean;
}

function Patch({ state, doc, patch, isOpen }: PatchProps) {
  const { title, why, tried, tone } = patch;
  return (
    <details class="ses-patch" open={isOpen}>
      <summary>
        <Prose text={title} />
      </summary>
      {why && <p class="mut">{why}</p>}
      <Lines patch={patch} />
      <Result isThere={!!tried}>
        {tried ? (
          <Message note={{ title: "Tried.", text: tried, tone }}>
            {patch.patch && (
              <Copy quiet text={patch.patch} label="Copy patch" title="Copy the unified diff" />
            )}
          </Message>
        ) : (
          <Try state={state} doc={doc} patch={patch} />
        )}
      </Result>
    </details>
  );
}

/** The lines with their places; where the call is not known, those that stand before it. */
function Lines({ patch }: { patch: SessionPatch }) {
  const { above, edits, before_call: before } = patch;
  return (
    <pre class="diff mono">
      {above.map((line) => (
        <div key={line} class="b">{`+ ${line}`}</div>
      ))}
      {edits.map((edit) => (
        <Edit key={edit.place} edit={edit} />
      ))}
      {edits.length === 0 && before.length > 0 && (
        <>
          <div class="faint">before each call</div>
          {before.map((line) => (
            <div key={line} class="b">{`+ ${line}`}</div>
          ))}
        </>
      )}
    </pre>
  );
}

function Edit({ edit }: { edit: SessionPatch["edits"][number] }) {
  const { place, before, after } = edit;
  return (
    <>
      <div class="faint">{place}</div>
      {!after.includes(before) && <div class="a">{`- ${before}`}</div>}
      {after.map((line) => (
        <div key={line} class={line === before ? "" : "b"}>
          {`${line === before ? " " : "+"} ${line}`}
        </div>
      ))}
    </>
  );
}

function Try({ state, doc, patch }: Omit<PatchProps, "isOpen">) {
  const [error, attempt] = useAttempt();
  const asleep = state.host.kind === "live" ? null : "The program is not here: run the cell again.";
  const wanted = { ask: "try-patch", question: { id: patch.id } };
  const why = whyNot(state.host, asleep ?? doc.why_not_tried, wanted);
  const words = why ?? "The calls are made again on copies: the program stays as it is.";
  return (
    <>
      <Problem title="That cannot be tried." text={error} />
      <div class="row">
        <Button
          isOff={why !== null}
          press={() => void attempt(state.host.ask(wanted.ask, wanted.question))}
        >
          Try it
        </Button>
        <span class="mut">{words}</span>
      </div>
    </>
  );
}
