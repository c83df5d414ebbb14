// Generated from workbench/views/wire/*.py by `python -m workbench.views.typescript`.

/**
 * One access of a line, for one argument. `said` is what is wrong, or why nothing was counted.
 * `lanes` is one instruction: bytes from the begin of its first sector of `sector_bytes`, by
 * lane, -1 for one that takes no part; each lane moves `vector_bytes`. `bases` are those of
 * registers, lanes, warps and blocks: the place of an element in `shape` is the XOR of the
 * bases of the set bits.
 */
export interface Access {
  id: string;
  kernel: string;
  line: string | null;
  place: string;
  text: string;
  argument: string;
  kind: string;
  bytes: number | null;
  layout: string;
  vector_bytes: number | null;
  sectors: number | null;
  least_sectors: number | null;
  used: number | null;
  used_l1: number | null;
  said: string;
  looked: string;
  lanes: number[];
  sector_bytes: number;
  shape: number[];
  bases: number[][][];
}

/**
 * The opportunity to try, by its id.
 */
export interface TrialQuestion {
  opportunity: string;
}

/**
 * The patch to try, by its id.
 */
export interface PatchQuestion {
  id: string;
}

/**
 * The cure to try: the id of its break, and its position in the list of cures.
 */
export interface CureQuestion {
  id: string;
  cure: number;
}

/**
 * What trying a change showed, in words; `patch` is its unified diff, or empty.
 */
export interface ChangeOutcome {
  words: string;
  tone: Tone;
  patch: string;
}

/**
 * One way to change the program. `lines` are signs and texts of a small diff: "-" and "+", " "
 * for a line that stays, "@" for a place that the next lines are at, "" for code that stands by
 * itself. `code` is the text to copy. `ask` with `question` tries it, "" for what only the user
 * can change; `why_not` says why it cannot be tried here. `outcome` is None until it was tried.
 */
export interface ProposedChange {
  id: string;
  title: string;
  why: string;
  lines: (["-" | "+" | " " | "@" | "", string])[];
  code: string;
  ask: string;
  question: TrialQuestion | CureQuestion | PatchQuestion;
  why_not: string | null;
  outcome: ChangeOutcome | null;
}

/**
 * The times of one side in µs of a call, in the order of the pairs. `middle` are the ends of
 * the middle half: a quarter of the runs is below, a quarter above.
 */
export interface TimedRuns {
  runs_us: number[];
  minimum_us: number;
  median_us: number;
  middle_us: [number, number];
}

/**
 * Both sides timed in turn, and the one verdict that the pairs allow. `saved_us` is what a call
 * takes less in µs, negative where it takes more: the low end of the interval, the median, the
 * high end. It, `before` and `after` are None where nothing was timed, as for identical code.
 * `faster` and `slower` count pairs, `disturbed` those that other work disturbed. `sentence`
 * says all of it; where the verdict is "too noisy to say", `doubt` says why.
 */
export interface TimedPairs {
  before: TimedRuns | null;
  after: TimedRuns | null;
  saved_us: [number, number, number] | null;
  faster: number;
  slower: number;
  disturbed: number;
  verdict: "faster" | "slower" | "no difference" | "too noisy to say" | "identical";
  doubt: string;
  sentence: string;
}

/**
 * What was measured: a row for each figure, its name, before and after; `part` has the rest.
 * `saved` are a few words: a saving only where the pairs allow it, else the verdict. `times` is
 * None where nothing could be timed here. `agrees` is None where the outputs were not compared;
 * `checked` says what was, or why not.
 */
export interface TriedChange {
  rows: [string, string, string][];
  times: TimedPairs | null;
  saved: string;
  agrees: boolean | null;
  checked: string;
  part: string;
}

/**
 * One change, with what it saves and where that is from. `saving` is a range in a sentence,
 * `short` its first part; `sure_words` say what `sure` means. `predicted_us` are µs of a call
 * that it is predicted to save: lowest, middle, highest; None where nobody can say.
 * `predicted_by` says in a few words where they are from. `line_id` and `place` are the line
 * that it is about.
 */
export interface Opportunity {
  id: string;
  rule: string;
  text: string;
  saving: string;
  short: string;
  predicted_us: [number, number, number] | null;
  predicted_by: string;
  sure: string;
  sure_words: string;
  source: string;
  line_id: string | null;
  place: string | null;
  change: ProposedChange;
  tried: TriedChange | null;
}

/**
 * The opportunities that save most; `more` are in the table, `none` says why there is none.
 */
export interface Advice {
  rows: Opportunity[];
  more: number;
  none: string;
}

export type Verdict = "pass" | "warn" | "fail" | "not checked";

/**
 * One member of the file, `short` without most of its hash; `size` in bytes.
 */
export interface Member {
  id: string;
  name: string;
  short: string;
  what: string;
  size: number;
  sha256: string;
}

/**
 * One tensor or constant that the file takes or gives; `model` is empty where there is one.
 */
export interface ContractLeaf {
  id: string;
  side: "input" | "output";
  name: string;
  dtype: string;
  shape: string;
  device: string;
  model: string;
}

/**
 * One thing that the file needs, compared with the machine where it was saved or loaded.
 */
export interface Requirement {
  id: string;
  name: string;
  verdict: Verdict;
  tone: Tone;
  needed: string;
  found: string;
  advice: string;
}

/**
 * One phase of a way; `start_s` counts from the start of its process.
 */
export interface TripPhase {
  id: string;
  name: string;
  title: string;
  start_s: number;
  duration_s: number;
}

/**
 * One way of a round trip, see `RoundTripWay`; `against` compares its outputs with eager's.
 * `note` says why it did not run.
 */
export interface TripWay {
  id: string;
  name: string;
  title: string;
  ran: boolean;
  ok: boolean | null;
  against: string;
  tone: Tone;
  imports_s: number | null;
  load_s: number | null;
  first_call_s: number | null;
  first_result_s: number | null;
  total_s: number | null;
  steady_s: number | null;
  steady_p99_s: number | null;
  steady_calls: number | null;
  peak_rss_bytes: number | null;
  note: string | null;
  phases: TripPhase[];
}

