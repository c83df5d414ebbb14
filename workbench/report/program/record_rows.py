"""Compilations of a running program, from a recorder or a log: rows of tables."""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.report.report_header import Environment

Spot = tuple[str, int, str]
"""A file as it is shown, a line of it from 1, and its code; of none the file is empty."""
NOWHERE: Spot = ("", 0, "")
Trial = tuple[str, str, str]
"""A change that was tried: its lines, the verdict of a patch, and what was compared."""


@dataclass(frozen=True)
class ProgramHeader:
    """Where a program ran: seconds of the clock, numbers of steps and events, names of threads.

    `steps_ended` are those that the program ended, None if it is not recorded; without any, the
    whole run is one step. `missing` names the parts that could not be recorded, with the reason.
    `ran_compiled`: whether a compiled graph was called, None if it is not known. `left_alone` are
    modules that should have been compiled, but of which torch compiles no frame.
    """

    environment: Environment = field(default_factory=Environment)
    capture: str = "light"
    began_at: float = 0.0
    wall_s: float = 0.0
    steps: int = 0
    steps_ended: int | None = None
    events: int = 0
    threads: tuple[str, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    ran_compiled: bool | None = None
    left_alone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Compile:
    """One compilation of a frame, or of its backward pass.

    `kind`: "first", "recompile", "resume" (after a graph break), "backward", "autograd" (compiled
    autograd). `outcome`: "graph", "no graph", "skipped" (the frame falls back to eager), "limit"
    (the recompile limit was hit: this variant and later ones are not compiled), "error" (raised to
    the program), "interrupted" or "unfinished". `total_s` includes `dynamo_s` and `backend_s`, and
    `backend_s` includes `codegen_s`, all in seconds as torch counts them. `why`: the failed guard
    of the nearest earlier variant, or why the frame was skipped. `cache`: hits and misses of
    torch's caches. `guards`, `ops` and times are None if torch did not report them. `has_report`:
    whether a report of it was kept. `inputs`: names and sizes of the inputs of the captured graph,
    without parameters and buffers; a backward pass has those of its forward pass. `caught`:
    sentences on operators whose exceptions only eager code catches.
    """

    id: str
    function: str
    file: str
    line: int
    step: int
    at_s: float
    kind: str
    thread: str
    total_s: float
    dynamo_s: float | None = None
    backend_s: float | None = None
    codegen_s: float | None = None
    guards: int | None = None
    ops: int | None = None
    breaks: int = 0
    outcome: str = ""
    cache: str = ""
    why: str = ""
    has_report: bool = False
    inputs: str = ""
    caught: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramRecompile:
    """One earlier variant that did not match when a frame was recompiled.

    `nearest`: whether most of its guards held; that one explains the recompile. `kind`: "size",
    "value", "type", "grad mode", "identity", "length" (of containers of arguments, or their keys),
    "stride", "rank", "aliasing" (of inputs), "backend", "global state" or "other". `source` is the
    guarded value, `expected` and `actual` are its values, if known. `variants` counts earlier
    variants. `cost_s` is the compile time of the new one, with its backward pass. `also` are
    further failed guards of the nearest variant. `is_last_batch`: whether the size is that of the
    last, incomplete batch of a data loader. `fixed_by`: why the new variant is for this size or
    number only, "the code" or "dynamic=False"; empty if it is dynamic, or not known. `resumed_at`:
    the line of the graph break for the rest of a function after a break, otherwise 0. `changed_at`
    is the line that changes the guarded attribute or global, `changed_by` its code, in the
    function's file unless `changed_in` names another; 0 and empty if it is not a single line:
    `suspects` are then the candidates. `set_by` first set its number, `made_by` calls
    torch.compile, `called_by` calls the function, with the caller's names in `called_as`, such as
    `x=batch`. `is_of_module`: whether the attribute belongs to a torch.nn module. `writes` are the
    inputs that the captured code writes to, None if not known. `tried` are the changes that were
    tried on copies of the calls.
    """

    compile_id: str
    function: str
    step: int
    against: str
    nearest: bool
    guard: str
    kind: str
    source: str
    expected: str
    actual: str
    variants: int
    cost_s: float = 0.0
    file: str = ""
    line: int = 0
    also: tuple[str, ...] = ()
    is_last_batch: bool = False
    fixed_by: str = ""
    resumed_at: int = 0
    changed_at: int = 0
    changed_by: str = ""
    changed_in: str = ""
    suspects: tuple[Spot, ...] = ()
    set_by: Spot = NOWHERE
    made_by: Spot = NOWHERE
    called_by: Spot = NOWHERE
    called_as: tuple[str, ...] = ()
    is_of_module: bool = False
    writes: tuple[str, ...] | None = None
    tried: tuple[Trial, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramBreak:
    """One graph break, in all compiles; `cost_s` is the compile time of the code after it.

    For a break in torch or the standard library, the line is the user's line that led there, and
    `within` is the other. `ops_before` and `ops_after` are operators of the graphs before and
    after it, None if torch did not report them.
    """

    file: str
    line: int
    function: str
    text: str
    kind: str
    reason: str
    hints: tuple[str, ...]
    count: int
    compile_ids: tuple[str, ...]
    first_step: int
    cost_s: float = 0.0
    within: str = ""
    ops_before: int | None = None
    ops_after: int | None = None


@dataclass(frozen=True, slots=True)
class Fallback:
    """A frame that falls back to eager.

    `how`: "always", or "new variants" if earlier variants are still used. `eager_calls` counts the
    eager calls from the first one without a variant on; None if they cannot be counted.
    """

    function: str
    file: str
    line: int
    compile_id: str
    step: int
    how: str
    why: str
    eager_calls: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a step: "compile", "recompile", "break", "fallback" and so on."""

    step: int
    at_s: float
    kind: str
    compile_id: str
    function: str
    text: str
    cost_s: float = 0.0
