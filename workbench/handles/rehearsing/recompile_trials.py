"""Tries a change that is to take recompiles away: the calls of a session again, on copies."""

from __future__ import annotations

import ast
import contextlib
import copy
import difflib
import linecache
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import CodeType
from typing import Any, Literal

import torch

from workbench.analysis.session.advice import RecompilePatch, group_recompiles, list_patches
from workbench.compiler.call_state.call_leaves import STRIDES, leaves_of
from workbench.compiler.call_state.random_states import keep_random_state
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.dynamo_state import forget_automatic_dynamic, preserved
from workbench.compiler.internals.patches import hold_torch_warnings
from workbench.compiler.measuring.silence import silent
from workbench.compiler.session.session_recorder import KeptCall, SessionRecorder
from workbench.errors import UsageError, describe_error
from workbench.handles.changed_copy import apply_line_changes, rewrite_callable
from workbench.handles.rehearsing.cell_thread import run_after_cells
from workbench.handles.rehearsing.outcomes import (
    Leaves,
    difference,
    effects_of,
    restore_unchanged,
)
from workbench.number_text import plural
from workbench.report.session.session_rows import SessionRecompile
from workbench.tasks.background_task import BackgroundTask, Steps

_ATTRIBUTE = re.compile(r"^(?P<root>[A-Za-z_]\w*)(?P<path>(?:\.\w+)*)\.(?P<name>\w+)$")
_CAST, _LEARNS, _LAYS = ".to(torch.", ".requires_grad_(", ".contiguous("
_GLOBAL = re.compile(r"^G\['(?P<name>\w+)'\]$")
Verdict = Literal["cures", "helps", "no help", "refused", "not checked"]


@dataclass(frozen=True)
class TriedPatch:
    """What came of a change on the calls that a session saw compiled; `calls` is 0 where it raises.

    Recompiles and graph breaks before and after; `checked` says what was compared. `patch` is a
    unified diff, empty where no line is known.
    """

    verdict: Verdict
    checked: str
    calls: int
    recompiles_before: int = 0
    recompiles_after: int = 0
    breaks_before: int = 0
    breaks_after: int = 0
    patch: str = ""
    backend: str = "eager"

    @property
    def sentence(self) -> str:
        """What came of it, in words."""
        if self.verdict == "not checked" or not self.calls:
            return self.checked
        counts = f"{self.recompiles_before} → {self.recompiles_after} recompiles"
        if self.breaks_before or self.breaks_after:
            counts += f", {self.breaks_before} → {self.breaks_after} graph breaks"
        where = f"{plural(self.calls, 'call')} that the session saw compiled, made again on copies"
        if self.recompiles_after >= self.recompiles_before:
            counts = f"It does not help: {counts}"
        return (
            f"{counts} in {where}, captured by Dynamo and run with the backend {self.backend}. "
            + (self.checked)
        )


@dataclass(frozen=True)
class _Ran:
    """What calls gave, and how often they were compiled again and broke."""

    leaves: Leaves
    recompiles: int = 0
    breaks: int = 0
    graphs: int = 0


@dataclass(frozen=True)
class _Calls:
    """The calls of a cause with the values that the changed state had in each."""

    calls: tuple[KeptCall, ...]
    kind: str
    source: str
    values: tuple[Any, ...]
    is_changed_inside: bool
    backend: str


def start_trial(id: str, recorder: SessionRecorder) -> BackgroundTask[TriedPatch]:
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
    raise UsageError(f"There is no patch {id!r} in this session.")


def find_backend(recorder: SessionRecorder, rows: Sequence[SessionRecompile]) -> str:
    """What runs the graphs of a trial: AOTAutograd where the program has it, as Inductor does.

    Only AOTAutograd makes a number a constant that the graph cannot compute with as a tensor.
    """
    row = recorder.compiles.of(rows[-1].compile_id)
    return "eager" if row is not None and row.request.backend == "eager" else "aot_eager"