/**
 * One output of a way beside that of eager; an error without a number is infinite. `compared`
 * says in a few words how it compares, in a `tone`; `whole` is what was allowed or why.
 */
export interface TripLeaf {
  id: string;
  way: string;
  leaf: string;
  dtype: string;
  shape: string;
  bit_exact: boolean;
  ok: boolean;
  max_abs_error: number | null;
  tolerance: string;
  note: string;
  compared: string;
  tone: Tone;
  whole: string;
}

/**
 * The path of the file to write, as the kernel sees it.
 */
export interface FileQuestion {
  path: string;
}

/**
 * The path of a file that describes a machine; empty for the kernel's own.
 */
export interface MachineQuestion {
  machine: string;
}

/**
 * Everything about the file. `advice` says in one line how to get one, or is None; it stands
 * under `heading`. `checked` says how the file compares with a machine that was asked about;
 * `requirements` are those of that comparison then.
 */
export interface SavedFile {
  heading?: string;
  advice: string | null;
  checked: string | null;
  can_save: boolean;
  members: Member[];
  contract: ContractLeaf[];
  requirements: Requirement[];
  ways: TripWay[];
  leaves: TripLeaf[];
}

/**
 * One sentence, or several.
 */
export interface SentenceBlock {
  kind: "sentence";
  text: string;
  look: "plain" | "muted" | "strong" | "code" | "note" | "warning";
}

/**
 * Sentences as a list; `call` gives the rows that they are made of.
 */
export interface ItemsBlock {
  kind: "items";
  title: string;
  texts: string[];
  call: string;
}

/**
 * Names with their values; `of` is what the glossary calls their place.
 */
export interface FactsBlock {
  kind: "facts";
  title: string;
  of: string;
  rows: [string, string][];
}

/**
 * What belongs to what: of each line its depth, its text, a note at its right.
 */
export interface TreeBlock {
  kind: "tree";
  title: string;
  rows: [number, string, string][];
}

/**
 * A table with its rows; `call` copies what gives all of them. With `is_open` it is a section
 * that can be folded.
 */
export interface TableBlock {
  kind: "table";
  table: TableRows;
  call: string;
  is_open: boolean | null;
}

/**
 * The rows of a table of the report, whose columns the document has under the same name.
 * `place` is where the document has them, a dot leads into a field. `label` is what the table
 * is called where it is not seen, `frame` its DataFrame; `note` stands beside the title, `more`
 * counts rows that were left out. It is as high as `seen` rows, or takes the room that is left;
 * `order` is the column that it is sorted by at first, the most first.
 */
export interface RecordBlock {
  kind: "record";
  table: string;
  place: string;
  title: string;
  label: string;
  frame: string;
  note: string;
  none: string;
  more: number;
  seen: number | null;
  order: string;
}

/**
 * What follows, in a word; `note` stands beside it, `frame` is the DataFrame of it all.
 */
export interface HeadingBlock {
  kind: "heading";
  title: string;
  note: string;
  frame: string;
}

/**
 * A label, and of each column the shade from 0, the best, to 1 with the words.
 */
export interface HeatLine {
  label: string;
  cells: ([number | null, string])[];
}

/**
 * Numbers, darker the further they are from the best.
 */
export interface HeatBlock {
  kind: "heat";
  title: string;
  caption: string;
  corner: string;
  columns: string[];
  rows: HeatLine[];
  is_open: boolean;
}

/**
 * A source, folded where it has a title; without it `call` says what gives it.
 */
export interface CodeBlock {
  kind: "code";
  title: string;
  facts: string;
  language: string;
  text: string | null;
  call: string;
  anchor?: string;
}

/**
 * Lines of a source; those with "-" before them went, those with "+" came.
 */
export interface ChangesBlock {
  kind: "changes";
  title: string;
  facts: string;
  lines: string[];
}

/**
 * Codes by their titles, one beside the other.
 */
export interface BesideBlock {
  kind: "beside";
  codes: [string, string][];
}

/**
 * A picture and the words in its place.
 */
export interface ChartBlock {
  kind: "chart";
  alt: string;
  address: string;
}

/**
 * Steps in a row, each where it begins: title, start, seconds; of `total_s` in all.
 */
export interface WaterfallBlock {
  kind: "waterfall";
  title: string;
  steps: [string, number, number][];
  total_s: number;
  is_open: boolean;
}

/**
 * A bar with its words, signs of what happened in it, and how high its parts are, 0 to 1.
 */
export interface StepBar {
  words: string;
  marks: string;
  heights: number[];
}

/**
 * The steps of a program as bars, over the lines of a scale: how high, and their words.
 */
export interface TimelineBlock {
  kind: "timeline";
  title: string;
  call: string;
  first: number;
  last: number;
  scale: [number, string][];
  bars: StepBar[];
}

/**
 * Blocks under a title, folded unless `is_open`; `count` says how much is in it.
 */
export interface SectionBlock {
  kind: "section";
  title: string;
  count: string;
  is_open: boolean;
  blocks: Block[];
}

/**
 * Blocks beside one another where there is room for it.
 */
export interface ColumnsBlock {
  kind: "columns";
  blocks: Block[];
}

/**
 * What is asked before an action starts: `name` of the question, how it is called, its text.
 * `command`, run where it is known, makes what is asked for; "" for what needs none.
 */
export interface ActionField {
  name: string;
  label: string;
  text: string;
  hint: string;
  command: string;
}

/**
 * What can be done: a button where the call is alive, else the line of Python that does it.
 */
export interface ActionBlock {
  kind: "action";
  ask: string;
  words: string;
  line: string;
  field?: ActionField;
}

/**
 * What the pane draws its own way, such as a chart that is walked with the keys.
 */
