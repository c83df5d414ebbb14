// The parts of a card in their order: costs, why, next, kernels by cost, what is folded.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { costText, shownCost, valueOf } from "../cost/cost";
import { plural } from "../format";
import { counted } from "../lists";
import type { Store } from "../store";
import { sorted } from "../table/sorting";
import { Button, Chips, Mark, Prose } from "../ui/basics";

interface SectionProps {
  title: string;
  /** Without it the heading is left out, too. */
  has?: boolean;
  children: ComponentChildren;
}

export function Section({ title, has = true, children }: SectionProps) {
  if (!has) return null;
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

/** What to change on these lines, as the Overview lists it; `children` come first. */
export function Next({ store, lines, children }: NextProps) {
  const found = (store.doc.value?.advice.rows ?? []).filter(
    (row) => row.line_id !== null && lines.includes(row.line_id),
  );
  return (
    <Section title="Next" has={found.length > 0 || !!children}>
      {found.map((row) => (
        <p key={row.id}>
          <Prose text={row.text} />{" "}
          <span class="mut">{row.tried ? `${row.tried.saved}, measured` : row.short}</span>
        </p>
      ))}
      {children}
    </Section>
  );
}

interface NextProps {
  store: Store;
  lines: readonly string[];
  children?: ComponentChildren;
}

const BARS = 12;

/** Kernels as small bars by cost, the largest full. */
export function KernelBars({ store, ids }: { store: Store; ids: readonly string[] }) {
  const [isOpen, open] = useState(false);
  const cost = shownCost(store).value;
  const kernels = ids.flatMap((id) => store.kernel(id) ?? []);
  if (!kernels.length) return null;
  const ranked = sorted(kernels, (kernel) => valueOf(cost, kernel), "desc");
  const most = Math.max(0, ...ranked.map((kernel) => valueOf(cost, kernel) ?? 0));
  const shown = isOpen ? ranked : ranked.slice(0, BARS);
  return (
    <Section title={cost ? `Kernels, ${cost.name.toLowerCase()} of each` : "Kernels"}>
      <div class="kbs">
        {shown.map((kernel) => {
          const own = valueOf(cost, kernel);
          return (
            <button
              key={kernel.id}
              type="button"
              class={store.pair.has(kernel.id) ? "kb chip pick" : "kb chip"}
              data-tip={`${kernel.kind}: ${kernel.label}`}
              onClick={() => store.select(kernel.id)}
            >
              <Mark store={store} kernel={kernel.id} />
              <span class="num">{cost && own !== null ? costText(cost, own) : ""}</span>
              <span class="meter">
                <b class="hot" style={{ width: `${most ? ((own ?? 0) / most) * 100 : 0}%` }} />
              </span>
              <span class="cut">{kernel.label}</span>
            </button>
          );
        })}
      </div>
      {ranked.length > shown.length && (
        <Button look="link" press={() => open(true)}>
          {`${ranked.length - shown.length} more`}
        </Button>
      )}
    </Section>
  );
}

const FEW = 6;

/** Nodes: a few by name, more as a count by module that unfolds. */
export function Nodes({ store, ids, of = "" }: NodesProps) {
  const [isOpen, open] = useState(false);
  void store.learned.value;
  if (ids.length <= FEW) return <Chips store={store} title={`Nodes${of}`} ids={ids} />;
  const modules = counted(ids.map((id) => moduleOf(store, id)).filter((name) => name !== ""));
  const words = `${plural(ids.length, "node")}${of}`;
  return (
    <section>
      <Button look="link fold" isOpen={isOpen} press={() => open(!isOpen)}>
        {`${isOpen ? "▾" : "▸"} ${words}${modules.size ? ` in ${plural(modules.size, "module")}` : ""}`}
      </Button>
      {isOpen && (
        <>
          {modules.size > 0 && (
            <p class="mut">{[...modules].map(([name, count]) => `${name} ${count}`).join(" · ")}</p>
          )}
          <Chips store={store} head={words} ids={ids} />
        </>
      )}
    </section>
  );
}

interface NodesProps {
  store: Store;
  ids: string[];
  /** Behind the word nodes: of what they are. */
  of?: string;
}

function moduleOf(store: Store, id: string): string {
  const found = store.node(id);
  return found ? (found.part.modules[found.part.module[found.at] ?? -1] ?? "") : "";
}
