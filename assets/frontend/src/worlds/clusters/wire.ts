// Generated from workbench/worlds/clusters/views/messages.py by `python -m workbench.views.typescript`.

/**
 * A kernel, a collective, or a pause that waits for one; µs from the start of the program.
 * `lane` is the caption of what it stands in: the kernels, or a group of ranks.
 */
export interface StreamSpan {
  id: string;
  lane: string;
  kind: "kernel" | "collective" | "wait";
  words: string;
  start_us: number;
  us: number;
}

/**
 * A collective of the table: `said` is by what its time is told, or why it has none.
 */
export interface CollectiveRow {
  id: string;
  kernel: string | null;
  wait_kernel: string | null;
  op: string;
  bytes: number | null;
  group: string;
  group_size: number | null;
  group_nodes: number | null;
  est_us: number | null;
  exposed_us: number | null;
  place: string;
  line: string | null;
  said: string;
}

declare module "../../wire" {
  /**
   * What the world adds to the document of a report.
   */
  interface Document {
    streams: StreamSpan[];
    collectives: CollectiveRow[];
  }
}