export interface OwnBlock {
  kind: "own";
  name: string;
}

export type Block = SentenceBlock | ItemsBlock | FactsBlock | TreeBlock | TableBlock | RecordBlock | HeadingBlock | HeatBlock | CodeBlock | ChangesBlock | BesideBlock | ChartBlock | WaterfallBlock | TimelineBlock | SectionBlock | ColumnsBlock | ActionBlock | OwnBlock;

/**
 * All that is shown of a record, from top to bottom; `facts` stand beside the title. `terms`
 * are those of worlds of other packages.
 */
export interface BlocksDocument {
  title: string;
  facts: string;
  blocks: Block[];
  terms?: Terms;
}

/**
 * What a page or a saved output of a document of blocks carries.
 */
export interface EmbeddedBlocks {
  blocks: BlocksDocument;
}

/**
 * What the inspector says of a row that is selected; see `cards.py` for the texts. `place` is
 * where the document has the rows, `of` what the glossary calls the facts. `tag` is a word with
 * its tone, `parts` are headings with what stands under them, `chips` headings with fields of
 * ids, `without` kinds of what belongs to it. `ties` are fields with ids that belong to the row
 * as it belongs to them, `leads` those that only do the first.
 */
export interface CardSpec {
  place: string;
  of: string;
  caption: string;
  title: string;
  label: string;
  tag: [string, string] | null;
  says: string;
  facts: ColumnSpec[];
  parts: [string, string][];
  chips: [string, string][];
  without: string[];
  ties: string[];
  leads: string[];
}

/**
 * One finding; `line` is the id of its line, `number` that line in its text.
 */
export interface CheckFinding {
  id: string;
  kernel: string;
  kind: string;
  text: string;
  tone: "break" | "fallback" | "plain";
  line: string | null;
  number: number | null;
  argument: string;
  case: string;
  programs: number[];
}

/**
 * A kernel that was checked, with the grid of its first call that ran. Lines are marked in its
 * own `source`, or in the code that was generated for the kernel `id`.
 */
export interface CheckedKernel {
  name: string;
  grid: number[];
  source: string | null;
  id: string | null;
}

/**
 * What was checked: the answer in a sentence, the kernels, each call in words. `none` is said
 * in place of findings where there are none.
 */
export interface Checks {
  sentence: string;
  none: string;
  kernels: CheckedKernel[];
  calls: string[];
}

/**
 * One of the compilations: what it is called, and what it is.
 */
export interface DiffSide {
  name: string;
  words: string;
}

/**
 * What matters, in plain words, and the part that tells more.
 */
export interface DiffSentence {
  text: string;
  part: string;
}

/**
 * One difference; `where` is the graph that a node is in, `delta` a change in percent.
 */
export interface DiffRow {
  item: string;
  change: string;
  a: string;
  b: string;
  delta: string;
  note: string;
  where: string;
  kernels: number[];
}

/**
 * One part: how many things differ and how many do not; `missing` says why it is not known.
 * `is_measured` marks numbers that differ from run to run; `more` counts rows that are left
 * out.
 */
export interface DiffPart {
  id: string;
  title: string;
  differ: number;
  same: number;
  is_measured: boolean;
  missing: string | null;
  rows: DiffRow[];
  more: number;
}

/**
 * A line of either source with its number from 1; `kind` says whether they differ.
 */
export interface DiffLine {
  kind: "same" | "changed" | "added" | "removed";
  left: number | null;
  right: number | null;
  before: string | null;
  after: string | null;
}

/**
 * Kernels that compute the same in both; `source` has the lines where both have a source.
 */
export interface DiffKernels {
  title: string;
  relation: string;
  a: string[];
  b: string[];
  facts: string[];
  language: string;
  source: DiffLine[];
}

/**
 * The programs line by line; `costs` has what each line costs in a and in b, "" for nothing.
 * `cost` says what that is, "" where nothing is known of both; `missing` why there are no
 * lines.
 */
export interface DiffProgram {
  title: string;
  missing: string;
  cost: string;
  lines: DiffLine[];
  costs: string[][];
}

/**
 * Two compilations compared.
 */
export interface DiffDocument {
  version: number;
  a: DiffSide;
  b: DiffSide;
  is_same: boolean;
  sentences: DiffSentence[];
  parts: DiffPart[];
  program: DiffProgram;
  kernels: DiffKernels[];
}

export type Side = "" | "forward" | "backward";

/**
 * One kernel or library call: what it does in plain words, and its bytes before and after. `id`
 * is the kernel's. Bytes are those of all its calls: of eager's operators (`before`, where they
 * are not known `alone`), of its operations, each alone, and together (`after`); None where the
 * record has none, or counts them with other kernels. `saved` is a share of `before` above
 * zero; else `unsaved` says in words what is known, and `why_more` why fusion made it worse.
 * `time_us` is the measured time of all its calls, None where nothing was measured.
 */
export interface FusionStep {
  id: string;
  kernel: string;
  side: Side;
  kind: string;
  words: string;
  places: string;
  before: number | null;
  alone: number | null;
  after: number | null;
  time_us: number | null;
  saved: number | null;
  unsaved: string;
  why_more: string | null;
}

/**
 * The kernels in the order of the program, with what fusion saves in a sentence.
 */
export interface FusionPart {
  kind: "fusion";
  id: string;
  sentence: string;
  steps: FusionStep[];
  columns: ColumnSpec[];
}

/**
 * One pair that stayed apart; `why` is the whole sentence, `help` a remedy where one is known.
 * `names` are what the two compute, `said` the scheduler's own words. `reason` is the kind of
 * reason, which many pairs have; `told` is that of this pair. `a_nodes` and `b_nodes` are FX
 * nodes, `a_kernel` and `b_kernel` the kernels they ended in. `times` is how many pairs are
 * told of alike, 0 for all but the first of them.
 */
