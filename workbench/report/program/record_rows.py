"""What a program compiled while it ran, as a recorder or a log tells it: rows of tables."""

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

    `steps_ended` are those that the program ended, None where a record does not tell; without any
    the whole is one step. `missing` names what could not be seen, with the reason. `ran_compiled`:
    whether a compiled graph was called, None where that could not be told. `left_alone` are modules
    that were asked to be compiled, and of which torch compiles no frame.
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
    """One compilation of a frame, or of the backward of one.

    `kind`: "first", "recompile", "resume" (what follows a graph break), "backward", "autograd"
    (compiled autograd). `outcome`: "graph", "no graph", "skipped" (the frame runs eagerly),
    "limit" (so do its further variants; refused, this one counts as no compile), "error" (the
    program got it), "interrupted" or "unfinished". `total_s` holds
    `dynamo_s` and `backend_s`, of which `codegen_s` is a part, all in seconds as torch counts them.
    `why`: the guard of the nearest earlier variant that failed, or why the frame was skipped.
    `cache`: what torch's caches answered. `guards`, `ops` and times that torch did not tell are
    None. `has_report`: whether a report of it was kept. `inputs`: names and sizes of what
    the captured graph takes besides parameters and buffers, of a backward those of its forward.
    `caught`: sentences on operators whose errors only eager code catches.
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
    """One earlier variant that did not fit when a frame was compiled again.

    `nearest`: whether most of its guards held; that one says why. `kind`: "size", "value", "type",
    "grad mode", "identity", "length" (of what holds arguments, or its keys), "stride", "rank",
    "aliasing" (of inputs), "backend", "global state" or "other".
    `source` is what the guard looks at, `expected` and `actual` what it wanted and found, where
    that is known. `variants` were there before. `cost_s` is the compile of the new one, its
    backward included. `also` are further guards of the nearest variant that did not hold.
    `is_last_batch`: whether the size is that of the last, incomplete batch of a loader of the
    program. `fixed_by`: what made the new variant one for this size or number only, "the code" or
    "dynamic=False"; empty where it is for others too, or that is not known. `resumed_at`: of the
    rest of a function after a graph break the line of that, else 0. `changed_at` is the line that
    changes the attribute or the global which the guard looks at, `changed_by` its code, in the
    function's file unless `changed_in` names another; 0 and empty where no line alone can be meant:
    `suspects` are those of several that may be. `set_by` first gave it its number, `made_by` calls
    torch.compile, `called_by` calls the function, with the caller's names in `called_as`, such as
    `x=batch`. `is_of_module`: whether the attribute is one of a module of torch.nn. `writes` are
    the inputs that the captured code writes to, None where that is not known. `tried` are the
    changes that were tried on copies of the calls.
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
    """One place where a graph broke, in all compiles; `cost_s` compiled what resumes after it.

    Of a break in code of torch's or of Python's, the line is that of the user's which led there,
    and `within` is the other. `ops_before` and `ops_after` are operators of the graphs that it
    parts, None where torch did not tell.
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
    """A frame that runs eagerly from now on.

    `how`: "always", or "new variants" where those compiled before are still used. `eager_calls`
    counts the call that found no variant and was not compiled either, and those since; None where
    they cannot be told apart or counted.
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
