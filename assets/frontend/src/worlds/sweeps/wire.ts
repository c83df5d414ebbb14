// Generated from workbench/worlds/sweeps/views/messages.py by `python -m workbench.views.typescript`.

/**
 * One axis with its values in the order in which they were given.
 */
export interface SweepAxis {
  name: string;
  values: string[];
  is_size: boolean;
}

/**
 * A column of figures; `is_better` says which end of it one looks for.
 */
export interface SweepFigure {
  id: string;
  title: string;
  is_better: "more" | "less" | "";
}

/**
 * A setting: its values by axis, its figures by column with the words for them. `id` is its
 * title. `status` is "waiting", "running" or how it ended. `rounds` are the times over those of
 * the original: the low end of the interval of the median, the median, the high end, and the
 * rounds themselves. `interval` is that of the speed-up in words, "" without one. `verdict` is
 * what the pairs allow to say against the original, "" where nothing was timed; `evidence` says
 * on what that rests, or why there is none. `same_as` is the row with the same generated code,
 * which was timed in its place.
 */
export interface SweepRow {
  id: string;
  settings: (string | null)[];
  status: string;
  remark: string;
  is_model: boolean;
  from_store: boolean;
  can_open: boolean;
  figures: (number | null)[];
  words: string[];
  interval: string;
  rounds: number[];
  verdict: "faster" | "slower" | "no difference" | "too noisy to say" | "identical" | "";
  evidence: string;
  same_as: string | null;
}

/**
 * A sweep as far as it is. `status` says whether it runs; `total` is None where a search
 * decides how many are tried. `best` are the rows of the setting to take, one for each size;
 * none while it runs and where no setting is faster beyond the noise. `fronts` are, for each
 * size, the rows that no other beats in both the figure `by`, which rows are compared by, and
 * compile time, by the latter. `sentence` and `code` are there at the end. `more` counts rows
 * that are left out.
 */
export interface SweepDocument {
  version: number;
  name: string;
  variable: string;
  status: "running" | "cancelled" | "done";
  axes: SweepAxis[];
  figures: SweepFigure[];
  rows: SweepRow[];
  more: number;
  total: number | null;
  elapsed_s: number;
  left_s: number | null;
  by: string;
  best: string[];
  fronts: string[][];
  sentence: string;
  code: string;
  facts: string;
  notes: string[];
}

/**
 * What a page or a saved output of a sweep carries.
 */
export interface EmbeddedSweep {
  sweep: SweepDocument;
}