def try_patch(
    patch: RecompilePatch,
    rows: Sequence[SessionRecompile],
    calls: Sequence[KeptCall],
    files: Callable[[str], str],
    backend: str,
    steps: Steps,
) -> TriedPatch:
    """Make the calls again, as they were and with the change, and compare what they give.

    `files` gives the path of a file that is shown by its name. What Dynamo had compiled stays, and
    so does what the program holds; what is gone is said.
    """
    last = rows[-1]
    inside = _is_inside(last, calls[0])
    known = _Calls(tuple(calls), last.kind, last.source, _read_values(rows), inside, backend)
    diff = _write_diff(patch, files, calls[0].code)
    with _quietly(), preserved():
        steps(f"making {plural(len(calls), 'call')} again, as they were", 0.0)
        try:
            expected = _run(known, None, files, is_compiled=False)
            again = _run(known, None, files, is_compiled=False)
            before = _run(known, None, files)
        except UsageError as error:
            return TriedPatch("not checked", str(error), len(calls), patch=diff)
        except Exception as error:  # of the program, whose state is another one by now
            why = f"The calls cannot be made again: {_first_line(error)}."
            return TriedPatch("not checked", why, len(calls), patch=diff)
        steps(f"making {plural(len(calls), 'call')} again, with the change", 0.0)
        try:
            after = _run(known, patch, files)
        except UsageError as error:  # the change cannot be made in a copy
            return TriedPatch("not checked", str(error), len(calls), patch=diff)
        except Exception as error:  # the change is wrong here: it is refused
            why = f"It raises {_first_line(error)}."
            return TriedPatch("refused", why, 0, before.recompiles, patch=diff)
    leaves, said = _undo_casts(patch, expected.leaves, after.leaves)
    sides = [expected.leaves, again.leaves, leaves]
    if any(_LEARNS in line for line in patch.before_call):  # which is what it is for
        sides = [[row for row in side if "gradient" not in row[0]] for side in sides]
        said = " Yet the outputs then need gradients too."
    if any(_LAYS in line for line in patch.before_call) and _lays_otherwise(*sides[::2]):
        sides = [[row for row in side if STRIDES not in row[0]] for side in sides]
        said += " Yet the outputs then lie otherwise in memory."
    agrees, checked = difference(*sides)
    made = TriedPatch(
        "no help",
        f"{checked}{said}",
        len(calls),
        before.recompiles,
        after.recompiles,
        before.breaks,
        after.breaks,
        diff,
        backend,
    )
    if not before.recompiles:
        missing = "The recompiles did not come again. "
        return replace(made, verdict="not checked", checked=f"{missing}{made.checked}")
    if agrees is not True:
        return replace(made, verdict="refused" if agrees is False else "not checked")
    # a line that is left to Python is a break, and is said to be one
    is_dearer = after.breaks > before.breaks and (after.recompiles > 0 or not patch.above)
    if after.recompiles >= before.recompiles or is_dearer or not after.graphs:
        return made
    return replace(made, verdict="helps" if after.recompiles else "cures")


def _lays_otherwise(expected: Leaves, actual: Leaves) -> bool:
    """Whether outputs have other strides, which is what a change of the layout is for."""
    one, other = ([row for row in side if STRIDES in row[0]] for side in (expected, actual))
    return one != other


def _undo_casts(patch: RecompilePatch, expected: Leaves, after: Leaves) -> tuple[Leaves, str]:
    """Outputs in the dtype that they had, where a change casts an input, and what they have now.

    What is given to a call in one dtype may leave it in that one: this is said, and no error.
    """
    if not any(_CAST in line for line in patch.before_call):
        return after, ""
    had = {name: leaf.dtype for name, leaf in expected if isinstance(leaf, torch.Tensor)}
    made: Leaves = []
    others: dict[str, None] = {}
    for name, leaf in after:
        is_cast = isinstance(leaf, torch.Tensor) and had.get(name, leaf.dtype) != leaf.dtype
        if is_cast and " out" in name:
            others[f"{str(leaf.dtype).removeprefix('torch.')}, "
                   f"not {str(had[name]).removeprefix('torch.')}"] = None  # fmt: skip
            leaf = leaf.to(had[name])
        made.append((name, leaf))
    return made, f" Yet the outputs are then {' and '.join(others)}." if others else ""


