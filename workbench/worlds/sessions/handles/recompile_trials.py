"""Tries a change that is to take recompiles away: the calls of a session again, on copies."""

from __future__ import annotations

import ast
import contextlib
import copy
import linecache
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import CodeType
from typing import Any

import torch

from workbench.analysis.changes.change import Edit, write_diff
from workbench.analysis.changes.tried_change import (
    Counts,
    Ran,
    TriedChange,
    describe_in_one_line,
    try_change,
)
from workbench.compiler.call_state.call_leaves import STRIDES, leaves_of
from workbench.compiler.call_state.random_states import keep_random_state
from workbench.compiler.call_state.reachable import list_tensors
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.dynamo_state import forget_automatic_dynamic, preserved
from workbench.compiler.internals.patches import hold_torch_warnings
from workbench.compiler.measuring.silence import silent
from workbench.errors import UsageError
from workbench.handles.repeating.cell_thread import run_after_cells
from workbench.handles.repeating.changed_copy import read_dynamo_options, rewrite_callable
from workbench.handles.repeating.outcomes import (
    Leaves,
    difference,
    effects_of,
    restore_unchanged,
)
from workbench.number_text import plural
from workbench.report.program.record_rows import ProgramRecompile, Trial
from workbench.tasks.background_task import BackgroundTask, Steps
from workbench.worlds.sessions.findings.advice import (
    RecompilePatch,
    group_recompiles,
    list_candidates,
    list_patches,
)
from workbench.worlds.sessions.recording.session_recorder import KeptCall, SessionRecorder

_ATTRIBUTE = re.compile(r"^(?P<root>[A-Za-z_]\w*)(?P<path>(?:\.\w+)*)\.(?P<name>\w+)$")
_CAST, _LEARNS, _LAYS = ".to(torch.", ".requires_grad_(", ".contiguous("
_GLOBAL = re.compile(r"^G\['(?P<name>\w+)'\]$")


@dataclass(frozen=True)
class _Called:
    """What calls gave, and how often they were compiled again and broke."""

    leaves: Leaves
    counts: Counts


@dataclass(frozen=True)
class _Calls:
    """The calls of a cause with the values that the changed state had in each."""

    calls: tuple[KeptCall, ...]
    kind: str
    source: str
    values: tuple[Any, ...]
    is_changed_inside: bool
    backend: str


def start_trial(id: str, recorder: SessionRecorder) -> BackgroundTask[TriedChange]:
    """Start to try a patch of a session's advice, by its id, as soon as no cell runs.

    Raises `UsageError` for a patch that there is not, and for calls that were not kept.
    """
    tables = recorder.tables()
    causes = group_recompiles(tables["compiles"], tables["recompiles"])
    for key, rows in causes.items():
        for patch in list_patches(rows, key):
            if patch.id == id:
                calls = recorder.find_calls([row.compile_id for row in rows])
                backend = find_backend(recorder, rows)
                work = partial(try_patch, patch, rows, calls, recorder.path_of, backend)
                return BackgroundTask(patch.title, work, lambda thread: None, run_after_cells)
    raise UsageError(f"This session has no patch {id!r}.")


def find_backend(recorder: SessionRecorder, rows: Sequence[ProgramRecompile]) -> str:
    """What runs the graphs of a trial: AOTAutograd where the program has it, as Inductor does.

    Only AOTAutograd makes a number a constant that the graph cannot compute with as a tensor.
    """
    row = recorder.compiles.of(rows[-1].compile_id)
    return "eager" if row is not None and row.request.backend == "eager" else "aot_eager"


def try_patch(
    patch: RecompilePatch,
    rows: Sequence[ProgramRecompile],
    calls: Sequence[KeptCall],
    files: Callable[[str], str],
    backend: str,
    steps: Steps,
) -> TriedChange:
    """Make the calls again, as they were and with the change, and compare what they give.

    `files` gives the path of a file that is shown by its name. What Dynamo had compiled stays, and
    so does what the program holds; what is gone is said.
    """
    last = rows[-1]
    inside = _is_inside(last, calls[0])
    recorded = _Calls(tuple(calls), last.kind, last.source, _read_values(rows), inside, backend)
    diff = write_diff([patch.change], lambda edit: files(edit.file))
    with _quietly(), preserved():
        steps(f"replaying {plural(len(calls), 'call')} unchanged", 0.0)
        try:
            expected = _run(recorded, None, is_compiled=False)
            again = _run(recorded, None, is_compiled=False)
            before = _run(recorded, None).counts
        except UsageError as error:
            return TriedChange("not checked", str(error), patch=diff)
        except Exception as error:  # of the program, whose state is another one by now
            why = f"The calls cannot be replayed: {describe_in_one_line(error)}."
            return TriedChange("not checked", why, patch=diff)
        steps(f"replaying {plural(len(calls), 'call')} with the change", 0.0)

        def run(edits: tuple[Edit, ...]) -> Ran:
            change = replace(patch.change, edits=edits)
            try:
                after = _run(recorded, replace(patch, change=change))
            except UsageError as error:  # the function cannot be copied
                return Ran(None, f"Not applied: {error}", before)
            agrees, checked = _compare(patch, expected.leaves, again.leaves, after.leaves)
            return Ran(agrees, checked, after.counts)

        def confirm(_: Any, tried: TriedChange) -> TriedChange:
            return _confirm(tried, is_left_to_python=bool(patch.change.above))

        tried = try_change(lambda: _fit(patch, files), run, confirm, before, diff)
    return replace(tried, calls=len(calls), backend=backend)


