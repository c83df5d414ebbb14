// A line of IR or assembly: what its instruction does and where it comes from; a configuration.

import { configOf, kernelOf, numberOf, ownerOf, stageOf } from "../ids";
import { inlinedAt, opcodesIn } from "./stages";
import { Chips, Facts, Prose } from "../ui/basics";
import { configLabel, languageOf, stageName } from "../ui/words";
import type { Config, Opcode } from "../wire";
import { Belongings, OpenCode, relatedOf, type CardProps } from "../inspector/parts";
import type { Store } from "../store";

function configBy(store: Store, id: string): Config | undefined {
  return store.kernel(kernelOf(id))?.configs.find((config) => config.id === id);
}

export function AssemblyLineCard({ store, id }: CardProps) {
  void store.learned.value;
  const known = store.parts.get(`asm:${ownerOf(id)}`);
  const part = known?.kind === "stage" ? known : null;
  const number = numberOf(id);
  const text = part?.text.split("\n")[number - 1]?.trim() ?? "";
  const place = part && inlinedAt(part, number);
  const config = configBy(store, configOf(id));
  const label = config && configLabel(config, store.doc.value?.target);
  return (
    <>
      <div class="kind">
        {`${stageName(stageOf(id))} line ${number} of ${kernelOf(id)}${label ? ` · ${label}` : ""}`}
      </div>
      <h2 class="mono">{text}</h2>
      {part &&
        opcodesIn(text, part.opcodes).map(({ name, opcode }) => (
          <Explained key={name} name={name} opcode={opcode} />
        ))}
      {place && <p>{`Inlined from ${place}; it counts for the line that calls it, too.`}</p>}
      <Chips
        store={store}
        title={languageOf(store, kernelOf(id))}
        ids={relatedOf(store, "kernel-line")}
      />
      <Belongings store={store} />
    </>
  );
}

function Explained({ name, opcode }: { name: string; opcode: Opcode }) {
  return (
    <section>
      <h3 class="mono">{name}</h3>
      <p>
        <Prose text={opcode.text} />
      </p>
      {opcode.parts.length > 0 && <Facts rows={opcode.parts} />}
      <p class="mut">{`From: ${opcode.source}.`}</p>
    </section>
  );
}

export function ConfigCard({ store, id }: CardProps) {
  const config = configBy(store, id);
  if (!config) return <h2>{id}</h2>;
  return (
    <>
      <div class="kind">{`Configuration ${id}`}</div>
      <h2>{configLabel(config, store.doc.value?.target)}</h2>
      <Facts rows={config.facts} />
      {config.note && <p>{config.note}</p>}
      <OpenCode store={store} id={id} />
      <Belongings store={store} without={["node"]} />
    </>
  );
}