def _first_line(error: Exception) -> str:
    return describe_error(error).partition("\n")[0].rstrip(".")


def _run(
    known: _Calls,
    patch: RecompilePatch | None,
    files: Callable[[str], str],
    *,
    is_compiled: bool = True,
) -> _Ran:
    """Make the calls once, on copies of the objects that they are given."""
    memo: dict[int, Any] = {}
    found: Leaves = []
    recorder = SessionRecorder("light")
    function: Any = None
    with contextlib.ExitStack() as stack:
        stack.enter_context(keep_random_state())
        if is_compiled:
            stack.enter_context(forget_automatic_dynamic())
            settings = () if patch is None else patch.settings
            stack.enter_context(tp.DYNAMO_CONFIG.get().patch(dict.fromkeys(settings, True)))
            recorder.start()
            stack.callback(recorder.stop)
        stack.enter_context(_restored(known))
        for at, call in enumerate(known.calls):
            given, cells = call.read()
            given = {name: _own(value, memo) for name, value in given.items()}
            if function is None:
                made = function = _make(call, cells, patch, files)
                stack.enter_context(restore_unchanged(made))
                if is_compiled:
                    dynamic = True if patch is not None and patch.is_dynamic else None
                    function = torch.compile(made, backend=known.backend, dynamic=dynamic)
            _set_state(known, at, given, is_tensor=patch is not None and patch.state != "")
            passed = dict(given)
            if patch is not None and patch.before_call:
                exec("\n".join(patch.before_call), {"torch": torch}, passed)
            args, kwargs = call.arrange(passed)
            result = function(*args, **kwargs)
            # the caller's own tensors are looked at: what is done to a copy is not done to them
            own = {name: given[name] for name in call.values}
            own = {name: part for name, part in own.items() if not _is_number(part)}
            found += [
                (f"call {at} {name}", leaf)
                for name, leaf in effects_of(made, result, ((), own), memo.values())
            ]
        # a number that is a buffer now is the state, and compared as that
        kept = f" buffer {known.source.partition('.')[2]}"
        found = [row for row in found if not row[0].endswith(kept)]
        found += _state_leaves(known, given)
    if not is_compiled:
        return _Ran(found)
    tables = recorder.tables()
    again = sum(row.kind == "recompile" for row in tables["compiles"])
    graphs = sum(row.outcome == "graph" for row in tables["compiles"])
    return _Ran(found, again, len(tables["breaks"]), graphs)


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
        memo |= {id(each): each for each in own}  # a forward pass reads them
        memo[id(value)] = copy.deepcopy(value, {each: memo[each] for each in memo})
    return memo[id(value)]


def _make(
    call: KeptCall, cells: Any, patch: RecompilePatch | None, files: Callable[[str], str]
) -> Any:
    """The function of a call, with the lines of a change that are inside of it."""
    code = _at_its_head(call.code)
    function = call.function(cells, code)
    if patch is None or not patch.above:
        return function
    return rewrite_callable(function, *(_line_of(edit, files) for edit in patch.edits),
                            above=patch.above)  # fmt: skip


def _at_its_head(code: CodeType) -> CodeType:
    """The same code, new to Dynamo; it begins with its `def`: what is above was called around."""
    first = code.co_firstlineno
    for line in range(first, first + 8):
        if linecache.getline(code.co_filename, line).lstrip().startswith(("def ", "async def ")):
            return code.replace(co_firstlineno=line)
    return code.replace(co_firstlineno=first)


@dataclass(frozen=True)
class _IndentedEdit:
    """An edit with the indentation of its line, as a change of a copy takes it."""

    file: str
    line: int
    before: tuple[str, ...]
    after: tuple[str, ...]


def _line_of(edit: Any, files: Callable[[str], str]) -> _IndentedEdit:
    line = linecache.getline(files(edit.file), edit.line).rstrip("\n")
    if line.strip() != edit.before:
        raise UsageError(f"Line {edit.line} of {edit.file} is no longer what was recorded.")
    indent = line[: len(line) - len(line.lstrip())]
    after = tuple(f"{indent}{each}" for each in edit.after)
    return _IndentedEdit(edit.file, edit.line, (line,), after)