export interface Rejected {
  id: string;
  graph: string;
  side: Side;
  a: string;
  b: string;
  names: string;
  a_nodes: string[];
  b_nodes: string[];
  a_kernel: string | null;
  b_kernel: string | null;
  reason: string;
  told: string;
  why: string;
  said: string;
  help: string | null;
  shared_bytes: number | null;
  shared: string[];
  rounds: number;
  times: number;
}

/**
 * The pairs with most data in common first; `omitted` counts those that were left out.
 */
export interface PairsPart {
  kind: "pairs";
  id: string;
  rows: Rejected[];
  omitted: number;
  columns: ColumnSpec[];
}

/**
 * One kernel on one GPU; `id` names its code, `note` says why there is none. What is counted in
 * code compares GPUs of one `vendor`.
 */
export interface MatrixCell {
  id: string;
  choice: string;
  registers: number | null;
  spills: number | null;
  smem_bytes: number | null;
  occupancy: number | null;
  limiter: string | null;
  instructions: number | null;
  bound: string | null;
  bound_us: number | null;
  estimate: boolean;
  note: string | null;
  vendor: string;
  modelled_us: number | null;
  modelled_error: number | null;
}

/**
 * A kernel with a cell for each GPU of `matrix_targets`, those that differ most first. `spread`
 * is how far apart the GPUs are over all counted figures, `spreads` in each of them, from 0 to
 * 1; most of it is in `differs_in` (see `workbench.analysis.gpu_model.matrix`).
 */
export interface MatrixRow {
  kernel: string;
  spread: number;
  spreads: Record<string, number>;
  differs_in: string | null;
  cells: (MatrixCell | null)[];
}

/**
 * One configuration that a model ranked, not timed; `rejection` says what is against it.
 */
export interface Ranked {
  id: string;
  kernel: string;
  target: string;
  choice: string;
  sizes: Record<string, number>;
  warps: number;
  stages: number;
  registers: number | null;
  spills: number | null;
  smem_bytes: number | null;
  occupancy: number | null;
  limiter: string | null;
  model_us: number | null;
  placed_us: number | null;
  rank: number | null;
  rejection: string | null;
  note: string | null;
}

/**
 * What becomes of the parts of a program in one sentence, and each of them.
 */
export interface CudaGraphs {
  summary: string;
  parts: CudaGraph[];
}

/**
 * A part of the program that becomes one CUDA graph, or none. `verdict` is "recorded",
 * "skipped" or "depends", `reason` why in torch's words, `help` a remedy where one is known,
 * `said` both in a sentence. `copied_bytes` are copied before every replay.
 */
export interface CudaGraph {
  id: string;
  name: string;
  verdict: string;
  tone: string;
  said: string;
  reason: string | null;
  help: string | null;
  kernels: string[];
  lines: string[];
  copied_bytes: number | null;
}

/**
 * A GPU that can be compiled for, or this machine; `words` describe it.
 */
export interface TargetChoice {
  name: string;
  words: string;
}

/**
 * What the call can be compiled for in place; `why_not` says why it cannot be done here.
 */
export interface Targets {
  present: string;
  choices: TargetChoice[];
  why_not: string | null;
}

/**
 * The targets to compile for: one in place, or several to compare.
 */
export interface TargetQuestion {
  targets: string[];
}

/**
 * The roof of one GPU, or of the CPU of a profile: its bandwidth, peak rates (TFLOP/s) used.
 * `sentence` says what to know of the kernels under it, `source` where its rates are from.
 */
export interface Roof {
  target: string;
  bandwidth_gbs: number;
  rates: [string, number][];
  sentence: string;
  source: string;
}

/**
 * Where one kernel lies under the roof of a GPU; `share` is its part of the time of all.
 * `of_roof` is its least time as a part of the measured one, None where nothing was measured.
 */
export interface RooflinePoint {
  kernel: string;
  target: string;
  moved_bytes: number | null;
  asked_bytes: number | null;
  flops: number | null;
  rate: string | null;
  intensity: number | null;
  ridge: number | null;
  bound: string | null;
  bound_us: number | null;
  attainable_tflops: number | null;
  measured_us: number | null;
  estimate: boolean;
  share: number;
  of_roof: number | null;
  note: string | null;
}

/**
 * One configuration of a kernel for a GPU, with what it takes of a multiprocessor. `stages` are
 * those that the compiler went through, each with why its text is missing, or None.
 */
export interface Config {
  id: string;
  target: string;
  choice: string;
  facts: [string, string][];
  note: string | null;
  stages: Record<string, string | null>;
}

/**
 * What an instruction does: a sentence, then its modifiers; `source` names the document.
 */
export interface Opcode {
  text: string;
  parts: [string, string][];
  source: string;
}

/**
 * The text of one stage of a kernel's compilation, in runs of lines (from 1). `lines` are
 * first, last, line of the Triton source; `inlined` first, last, file and line of an inlined
 * helper; `ptx` first, last, line of the PTX. `opcodes` explains what occurs in the text.
 */
export interface StagePart {
  kind: "stage";
  config: string;
  stage: string;
  text: string;
  lines: [number, number, number][];
  inlined: [number, number, string, number][];
  ptx: [number, number, number][];
  opcodes: Record<string, Opcode>;
}

/**
 * Two texts of a stage in blocks: a kind, then first and last line (from 1) in each. A block
 * without lines in one text has a last line before its first there.
 */
export interface ComparePart {
  kind: "compare";
  before: string;
  after: string;
  stage: string;
  blocks: (["same" | "changed" | "added" | "removed", number, number, number, number])[];
}

/**
 * One kind of storage: its bytes at the fullest moment of every step. `mark` is g0 to g7, or
 * ext for what the caller holds all the time.
 */
export interface MemoryLayer {
  kind: string;
  mark: string;
  bytes: number[];
}