def _fit(patch: RecompilePatch, files: Callable[[str], str]) -> tuple[Edit, ...]:
    """The edits of what stands inside the function, as its file has them; of others none."""
    if not patch.change.above:
        return ()
    return tuple(edit.fit(linecache.getlines(files(edit.file))) for edit in patch.change.edits)


def _confirm(tried: TriedChange, *, is_left_to_python: bool) -> TriedChange:
    """A trial whose recompiles came again, that compiles something, and costs no other breaks."""
    before, after = tried.before, tried.after
    if before is None or after is None:
        return tried
    if not before.recompiles:
        missing = "The recompiles did not recur. "
        return replace(tried, verdict="not checked", checked=f"{missing}{tried.checked}")
    # a line that is left to Python is a break, and is said to be one
    is_dearer = after.breaks > before.breaks and bool(after.recompiles or not is_left_to_python)
    if tried.verdict in ("cures", "helps") and (is_dearer or not after.graphs):
        return replace(tried, verdict="no help")
    return tried


def _compare(
    patch: RecompilePatch, expected: Leaves, again: Leaves, after: Leaves
) -> tuple[bool | None, str]:
    """Whether the calls gave the same but for what the change is for, and what was compared."""
    leaves, remark = _undo_casts(patch, expected, after)
    sides = [expected, again, leaves]
    if any(_LEARNS in line for line in patch.change.before_call):  # which is what it is for
        sides = [[row for row in side if "gradient" not in row[0]] for side in sides]
        remark = " However, the outputs then require gradients as well."
    if any(_LAYS in line for line in patch.change.before_call) and _lays_otherwise(*sides[::2]):
        sides = [[row for row in side if STRIDES not in row[0]] for side in sides]
        remark += " However, the outputs then have different strides."
    agrees, checked = difference(*sides)
    return agrees, f"{checked}{remark}"


def _lays_otherwise(expected: Leaves, actual: Leaves) -> bool:
    """Whether outputs have other strides, which is what a change of the layout is for."""
    one, other = ([row for row in side if STRIDES in row[0]] for side in (expected, actual))
    return one != other


def _undo_casts(patch: RecompilePatch, expected: Leaves, after: Leaves) -> tuple[Leaves, str]:
    """Outputs in the dtype that they had, where a change casts an input, and what they have now.

    What is given to a call in one dtype may leave it in that one: this is said, and no error.
    """
    if not any(_CAST in line for line in patch.change.before_call):
        return after, ""
    had = {name: leaf.dtype for name, leaf in expected if isinstance(leaf, torch.Tensor)}
    uncast: Leaves = []
    others: dict[str, None] = {}
    for name, leaf in after:
        is_cast = isinstance(leaf, torch.Tensor) and had.get(name, leaf.dtype) != leaf.dtype
        if is_cast and " out" in name:
            others[
                f"{str(leaf.dtype).removeprefix('torch.')}, "
                f"not {str(had[name]).removeprefix('torch.')}"
            ] = None
            leaf = leaf.to(had[name])
        uncast.append((name, leaf))
    return uncast, f" However, the outputs are then {' and '.join(others)}." if others else ""