def _write_diff(patch: RecompilePatch, files: Callable[[str], str], code: CodeType) -> str:
    """The change as a unified diff; empty where a file is not what it was."""
    texts: list[str] = []
    by_file: dict[str, list[_IndentedEdit]] = {}
    try:
        for edit in patch.edits:
            by_file.setdefault(edit.file, []).append(_line_of(edit, files))
    except UsageError:
        return ""
    for file, changes in by_file.items():
        old = [line.rstrip("\n") for line in linecache.getlines(files(file))]
        new = apply_line_changes(old, changes)
        if patch.above:
            at = code.co_firstlineno - 1
            while at > 0 and (not old[at].strip() or old[at][0].isspace()):
                at -= 1
            new[at:at] = [*patch.above, "", ""]
        name = file.lstrip("~/")
        rows = difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", lineterm="")
        texts += [f"{row}\n" for row in rows]
    return "".join(texts)


def _read_values(rows: Sequence[SessionRecompile]) -> tuple[Any, ...]:
    """What the state was in each call, where it is a number."""
    texts = [rows[0].expected, *(row.actual for row in rows)]
    try:
        return tuple(ast.literal_eval(text) for text in texts)
    except (SyntaxError, ValueError):
        return ()


def _is_inside(row: SessionRecompile, call: KeptCall) -> bool:
    """Whether the line that changes the state is one of the function itself."""
    lines = [line for *_, line in call.code.co_lines() if line]
    return row.changed_at in lines and row.changed_in in ("", row.file)


def _find_holder(known: _Calls, given: Mapping[str, Any]) -> tuple[Any, str] | None:
    """The object and the name of an attribute that the cause is about."""
    match = _ATTRIBUTE.match(known.source.removeprefix("len(").removesuffix(")"))
    if match is None or match["root"] not in given:
        return None
    holder = given[match["root"]]
    for name in match["path"].split(".")[1:]:
        holder = getattr(holder, name)
    return holder, match["name"]


def _set_state(known: _Calls, at: int, given: Mapping[str, Any], *, is_tensor: bool) -> None:
    """Give the state the value of a call, where nothing inside the function does."""
    if known.kind not in ("value", "length") or not known.values:
        return
    if at and known.is_changed_inside:
        return
    value = known.values[at]
    if known.kind == "length":
        found = _find_holder(known, given)
        held = None if found is None else getattr(*found)
        if isinstance(held, list) and isinstance(value, int):
            del held[value:]
        return
    if is_tensor:
        is_float = any(isinstance(each, float) for each in known.values)
        value = torch.tensor(float(value) if is_float else value)
    if match := _GLOBAL.match(known.source):
        known.calls[0].globals[match["name"]] = value
        return
    found = _find_holder(known, given)
    if found is None:
        return
    holder, name = found
    if is_tensor and isinstance(holder, torch.nn.Module) and name not in holder._buffers:
        delattr(holder, name)
        holder.register_buffer(name, value)
    else:
        setattr(holder, name, value)


def _state_leaves(known: _Calls, given: Mapping[str, Any]) -> Leaves:
    """What the state is after the calls, a number as a tensor of it."""
    if known.kind not in ("value", "length"):
        return []
    if match := _GLOBAL.match(known.source):
        value = known.calls[0].globals.get(match["name"])
    else:
        found = _find_holder(known, given)
        value = None if found is None else getattr(*found)
    if isinstance(value, bool | int | float | torch.Tensor):
        return [("the state", torch.as_tensor(value, dtype=torch.float64))]
    return [(f"the state {name}", leaf) for name, leaf in leaves_of(value)]


@contextlib.contextmanager
def _restored(known: _Calls) -> Iterator[None]:
    """Put a global back that the calls are given other values of."""
    match, scope = _GLOBAL.match(known.source), known.calls[0].globals
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