/**
 * What of the peak belongs to a line, a module or a kind; `line` is the id of a line. It stands
 * for so many equal layers, if `times` is not 1: `bytes` are those of all, `each` the fewest
 * and the most of one. `parts` are the modules in it, `peak`: what runs then is in it.
 */
export interface MemoryShare {
  name: string;
  bytes: number;
  line: string | null;
  times: number;
  each: [number, number];
  parts: MemoryShare[];
  peak: boolean;
}

/**
 * What could be left out, in a sentence, with its bytes.
 */
export interface MemoryRemark {
  text: string;
  bytes: number;
  line: string | null;
  kernel: string | null;
}

/**
 * One storage, from the step `start` to the step `end`; it outlives the call where it is None.
 * `buffers` are the ids of those that lived in it, `reuse` says how each came to it. `lowers`
 * are the bytes that the peak would be lower without it. `same` is the id of the first storage
 * that is the same in an equal layer, its own where it is the first; `in_layers` is its module,
 * or its input, with `*` for the number of the layer.
 */
export interface MemoryStorage {
  id: string;
  same: string;
  in_layers: string | null;
  value: string;
  kind: string;
  mark: string;
  bytes: number;
  start: number;
  end: number | null;
  at_peak: boolean;
  lowers: number;
  line: string | null;
  place: string;
  module: string | null;
  node: string | null;
  buffers: string[];
  reuse: string;
}

/**
 * A frame of the call stacks at the peak: `start` bytes from the left, `depth` calls down. `id`
 * is that of its line or module, "" where nothing can be selected; `kind` is "line", "module",
 * "library", or "" for a function and for what the caller holds.
 */
export interface MemoryFrame {
  id: string;
  kind: string;
  name: string;
  start: number;
  bytes: number;
  depth: number;
}

/**
 * The memory of a call; `at_peak` takes its peak apart by "line", "module" and "kind". `peaks`
 * has a word, bytes and step for each part of the call, the whole last; `kernels` and `names`
 * are what each step calls, `backward` the first step of the backward. `capacity` are the bytes
 * of the target; `missing` says what is not in the figures. `eager` is the peak without a
 * compiler, in bytes and in words; None where it was not counted. `stack` is the peak by call
 * stack, empty where no line is known.
 */
export interface MemoryPart {
  kind: "memory";
  id: string;
  sentence: string;
  missing: string;
  peaks: [string, number, number][];
  base: number;
  capacity: number | null;
  eager: [number, string] | null;
  kernels: (string | null)[];
  names: string[];
  backward: number | null;
  layers: MemoryLayer[];
  at_peak: Record<string, MemoryShare[]>;
  stack: MemoryFrame[];
  storages: MemoryStorage[];
  remarks: MemoryRemark[];
  columns: ColumnSpec[];
}

/**
 * The budget to compile.
 */
export interface BudgetQuestion {
  budget: number;
}

/**
 * What of a line is computed again: its operators, how many, the bytes that they move. `line`
 * is the id of a line; bytes are as if nothing were fused.
 */
export interface BudgetLine {
  line: string | null;
  place: string;
  operators: string;
  count: number;
  bytes: number;
}

/**
 * What to write for it, and where that holds.
 */
export interface BudgetCode {
  title: string;
  text: string;
  note: string;
}

/**
 * One budget: bytes that are kept, the peak, what it costs. `peak` is that of the compiled
 * program, None until it was compiled; `preview` is the most that a model of it leaves
 * possible.
 */
export interface Budget {
  budget: number;
  saved: number;
  peak: number | null;
  preview: number | null;
  again: number;
  cost: string;
  lines: BudgetLine[];
  code: BudgetCode[];
}

/**
 * The budgets of a step, the largest first; `own` is its own, `best` has the lowest peak.
 */
export interface BudgetsPart {
  kind: "budgets";
  id: string;
  own: number;
  best: number;
  sentence: string;
  rows: Budget[];
}

/**
 * A piece of a sentence: text, a figure or code; `select` is an id that it leads to.
 */
export interface Piece {
  text: string;
  look: "plain" | "figure" | "code";
  select: string | null;
}

/**
 * A row of a tree of costs; the rows after it that are deeper are its parts. `id` is a source
 * for a function, a line, or a module as `M:layers.0–3.norm`. A `fold` stands for the lines
 * from `id` to the line number `last`, `count` of them with text, that cost nothing. `total`
 * and `own` are by kind of cost, with what it calls and without; what is not known is not in
 * them. `times` equal layers are one row, `each` has the least and the most that one of them
 * costs. `kernels` and `lines` are those of a module.
 */
export interface TreeRow {
  depth: number;
  kind: "function" | "library" | "line" | "module" | "fold" | "rest";
  id: string;
  name: string;
  caption: string;
  total: Record<string, number>;
  own: Record<string, number>;
  times?: number;
  each?: Record<string, [number, number]>;
  last?: number;
  count?: number;
  kernels?: string[];
  lines?: string[];
}

export const VERSION = 1;

export type LineState = "plain" | "captured" | "later" | "break" | "failed" | "faulty" | "fallback" | "folded" | "removed" | "traced" | "unreached";

export type PaneId = string;

export type CostKind = "time" | "bound" | "bytes" | "memory";

/**
 * A message: what is so, why, what to do; `select` is an id that it leads to. `action` would
 * fill an empty pane, `offer` says so in two words beside its name.
 */
export interface Note {
  title: string;
  text: string;
  tone: Tone;
  select?: string;
  action?: ActionBlock;
  offer?: string;
}

/**
 * One tab; `empty` says why there is nothing to see in it and what would change that. `blocks`
 * are what is drawn in the pane; without any it draws itself. The overview always has its
 * figures: there it says why no source stands under them.
 */
export interface PaneHead {
  id: PaneId;
  title: string;
  count: number | null;
  is_problem: boolean;
  empty: Note | null;
  blocks: Block[];
}

/**
 * One of the five tabs: its answer in a few words, and its panes, those with content first.
 * `tone` is "break" or "fallback" where something is wrong.
 */
