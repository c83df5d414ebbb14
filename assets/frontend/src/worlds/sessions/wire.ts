// Generated from workbench/worlds/sessions/views/messages.py by `python -m workbench.views.typescript`.

import type { ProposedChange, TableRows } from "../../wire";

/**
 * Steps `first` to `last`, which share a bar of the timeline. `heights` are parts of the height
 * of the picture, from below: compiling, in compiled graphs, outside of graphs. `marks` are
 * signs for what happened in it, `words` say all of it; `why` is a sentence where it was slow.
 * `rows` are ids of rows of tables that belong to it.
 */
export interface SessionBar {
  first: number;
  last: number;
  heights: number[];
  marks: string;
  words: string;
  why: string;
  rows: string[];
}

/**
 * What to change in a sentence, with the ways to write it.
 */
export interface SessionChange {
  sentence: string;
  patches: ProposedChange[];
}

/**
 * A session as far as it is. `title` counts what happened, `facts` say how it was recorded.
 * `scale` are lines of the picture: how high, and their words. `slow` are sentences on the
 * slowest steps. `can_open` are ids of the compiles that have a report. `changes` are the
 * sentences of `advice` with their patches.
 */
export interface SessionDocument {
  version: number;
  variable: string;
  status: "running" | "done";
  title: string;
  facts: string;
  notes: string[];
  advice: string[];
  changes: SessionChange[];
  slow: string[];
  bars: SessionBar[];
  scale: [number, string][];
  tables: TableRows[];
  can_open: string[];
}

/**
 * What a page or a saved output of a session carries.
 */
export interface EmbeddedSession {
  session: SessionDocument;
}
