// Generated from workbench/worlds/profiles/views/messages.py by `python -m workbench.views.typescript`.

import type { Embedded, Piece, TableRows } from "../../wire";

export type ProfileKind = "product" | "attention" | "elementwise" | "reduction" | "copy" | "collective" | "other";

export type ProfileLook = "module" | "operator" | "annotation" | "runtime" | "wait";

/**
 * Events of one thread or stream, in the order in which they begin. `begins` are nanoseconds
 * after the beginning of the one before, that of the first after the beginning of the trace;
 * `lasts` are nanoseconds. `levels` say how deep each is nested. On a thread `of` are places in
 * the names of the document and `looks` in `THREAD_LOOKS`; on a stream `of` are rows of the
 * kernels, and `launched` is how many nanoseconds before its beginning each was launched, -1
 * where that is not known, from the track at `launched_from`.
 */
export interface ProfileTrack {
  id: string;
  title: string;
  note: string;
  is_device: boolean;
  begins: number[];
  lasts: number[];
  levels: number[];
  of: number[];
  looks: number[];
  launched: number[];
  launched_from: number[];
}

/**
 * A time without work on the device, in nanoseconds of the trace; `words` say why.
 */
export interface ProfileGap {
  id: string;
  begin: number;
  last: number;
  title: string;
  words: string;
}

/**
 * A module, an operator or a kernel; its place and width are time on the device. `parent` is a
 * place in the list, -1 for none; `begin_us` counts from the left edge.
 */
export interface ProfileBox {
  id: string;
  title: string;
  words: string;
  parent: number;
  level: number;
  begin_us: number;
  last_us: number;
  kind: ProfileKind | null;
  row: string | null;
}

/**
 * What to change: at least and at most what it saves, of the time that it concerns. `least_us`
 * and `most_us` are null where nothing is known of the saving.
 */
export interface ProfileChange {
  id: string;
  title: string;
  why: string;
  code: string;
  least_us: number | null;
  most_us: number | null;
  of_us: number;
  ties: string[];
}

/**
 * What a record says of a kernel: "Line" and its text; the record of this key has it as `id`.
 * `id` is null for what has no place of its own there.
 */
export interface RecordFact {
  label: string;
  text: string;
  of: string;
  id: string | null;
}

/**
 * What the inspector says of an id: caption, name, costs, why, what next, its full name.
 * `record` has what a record says of it: lines of the program, what is fused, nodes of the
 * graph.
 */
export interface ProfileCard {
  caption: string;
  title: string;
  facts: [string, string][];
  why: string;
  next: string;
  code: string;
  record: RecordFact[];
  full: string;
  path: string;
}

/**
 * One remarkable thing in a few words, and the table that it leads to.
 */
export interface ProfileChip {
  table: string;
  pieces: Piece[];
}

/**
 * The sentence that matters, its chips, what stands behind *Details*.
 */
export interface ProfileAnswer {
  sentence: Piece[];
  chips: ProfileChip[];
  details: [string, string][];
}

/**
 * A profile of a device. `facts` say of what it is and what it recorded, `warnings` what is
 * wrong with it, `notes` what it lacks. `boxes_words` say what the width of the modules is.
 * `span_ns` is how long the trace is. `kinds` are those of the rows of `kernels`, in their
 * order. `records` are the keys of the records that can be opened from here. `ties` are what
 * belongs to an id, each way.
 */
export interface ProfileDocument {
  version: number;
  variable: string;
  title: string;
  gpu: string;
  facts: string;
  warnings: string[];
  notes: string[];
  answer: ProfileAnswer;
  span_ns: number;
  names: string[];
  tracks: ProfileTrack[];
  omitted: string;
  gaps: ProfileGap[];
  boxes: ProfileBox[];
  boxes_us: number;
  boxes_words: string;
  kinds: ProfileKind[];
  titles: string[];
  records: string[];
  changes: ProfileChange[];
  tables: TableRows[];
  cards: Record<string, ProfileCard>;
  ties: Record<string, string[]>;
}

/**
 * What a page or a saved output of a profile carries; a page has records by their keys, too.
 */
export interface EmbeddedProfile {
  profile: ProfileDocument;
  records: Record<string, Embedded>;
}

/**
 * Two profiles; `ties` are what belongs to a row, each way. A row has with its times the
 * lengths of its bars: `a_part` and `b_part` of the longest time, `change_part` from -1 to 1 of
 * the most that any row differs.
 */
export interface ProfileDiffDocument {
  version: number;
  variable: string;
  names: string[];
  sentence: string;
  warnings: string[];
  tables: TableRows[];
  cards: Record<string, ProfileCard>;
  ties: Record<string, string[]>;
}

/**
 * What a page or a saved output of two profiles carries.
 */
export interface EmbeddedProfileDiff {
  profile_diff: ProfileDiffDocument;
}