export interface Question {
  id: string;
  title: string;
  answer: string;
  tone: Tone;
  is_answered: boolean;
  panes: PaneId[];
}

/**
 * One of the numbers behind *Details*, the line that explains it, the pane that it leads to.
 */
export interface Figure {
  label: string;
  value: string;
  note: string;
  pane: PaneId;
}

/**
 * One remarkable thing, in a few words, and the pane that it leads to.
 */
export interface Chip {
  pane: PaneId;
  pieces: Piece[];
}

/**
 * The sentence that matters for a record, its chips, and where its figure is from.
 */
export interface Answered {
  sentence: Piece[];
  chips: Chip[];
  source: string;
}

/**
 * What became of one source line; `cost` is its estimated share of that of its kernels. `said`
 * is the state in a sentence, with its evidence; empty where nothing is to be said. `called_in`
 * lists the lines of other functions that it was inlined into.
 */
export interface Line {
  id: string;
  state: LineState;
  said: string;
  kernels: string[];
  cost: Record<string, number>;
  called_in: string[];
  notes: Note[];
}

/**
 * A function that was traced: `lines[i]` is line `first + i` of `file`.
 */
export interface Source {
  id: string;
  name: string;
  file: string;
  kind: string;
  first: number;
  lines: string[];
  marks: Line[];
}

/**
 * One of the costs of kernels, for all their calls: its name, its unit, where it is from.
 * `brief` is `source` in a few words.
 */
export interface Cost {
  kind: CostKind;
  name: string;
  unit: Unit;
  source: string;
  brief: string;
  is_estimate: boolean;
}

/**
 * A generated kernel or library call; `mark` is g0 to g7, `ext` or `fb`, its square's look.
 * `numbers` are those that are columns of the table of kernels, by field, where they are known.
 * `cost` has, of the costs of the document, those that are known of it; `bound` is "memory" or
 * "compute" where the target has a roofline. `code` is the part that holds its source, or None
 * for a library call; `configs` is what it became for GPUs. `verdict` is what holds it back,
 * and where those numbers come from. `same` is the id of the first kernel that is identical to
 * it, its own where it is the first.
 */
export interface Kernel {
  id: string;
  same: string;
  label: string;
  name: string;
  kind: string;
  mark: string;
  language: string;
  graph: string;
  is_backward: boolean;
  side: Side;
  ops: string[];
  nodes: string[];
  lines: string[];
  groups: string[];
  buffers: string[];
  numbers: Record<string, number>;
  cost: Record<string, number>;
  calls: number;
  bound: string | null;
  code: string | null;
  code_lines: number;
  wrapper: string | null;
  verdict: [string, string];
  facts: [string, string][];
  configs: Config[];
}

/**
 * One graph of one stage; `part` asks for it, `next` are the graphs made from it. A graph as a
 * pass left it stands behind the one of its stage: g5.1 behind g5.
 */
export interface GraphHead {
  id: string;
  stage: string;
  title: string;
  compile_id: string | null;
  node_count: number;
  is_backward: boolean;
  side: Side;
  part: string;
  next: string[];
}

/**
 * One pass: what it changed in signs and counts, empty for nothing, what else is said of it.
 * `before` and `after` are the graph that it was given and the one that it left, where these
 * are recorded.
 */
export interface Pass {
  id: string;
  name: string;
  group: string;
  side: Side;
  says: string;
  change: string;
  before: string | null;
  after: string | null;
}

/**
 * One graph break, with the changes that may take it away.
 */
export interface Break {
  id: string;
  file: string;
  line: number;
  line_id: string | null;
  function: string;
  text: string;
  kind: string;
  gb_id: string | null;
  reason: string;
  explanation: string;
  hints: string[];
  count: number;
  cures: ProposedChange[];
}

/**
 * One guard; `path` are the steps of its source, from the input or global to the leaf.
 * `line_id` is the line that made Dynamo ask for it.
 */
export interface Guard {
  id: string;
  kept: boolean;
  kind: string;
  source: string;
  path: string[];
  text: string;
  why_dropped: string | null;
  line_id: string | null;
}

/**
 * One tensor of the call as the guard sandbox edits it; `path` such as `L['x']`.
 */
export interface Input {
  path: string;
  shape: number[];
  stride: number[];
  dtype: string;
  device: string;
}

/**
 * The inputs to edit; `why_not` says why no guard can be tried, or None.
 */
export interface Sandbox {
  inputs: Input[];
  dtypes: string[];
  why_not: string | null;
}

/**
 * The answer of the real guards: which fails first, if any, and how many were tried.
 */
export interface GuardCheck {
  ok: boolean;
  failed: string | null;
  guard: string | null;
  checked: number;
}

/**
 * One more compilation, with the guard that failed.
 */
export interface Recompile {
  compile_id: string;
  function: string;
  reason: string;
}

/**
 * One bar of the flame chart; `words` say plainly what torch's `name` does, `share` of all.
 * `tip` has both, for where the words are cut.
 */
export interface Phase {
  id: string;
  name: string;
  words: string;
  tip?: string;
  start_s: number;
  duration_s: number;
  self_s: number;
  depth: number;
  thread: string;
  side: Side;
  share?: number;
}

/**
 * One choice that the autotuner timed; `state` says what became of it, in a `tone`.
 */
export interface Choice {
  id: string;
  op: string;
  choice: string;
  kind: string;
  state: "chosen" | "alternative" | "failed";
  tone: Tone | "";
  time_ms: number | null;
  chosen: boolean;
  note: string | null;
}

/**
 * What the artifact pane lists: facts in groups, such as versions, inputs, caches.
 */
export interface Artifact {
  title: string;
  facts: [string, string][];
}