def _run(recorded: _Calls, patch: RecompilePatch | None, *, is_compiled: bool = True) -> _Called:
    """Make the calls once, on copies of the objects that they are given."""
    memo: dict[int, Any] = {}
    effects: Leaves = []
    recorder = SessionRecorder("light")
    function: Any = None
    with contextlib.ExitStack() as stack:
        stack.enter_context(keep_random_state())
        if is_compiled:
            stack.enter_context(forget_automatic_dynamic())
            options = read_dynamo_options(() if patch is None else (patch.change,))
            stack.enter_context(tp.DYNAMO_CONFIG.get().patch(options))
            recorder.start()
            stack.callback(recorder.stop)
        stack.enter_context(_restored(recorded))
        for at, call in enumerate(recorded.calls):
            arguments, cells = call.read()
            arguments = {name: _own(value, memo) for name, value in arguments.items()}
            if function is None:
                plain = function = _make(call, cells, patch)
                stack.enter_context(restore_unchanged(plain))
                if is_compiled:
                    dynamic = True if patch is not None and patch.is_dynamic else None
                    function = torch.compile(plain, backend=recorded.backend, dynamic=dynamic)
            _set_state(recorded, at, arguments, is_tensor=patch is not None and patch.state != "")
            passed = dict(arguments)
            if patch is not None and patch.change.before_call:
                exec("\n".join(patch.change.before_call), {"torch": torch}, passed)
            args, kwargs = call.arrange(passed)
            result = function(*args, **kwargs)
            # the caller's own tensors are looked at: what is done to a copy is not done to them
            own = {name: arguments[name] for name in call.values}
            own = {name: part for name, part in own.items() if not _is_number(part)}
            effects += [
                (f"call {at} {name}", leaf)
                for name, leaf in effects_of(plain, result, ((), own), memo.values())
            ]
        # a number that is a buffer now is the state, and compared as that
        suffix = f" buffer {recorded.source.partition('.')[2]}"
        effects = [row for row in effects if not row[0].endswith(suffix)]
        effects += _state_leaves(recorded, arguments)
    if not is_compiled:
        return _Called(effects, Counts(0, 0, 0))
    tables = recorder.tables()
    again = sum(row.kind == "recompile" for row in tables["compiles"])
    graphs = sum(row.outcome == "graph" for row in tables["compiles"])
    return _Called(effects, Counts(graphs, len(tables["breaks"]), again))


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | complex)


def _own(value: Any, memo: dict[int, Any]) -> Any:
    """The copy of an object of the program that all calls of a run share; functions are shared."""
    is_object = isinstance(value, torch.nn.Module) or hasattr(value, "__dict__")
    if not is_object or (callable(value) and not isinstance(value, torch.nn.Module)):
        return value
    if isinstance(value, torch.Tensor | type):
        return value
    if id(value) not in memo:
        own = value.parameters() if isinstance(value, torch.nn.Module) else ()
        memo |= {id(parameter): parameter for parameter in own}  # a forward pass reads them
        memo[id(value)] = copy.deepcopy(value, {key: memo[key] for key in memo})
    return memo[id(value)]


def _make(call: KeptCall, cells: Any, patch: RecompilePatch | None) -> Any:
    """The function of a call, with the lines of a change that are inside of it."""
    function = call.function(cells, _at_its_head(call.code))
    if patch is None or not patch.change.above:
        return function
    return rewrite_callable(function, patch.change)


def _at_its_head(code: CodeType) -> CodeType:
    """The same code, new to Dynamo; it begins with its `def`: what is above was called around."""
    first = code.co_firstlineno
    for line in range(first, first + 8):
        if linecache.getline(code.co_filename, line).lstrip().startswith(("def ", "async def ")):
            return code.replace(co_firstlineno=line)
    return code.replace(co_firstlineno=first)


def _read_values(rows: Sequence[ProgramRecompile]) -> tuple[Any, ...]:
    """What the state was in each call, where it is a number."""
    texts = [rows[0].expected, *(row.actual for row in rows)]
    try:
        return tuple(ast.literal_eval(text) for text in texts)
    except (SyntaxError, ValueError):
        return ()


def _is_inside(row: ProgramRecompile, call: KeptCall) -> bool:
    """Whether the line that changes the state is one of the function itself."""
    lines = [line for *_, line in call.code.co_lines() if line]
    return row.changed_at in lines and row.changed_in in ("", row.file)


def _find_holder(recorded: _Calls, arguments: Mapping[str, Any]) -> tuple[Any, str] | None:
    """The object and the name of an attribute that the cause is about."""
    match = _ATTRIBUTE.match(recorded.source.removeprefix("len(").removesuffix(")"))
    if match is None or match["root"] not in arguments:
        return None
    holder = arguments[match["root"]]
    for name in match["path"].split(".")[1:]:
        holder = getattr(holder, name)
    return holder, match["name"]


def _set_state(recorded: _Calls, at: int, arguments: Mapping[str, Any], *, is_tensor: bool) -> None:
    """Give the state the value of a call, where nothing inside the function does."""
    if recorded.kind not in ("value", "length") or not recorded.values:
        return
    if at and recorded.is_changed_inside:
        return
    value = recorded.values[at]
    if recorded.kind == "length":
        located = _find_holder(recorded, arguments)
        held = None if located is None else getattr(*located)
        if isinstance(held, list) and isinstance(value, int):
            del held[value:]
        return
    if is_tensor:
        is_float = any(isinstance(state_value, float) for state_value in recorded.values)
        value = torch.tensor(float(value) if is_float else value)
    if match := _GLOBAL.match(recorded.source):
        recorded.calls[0].globals[match["name"]] = value
        return
    located = _find_holder(recorded, arguments)
    if located is None:
        return
    holder, name = located
    if is_tensor and isinstance(holder, torch.nn.Module) and name not in holder._buffers:
        delattr(holder, name)
        holder.register_buffer(name, value)
    else:
        setattr(holder, name, value)


