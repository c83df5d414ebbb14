// The passes in their order, to step through: what each changed is lit in the graph.

import { whole } from "../format";
import type { Store } from "../store";
import { Button } from "../ui/basics";
import { ofPass } from "../ui/pass";
import type { Pass } from "../wire";
import type { GraphState } from "./state";

/** Those that changed anything, of the forward or backward that is shown. */
export function changedBy(store: Store): Pass[] {
  return ofPass(store, store.doc.value?.passes ?? []).filter((pass) => pass.change);
}

/** Whether its graph is recorded: the scheduler has none. */
export const isDrawn = (pass: Pass) => pass.after !== pass.before;

/** Draws the graph as a pass left it, beside what it was given. */
export function showPass(store: Store, state: GraphState, pass: Pass): void {
  if (store.selected.peek()?.startsWith("g")) store.select(null);
  state.other.value = pass.before;
  state.graph.value = pass.after;
}

export function PassList({ store, state }: { store: Store; state: GraphState }) {
  const groups = new Map<string, Pass[]>();
  for (const pass of ofPass(store, store.doc.value?.passes ?? []))
    groups.set(pass.group, [...(groups.get(pass.group) ?? []), pass]);
  const shown = [state.graph.value, state.other.value];
  const steps = changedBy(store).filter(isDrawn);
  const at = steps.findIndex(
    ({ before, after }) => shown.includes(before) && shown.includes(after),
  );
  const key = (event: KeyboardEvent) => {
    const next = steps[at + ({ ArrowDown: 1, ArrowUp: -1 }[event.key] ?? NaN)];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    showPass(store, state, next);
    const list = event.currentTarget as HTMLElement;
    list.querySelectorAll<HTMLElement>("button")[steps.indexOf(next)]?.focus();
  };
  return (
    <div class="graph-passes scroll graph-pad" onKeyDown={key}>
      {[...groups].map(([group, passes]) => (
        <Group
          key={group}
          title={group}
          passes={passes}
          current={steps[at]}
          show={(pass) => showPass(store, state, pass)}
        />
      ))}
    </div>
  );
}

interface GroupProps {
  title: string;
  passes: readonly Pass[];
  current: Pass | undefined;
  show(pass: Pass): void;
}

function Group({ title, passes, current, show }: GroupProps) {
  const rest = passes.filter((pass) => !pass.change);
  return (
    <>
      <h2>{title}</h2>
      <ul>
        {passes
          .filter((pass) => pass.change)
          .map((pass) => (
            <li key={pass.id} class={pass === current ? "sel" : ""}>
              {isDrawn(pass) ? (
                <Button look="link mono" isPressed={pass === current} press={() => show(pass)}>
                  {pass.name}
                </Button>
              ) : (
                <span class="mono">{pass.name}</span>
              )}{" "}
              <span class="mut">{[pass.change, pass.says].filter(Boolean).join(" · ")}</span>
            </li>
          ))}
      </ul>
      {rest.length > 0 && (
        <details>
          <summary class="mut">{whole(rest.length)} changed nothing</summary>
          {rest.map((pass) => (
            <div key={pass.id} class="mut">
              <span class="mono">{pass.name}</span> {pass.says}
            </div>
          ))}
        </details>
      )}
    </>
  );
}