/**
 * Everything that a view shows at rest. `calls` are the user's lines with what they call,
 * `modules` the modules, both as rows of a tree in order. `omitted` counts rows that are not
 * here, `columns` says how its tables are drawn, `cards` what is said of a row by the kind of
 * its id. `costs` are those that are known, the one that ranks first. `variable` is how code
 * that is copied names the record, such as `compiled.report`. `file` is what the result was
 * saved to or loaded from, `phases_said` where compile time went. `no_assembly` says why no
 * kernel has code of a GPU, or is None; `actions`, by id, why what a live view starts cannot be
 * started from here, None where it can; `has_budgets`: the part `budgets:` has some.
 * `cuda_graphs` is None where none were asked for, `checks` where no kernel was checked.
 * `terms` are those of worlds of other packages. Worlds add their own fields.
 */
export interface Document {
  version: number;
  name: string;
  verdict: string;
  tone: Tone;
  target: string;
  inputs: string[];
  variable: string;
  panes: PaneHead[];
  questions: Question[];
  answer: Answered;
  figures: Figure[];
  advice: Advice;
  notes: Note[];
  missing: Note[];
  sources: Source[];
  calls: TreeRow[];
  modules: TreeRow[];
  costs: Cost[];
  kernels: Kernel[];
  no_assembly: string | null;
  graphs: GraphHead[];
  passes: Pass[];
  breaks: Break[];
  guards: Guard[];
  sandbox: Sandbox;
  recompiles: Recompile[];
  cuda_graphs: CudaGraphs | null;
  phases: Phase[];
  phases_said: string;
  choices: Choice[];
  ranked: Ranked[];
  roofs: Roof[];
  points: RooflinePoint[];
  matrix_targets: string[];
  matrix_says: string;
  matrix: MatrixRow[];
  checks: Checks | null;
  check_findings: CheckFinding[];
  accesses_says: string;
  accesses: Access[];
  targets: Targets;
  artifact: Artifact[];
  file: SavedFile;
  omitted: Record<string, number>;
  columns: Record<string, ColumnSpec[]>;
  cards: Record<string, CardSpec[]>;
  actions: Record<string, string | null>;
  efforts: Record<string, string>;
  has_budgets: boolean;
  terms?: Terms;
}

/**
 * A graph with its layout, by column; entry i of each list belongs to node i. `inputs` are
 * indexes into the same lists; `x`, `y` the centre of a node in pixels, `level` its layer.
 * `routes` are the edges that pass other layers: from, to, then the points x, y, x, y, … from
 * end to end. Of the others, one to the next layer is a straight line down, a longer one a
 * rail, drawn only for the selection. `module`, `kernel` are indexes into `modules`, `kernels`,
 * or -1. `called_from` are the lines of the calls that led to its own line, `before` the ids of
 * the nodes of the earlier stage that it came from. `is_quiet` marks views, casts and weights,
 * hidden by default.
 */
export interface GraphPart {
  kind: "graph";
  id: string;
  names: string[];
  ops: string[];
  targets: string[];
  inputs: number[][];
  shapes: string[];
  strides: string[];
  dtypes: string[];
  bytes: (number | null)[];
  lines: (string | null)[];
  called_from: string[][];
  before: string[][];
  module: number[];
  modules: string[];
  kernel: number[];
  kernels: string[];
  is_quiet: boolean[];
  x: number[];
  y: number[];
  level: number[];
  width: number;
  height: number;
  routes: number[][];
}

/**
 * The source of a kernel; `nodes[i]` are the FX nodes behind line i + 1.
 */
export interface CodePart {
  kind: "code";
  id: string;
  text: string;
  language: string;
  nodes: string[][];
}

/**
 * A kernel as a script of its own.
 */
export interface ScriptPart {
  kind: "script";
  id: string;
  text: string;
}

/**
 * What Dynamo put in the place of a function, disassembled and as source, or why not.
 */
export interface BytecodePart {
  kind: "bytecode";
  id: string;
  text: string;
  source: string | null;
  note: string | null;
}

/**
 * A wrapper program; `kernels[i]` is the kernel that line i + 1 calls or defines, or None.
 */
export interface WrapperPart {
  kind: "wrapper";
  id: string;
  text: string;
  kernels: (string | null)[];
}

/**
 * One table of the report by column.
 */
export interface TablePart {
  kind: "table";
  name: string;
  columns: Record<string, Cell[]>;
  rows: number;
}

/**
 * What a pass did between two stages: node ids added, removed, replaced (before, after).
 */
export interface ChangesPart {
  kind: "changes";
  before: string;
  after: string;
  added: string[];
  removed: string[];
  replaced: [string[], string[]][];
  kept: number;
}

/**
 * Why two things are not computed by one kernel, or that they are, which `is_apart` tells.
 * `kernels` are the two that were compared. `words` are the scheduler's own, `rejected` its
 * row. `help` is what would join them, `opportunity` the id of the change that does and that
 * can be tried, each None where nothing is known.
 */
export interface WhyApart {
  a: string;
  b: string;
  is_apart: boolean;
  sentence: string;
  help: string | null;
  kernels: string[];
  words: string[];
  rejected: string | null;
  opportunity: string | null;
}

/**
 * One answer, or without a pair those of kernels of which one reads what the other makes.
 */
export interface ApartPart {
  kind: "apart";
  answers: WhyApart[];
}

/**
 * A page that opens without Jupyter, and the name of its file.
 */
export interface SavedPage {
  name: string;
  html: string;
}

export type Part = GraphPart | CodePart | ScriptPart | BytecodePart | WrapperPart | TablePart | ChangesPart | StagePart | ComparePart | MemoryPart | BudgetsPart | ApartPart | FusionPart | PairsPart;

/**
 * The edited inputs that the guard sandbox asks about.
 */
export interface GuardQuestion {
  inputs: Input[];
}

/**
 * A request of the front end; every one gets exactly one `Answer` with the same id.
 */
