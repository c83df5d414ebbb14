// Generated from workbench/worlds/numerics/views/messages.py by `python -m workbench.views.typescript`.

import type { ProposedChange } from "../../wire";

/**
 * What a stage departs by itself at the most; None where nothing does. `eager_off` and `noise`
 * are those of the same value. `said` stands beside the bar, `words` say all of it, `row` is
 * the id of the deviation.
 */
export interface StageBar {
  stage: string;
  own_off: number | null;
  eager_off: number | null;
  noise: number | null;
  said: string;
  words: string;
  row: string | null;
}

/**
 * One value that a part computes otherwise than eager from the same inputs. `cone` are the
 * nodes that are computed for it, `never_rounded` those whose values eager rounds and the part
 * does not; ids. `lowerings` say what lowered its operators. The histograms count elements by
 * units in the last place. `cures` are the ids of the changes that may take it away, `write`
 * the Python that writes the part alone.
 */
export interface Deviation {
  id: string;
  stage: string;
  kernel: string | null;
  part: string;
  node: string;
  value: string;
  line: string | null;
  place: string;
  cause: string;
  detail: string;
  verdict: string;
  dtype: string;
  elements: number;
  differ: number | null;
  max_ulp: number | null;
  eager_off: number | null;
  own_off: number | null;
  noise: number | null;
  cone: string[];
  lowerings: string[];
  never_rounded: string[];
  histogram: [string, number][];
  exact_histogram: [string, number][];
  option: string;
  cures: string[];
  write: string;
}

/**
 * What was found: the sentence, five questions with their answers, a bar for each stage.
 * `first` is the id of the deviation that the answers are about, `cure` that of its cure.
 */
export interface NumericsFound {
  sentence: string;
  answers: [string, string][];
  first: string | null;
  cure: string | null;
  stages: StageBar[];
  cures: ProposedChange[];
}

declare module "../../wire" {
  /**
   * What the world adds to the document of a report; None where numbers were not compared.
   */
  interface Document {
    numerics: NumericsFound | null;
    deviations: Deviation[];
  }
}
