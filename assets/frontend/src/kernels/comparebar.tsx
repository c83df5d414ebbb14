// How many lines differ, what does not count, and the way to the next difference.

import { plural } from "../format";
import { Icon } from "../ui/icons";
import type { Aligned } from "./aligning";
import type { KernelState } from "./state";

interface Props {
  state: KernelState;
  both: Aligned | null;
  isWaiting: boolean;
  jump(by: 1 | -1): void;
  isOpen: boolean;
  fold(open: ReadonlySet<number> | null): void;
}

export function CompareBar({ state, both, isWaiting, jump, isOpen, fold }: Props) {
  const { changed, added, removed } = both?.counts ?? { changed: 0, added: 0, removed: 0 };
  const words = both
    ? `${plural(both.differences.length, "difference")}: ${plural(changed, "line")} changed, ${added} added, ${removed} removed`
    : isWaiting
      ? "Comparing…"
      : "Not compared";
  return (
    <div class="bar compare-bar">
      <span role="status">{words}</span>
      <span class="grow" />
      <label>
        <input
          type="checkbox"
          checked={state.isLoose.value}
          onChange={(event) => (state.isLoose.value = event.currentTarget.checked)}
        />
        Ignore numbers of registers
      </label>
      <label>
        <input
          type="checkbox"
          checked={!isOpen}
          onChange={(event) => fold(event.currentTarget.checked ? new Set() : null)}
        />
        Fold what is alike
      </label>
      <span class="seg">
        <Jump name="left" title="Difference before (p)" by={-1} both={both} jump={jump} />
        <Jump name="right" title="Next difference (n)" by={1} both={both} jump={jump} />
      </span>
    </div>
  );
}

interface JumpProps {
  name: "left" | "right";
  title: string;
  by: 1 | -1;
  both: Aligned | null;
  jump(by: 1 | -1): void;
}

function Jump({ name, title, by, both, jump }: JumpProps) {
  return (
    <button
      type="button"
      class="btn icon"
      data-tip={title}
      aria-label={title}
      disabled={!both?.differences.length}
      onClick={() => jump(by)}
    >
      <Icon name={name} />
    </button>
  );
}