export interface Ask {
  id: number;
  ask: string;
  question?: GuardQuestion | TargetQuestion | RowQuestion | RowsQuestion | TrialQuestion | BudgetQuestion | CureQuestion | PatchQuestion | FileQuestion | MachineQuestion | CancelQuestion;
}

/**
 * What Python sends: `error` is a sentence; otherwise the first buffer is the gzipped part.
 */
export interface Answer {
  id: number;
  ask: string;
  error: string | null;
}

/**
 * One phase of a running compilation; `kernels` were generated before it. `counted` says how
 * many of its things are done: "4 of 11 kernels".
 */
export interface StepState {
  name: string;
  start_s: number;
  duration_s: number | null;
  kernels?: number;
  counted?: string;
}

export type JobQuestion = TargetQuestion | TrialQuestion | BudgetQuestion | CureQuestion | PatchQuestion | FileQuestion | MachineQuestion;

/**
 * One thing that a view was asked to do, by the `ask` and its question; `words` say it.
 * `is_made` is true of what only waits to be shown.
 */
export interface Job {
  id: number;
  ask: string;
  question: JobQuestion | null;
  words: string;
  is_made: boolean;
}

/**
 * The row whose record is asked for, and the part of it: "document" or another one.
 */
export interface RowQuestion {
  row: string;
  part: string;
}

/**
 * The two rows to compare.
 */
export interface RowsQuestion {
  rows: string[];
}

/**
 * Which job is to end, of several that were asked for; without it what runs ends.
 */
export interface CancelQuestion {
  job: number;
}

export type Task = "measurement" | "trial" | "budget" | "target" | "saving" | "comparison" | "watch";

/**
 * A running or ended compilation: phases so far, kernels as they are generated. `task` is
 * "measurement" where kernels are measured, "trial" where a change is tried, "budget" where
 * another memory budget is, "target" where other code of the call is made, "saving" and
 * "comparison" where a file is written or compared, "watch" where kernels run on the CPU;
 * without it what is shown is compiled itself. `can_cancel` is true only where a button works
 * (a compilation in a worker process). `words` are what it does now, in plain words. `jobs` are
 * what the view was asked for and has not shown, the one that runs first, `failed` those of
 * them that came to no result.
 */
export interface Progress {
  status: "idle" | "running" | "cancelled" | "failed" | "done";
  title: string;
  elapsed_s: number;
  steps: StepState[];
  kernels: string[];
  can_cancel: boolean;
  error: string | null;
  task?: Task;
  words?: string;
  jobs?: Job[];
  failed?: Job[];
}

/**
 * The small synchronised state of a live view: traits of these names.
 */
export interface State {
  progress: Progress;
  revision: number;
  pane: PaneId;
  selected: string | null;
}

/**
 * What a page on disk carries: the document and the parts that fit, by name. `pane` is the one
 * that it opens with; the Overview where it is not said.
 */
export interface Embedded {
  document: Document;
  parts: Record<string, Part>;
  left_out: Record<string, string>;
  pane?: PaneId;
}

export type ColumnKind = "text" | "code" | "number" | "length" | "kernel" | "kernels" | "tag" | "bar";

export type Cell = string | number | boolean | null;

export type Tone = "plain" | "captured" | "break" | "fallback" | "folded";

export const INFINITE = 1e+300;

export type Unit = "" | "count" | "B" | "s" | "ms" | "us" | "share" | "amount" | "eps";

export type Terms = Record<string, Record<string, string[]>>;

/**
 * One column: `key` names it, `title` stands over it, `width` is a track of a CSS grid. `field`
 * is the field of a row that it shows, `key` where it is not said; a dot leads into a field.
 * `kind` is "text" unless it is said: a number has the `unit` that it is given in, a "length"
 * counts a list, a "bar" is as long as its part of the largest. `full` is the field with the
 * whole text, where the column has only the gist; `written` is the field with the words of the
 * value that it is sorted by. `tone` is the field with the tone of a tag, empty for muted
 * words; `hint` says of all cells what they are. What is read from its "end", as a file with a
 * line, loses its beginning where it is too long. `absent` stands for a value that is unknown.
 * `is_wide` columns are left out where there is little room.
 */
export interface ColumnSpec {
  key: string;
  title: string;
  width: string;
  field?: string;
  kind?: ColumnKind;
  unit?: Unit;
  look?: "mono" | "mut" | "end";
  full?: string;
  written?: string;
  tone?: string;
  hint?: string;
  absent?: string;
  is_wide?: boolean;
}

/**
 * One table; `none` is what is said where it has no rows. `more` counts those left out. The
 * `row` of each is its id, such as "breaks:2"; that of a compile, "compiles:3", names its
 * report. `details` is what is said of a row that is selected: a head, a line for each reason.
 */
export interface TableRows {
  id: string;
  title: string;
  none: string;
  columns: ColumnSpec[];
  rows: Record<string, Cell>[];
  more: number;
}

export const TITLES: Record<PaneId, string> = {
  overview: "Overview",
  graphs: "Graphs",
  breaks: "Breaks & guards",
  fusion: "Fusion",
  kernels: "Kernels",
  timeline: "Compile time",
  autotune: "Tuning",
  roofline: "Roofline",
  memory: "Memory",
  matrix: "Matrix",
  artifact: "Artifact",
  numerics: "Numerics",
  checks: "Checks",
  accesses: "Accesses",
  streams: "Streams",
  tables: "All tables",
};

export const QUESTIONS: Record<string, string> = {
  time: "How long, and what helps?",
  fit: "Does it fit?",
  right: "Is it right?",
  breaks: "What breaks or recompiles?",
  ship: "Can I ship it?",
};

export const WORDS: Record<Line["state"], string> = {
  captured: "Captured",
  later: "In the next graph",
  break: "Graph break",
  failed: "Fails here",
  faulty: "Finding in its kernel",
  fallback: "Fallback",
  folded: "Constant-folded",
  removed: "Removed",
  traced: "Ran while tracing",
  unreached: "Not reached",
  plain: "",
};