def _state_leaves(recorded: _Calls, arguments: Mapping[str, Any]) -> Leaves:
    """What the state is after the calls, a number as a tensor of it."""
    if recorded.kind not in ("value", "length"):
        return []
    if match := _GLOBAL.match(recorded.source):
        value = recorded.calls[0].globals.get(match["name"])
    else:
        located = _find_holder(recorded, arguments)
        value = None if located is None else getattr(*located)
    if isinstance(value, bool | int | float | torch.Tensor):
        return [("the state", torch.as_tensor(value, dtype=torch.float64))]
    return [(f"the state {name}", leaf) for name, leaf in leaves_of(value)]


@contextlib.contextmanager
def _restored(recorded: _Calls) -> Iterator[None]:
    """Put a global back that the calls are given other values of."""
    match, scope = _GLOBAL.match(recorded.source), recorded.calls[0].globals
    if match is None:
        yield
        return
    value = scope[match["name"]]
    try:
        yield
    finally:
        scope[match["name"]] = value


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Without what the program prints and what torch warns of, and with its random state back."""
    with silent(), hold_torch_warnings(), warnings.catch_warnings(), torch.random.fork_rng([]):
        warnings.simplefilter("ignore")
        yield


_MOST_S = 20.0
"""Seconds that all trials of a session may take; what is left then was not tried."""
_MOST_BYTES = 256 << 20
"""Of the tensors that a function reads, which a trial copies to put them back."""


def try_candidates(recorder: SessionRecorder) -> None:
    """Try the changes for the causes that cost most first; the rows of the session have the rest.

    A function is called again only where nothing of the world can notice: whole graphs, of one
    process, that write to no parameter and to no global tensor.
    """
    if not torch.is_grad_enabled() or torch.is_inference_mode_enabled():
        return
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return  # a collective would wait for the others
    tables = recorder.tables()
    causes = group_recompiles(tables["compiles"], tables["recompiles"]).values()
    began = time.monotonic()
    for rows in sorted(causes, key=lambda rows: -sum(row.cost_s for row in rows)):
        calls = _find_calls(recorder, rows)
        if not calls:
            continue
        backend = find_backend(recorder, rows)
        tried: list[Trial] = []
        for patch in list_candidates(rows):
            if time.monotonic() - began > _MOST_S:
                return
            if not all(_has_names(line, calls[0]) for line in patch.change.before_call):
                continue
            result = try_patch(patch, rows, calls, recorder.path_of, backend, Steps(lambda: None))
            tried.append((patch.id, result.verdict, result.checked))
        recorder.note_trials([row.compile_id for row in rows], tuple(tried))


def _find_calls(recorder: SessionRecorder, rows: list[ProgramRecompile]) -> list[KeptCall]:
    """The calls of a cause; none where making them again could be noticed, or none were kept."""
    written = [row.writes for row in rows]
    if any(names is None for names in written):
        return []
    own = [name for names in written for name in names or ()]
    if any("_parameters[" in name or name.startswith("G[") for name in own):
        return []
    try:
        calls = recorder.find_calls([row.compile_id for row in rows])
        function = calls[0].function(calls[0].read()[1])
    except (UsageError, IndexError):  # gone, or too large to be kept
        return []
    tensors = list_tensors(function, code=True)
    size = sum(tensor.nbytes for tensor in tensors if not tensor.is_sparse)
    return [] if size > _MOST_BYTES else calls


def _has_names(line: str, call: KeptCall) -> bool:
    """Whether what a line assigns or marks is an argument of the frame by the same name."""
    try:
        code = compile(line, "<cure>", "exec")
    except SyntaxError:
        return False
    return {name for name in code.co_names if name not in _OF_LINES} <= {
        *call.values,
        *call.objects,
    }


_OF_LINES = frozenset(
    (
        "torch",
        "_dynamo",
        "decorators",
        "maybe_mark_dynamic",
        "mark_unbacked",
        "tensor",
        "clone",
        "contiguous",
        "to",
        "dtype",
        "as_tensor",
        "requires_grad_",
        "float64",
        "float32",
        "float16",
        "bfloat16",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint8",
        "bool",
        "complex64",
        "complex128",
    )
)
"""Names in the lines of cures that are torch's."""
