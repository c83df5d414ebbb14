"""The messages between Python and the front end, written down once.

`assets/frontend/src/wire.ts` is generated from this file, and from those beside it, by
`python -m workbench.views.typescript`.

A view has one `Document`: everything that it shows at rest. Bigger things are *parts*, asked for by
name and sent as gzip-compressed JSON: `graph:g7`, `code:k0`, `wrapper:w0`, `table:fusion`,
`changes:g1:g2`, `asm:k0:c0:sass`, `compare:k0:c0:k0:c1:sass`, `memory:`, `apart:k0|k1`; each says
its `kind`. A page on disk carries the parts that fit; live, the kernel answers, `guard-check` too.
Ids are those of the report; besides, `K:k0:12` is line 12 (from 1) of the source of kernel k0,
`W:w0:12` line 12 of wrapper w0, `A:k0:c0:sass:12` line 12 of the SASS of configuration `k0:c0`, and
`f0:7` row 7 of the fusion table. Sizes are bytes, times say
their unit in the name, `None` is *unknown*.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from workbench.views.wire.access_messages import Access
from workbench.views.wire.advice_messages import (
    Advice,
    CureQuestion,
    PatchQuestion,
    ProposedChange,
    TrialQuestion,
)
from workbench.views.wire.artifact_messages import FileQuestion, MachineQuestion, SavedFile
from workbench.views.wire.block_messages import ActionBlock, Block, CardSpec
from workbench.views.wire.check_messages import CheckFinding, Checks
from workbench.views.wire.fusion_messages import FusionPart, PairsPart
from workbench.views.wire.fusion_messages import Side as Side
from workbench.views.wire.gpu_messages import (
    ComparePart,
    Config,
    CudaGraphs,
    MatrixRow,
    Ranked,
    Roof,
    RooflinePoint,
    StagePart,
    TargetQuestion,
    Targets,
)
from workbench.views.wire.memory_messages import BudgetQuestion, BudgetsPart, MemoryPart
from workbench.views.wire.overview_messages import Piece, TreeRow
from workbench.views.wire.table_messages import Cell, ColumnSpec, Terms, Unit
from workbench.views.wire.table_messages import Tone as Tone

VERSION = 1

LineState = Literal[
    "plain",
    "captured",
    "later",
    "break",
    "failed",
    "faulty",
    "fallback",
    "folded",
    "removed",
    "traced",
    "unreached",
]
PaneId = str
"""The id of a `Pane`."""
"""The pass of a compilation with a backward; empty for what is of both."""
CostKind = Literal["time", "bound", "bytes", "memory"]


class Note(TypedDict):
    """A message: what is so, why, what to do; `select` is an id that it leads to.

    `action` would fill an empty pane, `offer` says so in two words beside its name.
    """

    title: str
    text: str
    tone: Tone
    select: NotRequired[str]
    action: NotRequired[ActionBlock]
    offer: NotRequired[str]


class PaneHead(TypedDict):
    """One tab; `empty` says why there is nothing to see in it and what would change that.

    `blocks` are what is drawn in the pane; without any it draws itself.

    The overview always has its figures: there it says why no source stands under them.
    """

    id: PaneId
    title: str
    count: int | None
    is_problem: bool
    empty: Note | None
    blocks: list[Block]


class Question(TypedDict):
    """One of the five tabs: its answer in a few words, and its panes, those with content first.

    `tone` is "break" or "fallback" where something is wrong.
    """

    id: str
    title: str
    answer: str
    tone: Tone
    is_answered: bool
    panes: list[PaneId]


class Figure(TypedDict):
    """One of the numbers behind *Details*, the line that explains it, the pane that it leads to."""

    label: str
    value: str
    note: str
    pane: PaneId


class Chip(TypedDict):
    """One remarkable thing, in a few words, and the pane that it leads to."""

    pane: PaneId
    pieces: list[Piece]


class Answered(TypedDict):
    """The sentence that matters for a record, its chips, and where its figure is from."""

    sentence: list[Piece]
    chips: list[Chip]
    source: str


class Line(TypedDict):
    """What became of one source line; `cost` is its estimated share of that of its kernels.

    `said` is the state in a sentence, with its evidence; empty where nothing is to be said.
    `called_in` lists the lines of other functions that it was inlined into.
    """

    id: str
    state: LineState
    said: str
    kernels: list[str]
    cost: dict[str, float]
    called_in: list[str]
    notes: list[Note]


class Source(TypedDict):
    """A function that was traced: `lines[i]` is line `first + i` of `file`."""

    id: str
    name: str
    file: str
    kind: str
    first: int
    lines: list[str]
    marks: list[Line]


class Cost(TypedDict):
    """One of the costs of kernels, for all their calls: its name, its unit, where it is from.

    `brief` is `source` in a few words.
    """

    kind: CostKind
    name: str
    unit: Unit
    source: str
    brief: str
    is_estimate: bool


class Kernel(TypedDict):
    """A generated kernel or library call; `mark` is g0 to g7, `ext` or `fb`, its square's look.

    `numbers` are those that are columns of the table of kernels, by field, where they are known.
    `cost` has, of the costs of the document, those that are known of it; `bound` is "memory" or
    "compute" where the target has a roofline. `code` is the part that holds its source, or None for
    a library call; `configs` is what it became for GPUs. `verdict` is what holds it back, and where
    those numbers come from. `same` is the id of the first kernel that is identical to it, its own
    where it is the first.
    """

    id: str
    same: str
    label: str
    name: str
    kind: str
    mark: str
    language: str
    graph: str
    is_backward: bool
    side: Side
    ops: list[str]
    nodes: list[str]
    lines: list[str]
    groups: list[str]
    buffers: list[str]
    numbers: dict[str, float]
    cost: dict[str, float]
    calls: int
    bound: str | None
    code: str | None
    code_lines: int
    wrapper: str | None
    verdict: tuple[str, str]
    facts: list[tuple[str, str]]
    configs: list[Config]


class GraphHead(TypedDict):
    """One graph of one stage; `part` asks for it, `next` are the graphs made from it.

    A graph as a pass left it stands behind the one of its stage: g5.1 behind g5.
    """

    id: str
    stage: str
    title: str
    compile_id: str | None
    node_count: int
    is_backward: bool
    side: Side
    part: str
    next: list[str]


class Pass(TypedDict):
    """One pass: what it changed in signs and counts, empty for nothing, what else is said of it.

    `before` and `after` are the graph that it was given and the one that it left, where these are
    recorded.
    """

    id: str
    name: str
    group: str
    side: Side
    says: str
    change: str
    before: str | None
    after: str | None


class Break(TypedDict):
    """One graph break, with the changes that may take it away."""

    id: str
    file: str
    line: int
    line_id: str | None
    function: str
    text: str
    kind: str
    gb_id: str | None
    reason: str
    explanation: str
    hints: list[str]
    count: int
    cures: list[ProposedChange]


class Guard(TypedDict):
    """One guard; `path` are the steps of its source, from the input or global to the leaf.

    `line_id` is the line that made Dynamo ask for it.
    """

    id: str
    kept: bool
    kind: str
    source: str
    path: list[str]
    text: str
    why_dropped: str | None
    line_id: str | None


class Input(TypedDict):
    """One tensor of the call as the guard sandbox edits it; `path` such as `L['x']`."""

    path: str
    shape: list[int]
    stride: list[int]
    dtype: str
    device: str


class Sandbox(TypedDict):
    """The inputs to edit; `why_not` says why no guard can be tried, or None."""

    inputs: list[Input]
    dtypes: list[str]
    why_not: str | None


class GuardCheck(TypedDict):
    """The answer of the real guards: which fails first, if any, and how many were tried."""

    ok: bool
    failed: str | None
    guard: str | None
    checked: int


class Recompile(TypedDict):
    """One more compilation, with the guard that failed."""

    compile_id: str
    function: str
    reason: str


class Phase(TypedDict):
    """One bar of the flame chart; `words` say plainly what torch's `name` does, `share` of all.

    `tip` has both, for where the words are cut.
    """

    id: str
    name: str
    words: str
    tip: NotRequired[str]
    start_s: float
    duration_s: float
    self_s: float
    depth: int
    thread: str
    side: Side
    share: NotRequired[float]


class Choice(TypedDict):
    """One choice that the autotuner timed; `state` says what became of it, in a `tone`."""

    id: str
    op: str
    choice: str
    kind: str
    state: Literal["chosen", "alternative", "failed"]
    tone: Tone | Literal[""]
    time_ms: float | None
    chosen: bool
    note: str | None


class Artifact(TypedDict):
    """What the artifact pane lists: facts in groups, such as versions, inputs, caches."""

    title: str
    facts: list[tuple[str, str]]


class Document(TypedDict):
    """Everything that a view shows at rest.

    `calls` are the user's lines with what they call, `modules` the modules, both as rows of a tree
    in order. `omitted` counts rows that are not here, `columns` says how its tables are drawn,
    `cards` what is said of a row by the kind of its id.
    `costs` are those that are known, the one that ranks first.
    `variable` is how code that is copied names the record, such as `compiled.report`.
    `file` is what the result was saved to or loaded from, `phases_said` where compile time went.
    `no_assembly` says why no kernel has code of a GPU, or is None; `actions`, by id, why what a
    live view starts cannot be started from here, None where it can; `has_budgets`: the part
    `budgets:` has some. `cuda_graphs` is None where none were asked for, `checks` where no kernel
    was checked. `terms` are those of worlds of other packages. Worlds add their own fields.
    """

    version: int
    name: str
    verdict: str
    tone: Tone
    target: str
    inputs: list[str]
    variable: str
    panes: list[PaneHead]
    questions: list[Question]
    answer: Answered
    figures: list[Figure]
    advice: Advice
    notes: list[Note]
    missing: list[Note]
    sources: list[Source]
    calls: list[TreeRow]
    modules: list[TreeRow]
    costs: list[Cost]
    kernels: list[Kernel]
    no_assembly: str | None
    graphs: list[GraphHead]
    passes: list[Pass]
    breaks: list[Break]
    guards: list[Guard]
    sandbox: Sandbox
    recompiles: list[Recompile]
    cuda_graphs: CudaGraphs | None
    phases: list[Phase]
    phases_said: str
    choices: list[Choice]
    ranked: list[Ranked]
    roofs: list[Roof]
    points: list[RooflinePoint]
    matrix_targets: list[str]
    matrix_says: str
    matrix: list[MatrixRow]
    checks: Checks | None
    check_findings: list[CheckFinding]
    accesses_says: str
    accesses: list[Access]
    targets: Targets
    artifact: list[Artifact]
    file: SavedFile
    omitted: dict[str, int]
    columns: dict[str, list[ColumnSpec]]
    cards: dict[str, list[CardSpec]]
    actions: dict[str, str | None]
    efforts: dict[str, str]
    has_budgets: bool
    terms: NotRequired[Terms]


class GraphPart(TypedDict):
    """A graph with its layout, by column; entry i of each list belongs to node i.

    `inputs` are indexes into the same lists; `x`, `y` the centre of a node in pixels, `level` its
    layer. `routes` are the edges that pass other layers: from, to, then the points x, y, x, y, …
    from end to end. Of the others, one to the next layer is a straight line down, a longer one a
    rail, drawn only for the selection. `module`, `kernel` are indexes into `modules`, `kernels`,
    or -1. `called_from` are the lines of the calls that led to its own line, `before` the ids of
    the nodes of the earlier stage that it came from. `is_quiet` marks views, casts and weights,
    hidden by default.
    """

    kind: Literal["graph"]
    id: str
    names: list[str]
    ops: list[str]
    targets: list[str]
    inputs: list[list[int]]
    shapes: list[str]
    strides: list[str]
    dtypes: list[str]
    bytes: list[int | None]
    lines: list[str | None]
    called_from: list[list[str]]
    before: list[list[str]]
    module: list[int]
    modules: list[str]
    kernel: list[int]
    kernels: list[str]
    is_quiet: list[bool]
    x: list[float]
    y: list[float]
    level: list[int]
    width: float
    height: float
    routes: list[list[float]]


class CodePart(TypedDict):
    """The source of a kernel; `nodes[i]` are the FX nodes behind line i + 1."""

    kind: Literal["code"]
    id: str
    text: str
    language: str
    nodes: list[list[str]]


class ScriptPart(TypedDict):
    """A kernel as a script of its own."""

    kind: Literal["script"]
    id: str
    text: str


class BytecodePart(TypedDict):
    """What Dynamo put in the place of a function, disassembled and as source, or why not."""

    kind: Literal["bytecode"]
    id: str
    text: str
    source: str | None
    note: str | None


class WrapperPart(TypedDict):
    """A wrapper program; `kernels[i]` is the kernel that line i + 1 calls or defines, or None."""

    kind: Literal["wrapper"]
    id: str
    text: str
    kernels: list[str | None]


class TablePart(TypedDict):
    """One table of the report by column."""

    kind: Literal["table"]
    name: str
    columns: dict[str, list[Cell]]
    rows: int


class ChangesPart(TypedDict):
    """What a pass did between two stages: node ids added, removed, replaced (before, after)."""

    kind: Literal["changes"]
    before: str
    after: str
    added: list[str]
    removed: list[str]
    replaced: list[tuple[list[str], list[str]]]
    kept: int


class WhyApart(TypedDict):
    """Why two things are not computed by one kernel, or that they are, which `is_apart` tells.

    `kernels` are the two that were compared. `words` are the scheduler's own, `rejected` its row.
    `help` is what would join them, `opportunity` the id of the change that does and that can be
    tried, each None where nothing is known.
    """

    a: str
    b: str
    is_apart: bool
    sentence: str
    help: str | None
    kernels: list[str]
    words: list[str]
    rejected: str | None
    opportunity: str | None


class ApartPart(TypedDict):
    """One answer, or without a pair those of kernels of which one reads what the other makes."""

    kind: Literal["apart"]
    answers: list[WhyApart]


class SavedPage(TypedDict):
    """A page that opens without Jupyter, and the name of its file."""

    name: str
    html: str


Part = (
    GraphPart
    | CodePart
    | ScriptPart
    | BytecodePart
    | WrapperPart
    | TablePart
    | ChangesPart
    | StagePart
    | ComparePart
    | MemoryPart
    | BudgetsPart
    | ApartPart
    | FusionPart
    | PairsPart
)


class GuardQuestion(TypedDict):
    """The edited inputs that the guard sandbox asks about."""

    inputs: list[Input]


class Ask(TypedDict):
    """A request of the front end; every one gets exactly one `Answer` with the same id."""

    id: int
    ask: str
    question: NotRequired[
        GuardQuestion
        | TargetQuestion
        | RowQuestion
        | RowsQuestion
        | TrialQuestion
        | BudgetQuestion
        | CureQuestion
        | PatchQuestion
        | FileQuestion
        | MachineQuestion
        | CancelQuestion
    ]


class Answer(TypedDict):
    """What Python sends: `error` is a sentence; otherwise the first buffer is the gzipped part."""

    id: int
    ask: str
    error: str | None


class StepState(TypedDict):
    """One phase of a running compilation; `kernels` were generated before it.

    `counted` says how many of its things are done: "4 of 11 kernels".
    """

    name: str
    start_s: float
    duration_s: float | None
    kernels: NotRequired[int]
    counted: NotRequired[str]


JobQuestion = (
    TargetQuestion
    | TrialQuestion
    | BudgetQuestion
    | CureQuestion
    | PatchQuestion
    | FileQuestion
    | MachineQuestion
)


class Job(TypedDict):
    """One thing that a view was asked to do, by the `ask` and its question; `words` say it.

    `is_made` is true of what only waits to be shown.
    """

    id: int
    ask: str
    question: JobQuestion | None
    words: str
    is_made: bool


class RowQuestion(TypedDict):
    """The row whose record is asked for, and the part of it: "document" or another one."""

    row: str
    part: str


class RowsQuestion(TypedDict):
    """The two rows to compare."""

    rows: list[str]


class CancelQuestion(TypedDict):
    """Which job is to end, of several that were asked for; without it what runs ends."""

    job: int


Task = Literal["measurement", "trial", "budget", "target", "saving", "comparison", "watch"]


class Progress(TypedDict):
    """A running or ended compilation: phases so far, kernels as they are generated.

    `task` is "measurement" where kernels are measured, "trial" where a change is tried, "budget"
    where another memory budget is, "target" where other code of the call is made, "saving" and
    "comparison" where a file is written or compared, "watch" where kernels run on the CPU; without
    it what is shown is compiled itself. `can_cancel` is true only where a button works (a
    compilation in a worker process). `words` are what it does now, in plain words. `jobs` are what
    the view was asked for and has not shown, the one that runs first, `failed` those of them that
    came to no result.
    """

    status: Literal["idle", "running", "cancelled", "failed", "done"]
    title: str
    elapsed_s: float
    steps: list[StepState]
    kernels: list[str]
    can_cancel: bool
    error: str | None
    task: NotRequired[Task]
    words: NotRequired[str]
    jobs: NotRequired[list[Job]]
    failed: NotRequired[list[Job]]


class State(TypedDict):
    """The small synchronised state of a live view: traits of these names."""

    progress: Progress
    revision: int
    pane: PaneId
    selected: str | None


class Embedded(TypedDict):
    """What a page on disk carries: the document and the parts that fit, by name.

    `pane` is the one that it opens with; the Overview where it is not said.
    """

    document: Document
    parts: dict[str, Part]
    left_out: dict[str, str]
    pane: NotRequired[PaneId]
