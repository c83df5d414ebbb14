// The guard sandbox: edit an input, and the real guards say which of them fails first.

import { useEffect, useRef, useState } from "preact/hooks";
import { plural } from "../format";
import type { Store } from "../store";
import { Button, Prose } from "../ui/basics";
import { Icon } from "../ui/icons";
import { usePaneState } from "../ui/kept";
import type { Sandbox as Described, GuardCheck, Input } from "../wire";

const PAUSE_MS = 250;

type Answer = { kind: "check"; check: GuardCheck } | { kind: "error"; text: string } | null;

export function Sandbox({ store, sandbox }: { store: Store; sandbox: Described }) {
  const whyNot = sandbox.why_not;
  if (whyNot !== null || !sandbox.inputs.length)
    return (
      <section class="sandbox pad">
        <h3>Guard sandbox</h3>
        <p class="mut">
          <Prose text={whyNot ?? "The call has no tensor inputs to edit."} />
        </p>
      </section>
    );
  return (
    <Open key={sandbox.inputs.map((input) => input.path).join()} store={store} sandbox={sandbox} />
  );
}

function Open({ store, sandbox }: { store: Store; sandbox: Described }) {
  const paths = sandbox.inputs.map((input) => input.path).join();
  const [drafts, setDrafts] = usePaneState(store, `drafts ${paths}`, () =>
    sandbox.inputs.map(draftOf),
  );
  const [answer, setAnswer] = useState<Answer>(null);
  const asked = useRef(0);
  const lost = store.host.lost.value;
  useEffect(() => {
    if (lost !== null) return setAnswer({ kind: "error", text: "The guards are not available." });
    const inputs = sandbox.inputs.map((input, i) => edited(input, drafts[i] ?? draftOf(input)));
    const wrong = inputs.find((input) => typeof input === "string");
    asked.current += 1;
    const turn = asked.current;
    if (wrong) return setAnswer({ kind: "error", text: wrong as string });
    const timer = setTimeout(() => {
      const question = { inputs: inputs as Input[] };
      store.host
        .part<GuardCheck>("guard-check", question)
        .then((check) => turn === asked.current && setAnswer({ kind: "check", check }))
        .catch(
          (e: Error) => turn === asked.current && setAnswer({ kind: "error", text: e.message }),
        );
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [drafts, lost, sandbox]); // another compilation in its place has other guards
  const change = (at: number, draft: Draft) =>
    setDrafts(drafts.map((each, i) => (i === at ? draft : each)));
  return (
    <section class="sandbox pad">
      <div class="row">
        <h3>Guard sandbox</h3>
        <span class="faint cut">change an input, see which guard fails first</span>
        <span class="grow" />
        <Button look="quiet" press={() => setDrafts(sandbox.inputs.map(draftOf))}>
          Reset
        </Button>
      </div>
      <div class="fields">
        {sandbox.inputs.map((input, i) => (
          <Fields
            key={input.path}
            input={input}
            draft={drafts[i] ?? draftOf(input)}
            dtypes={sandbox.dtypes}
            off={lost}
            change={(draft) => change(i, draft)}
          />
        ))}
      </div>
      <Verdict answer={answer} />
    </section>
  );
}

interface FieldsProps {
  input: Input;
  draft: Draft;
  dtypes: string[];
  /** Why it cannot be changed. */
  off: string | null;
  change(draft: Draft): void;
}

function Fields({ input, draft, dtypes, off, change }: FieldsProps) {
  const all = dtypes.includes(draft.dtype) ? dtypes : [draft.dtype, ...dtypes];
  return (
    <fieldset disabled={off !== null} data-tip={off ?? undefined}>
      <legend class="mono" data-tip={`${input.path} on ${input.device}`}>
        {input.path}
      </legend>
      <label>
        <span>shape</span>
        <input
          type="text"
          class="mono"
          value={draft.shape}
          onInput={(event) => change(reshaped(draft, event.currentTarget.value))}
        />
      </label>
      <label>
        <span>stride</span>
        <input
          type="text"
          class="mono"
          value={draft.stride}
          onInput={(event) => change({ ...draft, stride: event.currentTarget.value })}
        />
      </label>
      <label>
        <span>dtype</span>
        <select
          class="mono"
          value={draft.dtype}
          onChange={(event) => change({ ...draft, dtype: event.currentTarget.value })}
        >
          {all.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
    </fieldset>
  );
}

function Verdict({ answer }: { answer: Answer }) {
  if (answer?.kind !== "check")
    return (
      <p role="status" class="mut">
        {answer?.text ?? "Asking the guards…"}
      </p>
    );
  const { check } = answer;
  return (
    <p role="status" class={check.ok ? "pass" : "fail"}>
      <Icon name={check.ok ? "captured" : "cross"} />{" "}
      {check.ok ? `All ${plural(check.checked, "guard")} pass` : `Fails: ${check.failed ?? ""}`}
      {check.guard && <code class="mono">{check.guard}</code>}
    </p>
  );
}

/** "4, 512" as numbers, or null when it is not a list of whole numbers. */
export function sizesOf(text: string): number[] | null {
  const inner = text
    .trim()
    .replace(/^[[(]|[\])]$/g, "")
    .trim();
  if (inner === "") return [];
  const parts = inner.replace(/,\s*$/, "").split(/\s*,\s*|\s+/);
  const sizes = parts.map((part) => (/^\d+$/.test(part) ? Number(part) : Number.NaN));
  return sizes.some(Number.isNaN) ? null : sizes;
}

/** The strides of a dense tensor in C order, in elements. */
export function denseStride(shape: number[]): number[] {
  const stride: number[] = new Array(shape.length);
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i -= 1) {
    stride[i] = step;
    step *= Math.max(1, shape[i] ?? 1);
  }
  return stride;
}

interface Draft {
  shape: string;
  stride: string;
  dtype: string;
}

function draftOf(input: Input): Draft {
  return { shape: input.shape.join(", "), stride: input.stride.join(", "), dtype: input.dtype };
}

/** A draft with another shape; the stride follows unless it was not dense before. */
export function reshaped(draft: Draft, shape: string): Draft {
  const before = sizesOf(draft.shape);
  const after = sizesOf(shape);
  const wasDense = before !== null && denseStride(before).join(", ") === draft.stride;
  const stride = after && wasDense ? denseStride(after).join(", ") : draft.stride;
  return { ...draft, shape, stride };
}

/** The input as edited, or a sentence that says what cannot be read. */
export function edited(input: Input, draft: Draft): Input | string {
  const shape = sizesOf(draft.shape);
  const stride = sizesOf(draft.stride);
  if (!shape) return `The shape of ${input.path} must be whole numbers, such as 4, 512.`;
  if (!stride) return `The stride of ${input.path} must be whole numbers, such as 512, 1.`;
  if (shape.length !== stride.length)
    return `The stride of ${input.path} needs ${plural(shape.length, "number")}, one for each dimension.`;
  return { ...input, shape, stride, dtype: draft.dtype };
}
