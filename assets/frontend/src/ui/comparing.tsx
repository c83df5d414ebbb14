// The bar above two texts side by side: how much differs, what is folded, the way to a difference.

import type { ComponentChildren } from "preact";
import { Steps } from "./basics";

interface Props {
  words: string;
  /** How many differences there are to go to. */
  count: number;
  isFolded: boolean;
  fold(isFolded: boolean): void;
  jump(by: 1 | -1): void;
  /** Further choices. */
  children?: ComponentChildren;
}

export function CompareBar({ words, count, isFolded, fold, jump, children }: Props) {
  return (
    <div class="bar compare-bar">
      <span role="status">{words}</span>
      <span class="grow" />
      {children}
      <Check words="Fold equal lines" is={isFolded} set={fold} />
      <Steps
        labels={["Difference before (p)", "Next difference (n)"]}
        off={[!count, !count]}
        go={jump}
      />
    </div>
  );
}

interface CheckProps {
  words: string;
  is: boolean;
  set(is: boolean): void;
}

export function Check({ words, is, set }: CheckProps) {
  return (
    <label>
      <input type="checkbox" checked={is} onChange={(event) => set(event.currentTarget.checked)} />
      {words}
    </label>
  );
}
