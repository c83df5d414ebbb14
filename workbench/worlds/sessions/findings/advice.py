"""What to change in a program, by what its session costs: a sentence each, the costliest first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from workbench.number_text import number_text, plural
from workbench.report.program.record_rows import Compile, Fallback, ProgramBreak, ProgramRecompile
from workbench.worlds.sessions.findings.eager_code import (
    CURE_OF_GENERATOR,
    FIX_IT,
    UNTRIED,
    advise_on_break,
    describe_harm,
    explain_nothing_compiled,
    find_cure_of_failure,
)
from workbench.worlds.sessions.findings.recompile_cures import (
    DTYPES,
    find_recompile_cure,
    is_of_inference,
    was_tried,
)
from workbench.worlds.sessions.findings.recompile_patches import RecompilePatch as RecompilePatch
from workbench.worlds.sessions.findings.recompile_patches import (
    asks_for_line,
    join_places,
)
from workbench.worlds.sessions.findings.recompile_patches import (
    group_recompiles as group_recompiles,
)
from workbench.worlds.sessions.findings.recompile_patches import list_candidates as list_candidates
from workbench.worlds.sessions.findings.recompile_patches import list_patches as list_patches
from workbench.worlds.sessions.rows.session_record import Session, list_failed_compiles
from workbench.worlds.sessions.rows.session_rows import (
    NO_GENERATOR,
    Step,
    find_own_breaks,
    find_step,
    list_compiled,
    place,
)

_UNTRIED = "this was not tried"
_AUTOCAST = re.compile(r"^autocast\((\w+)\)_(\w+)$")
_STATES = {
    "grad_mode": "the grad mode",
    "default_dtype": "the default dtype",
    "num_threads": "the number of threads",
}
_CLASS = re.compile(r"<class '([^']+)'>")
_COMPILER = re.compile(r"compiler='(\w+)'")
_IMPORTED = re.compile(r"\b__import_(\w+)\.")
_STACK = re.compile(r"^___stack\d+")
_HAS_KEY = re.compile(
    r"^(?P<lacks>not )?___dict_contains\("
    r"(?P<key>'\w+'), (?P<holder>[\w.]+?)(?P<dict>\.__dict__)?\)$"
)
_CLOSED = re.compile(r"([\w.]+)\.__closure__\[\d+\]\.cell_contents")
_GLOBAL = re.compile(r"\bG\['(\w+)'\]")


@dataclass(frozen=True)
class Advice:
    """One thing to change: what happens where, its cost in seconds and steps, the cure.

    `kind`: "nothing", "error", "fallback", "recompile" or "break". `steps` are those that were
    slower for it. `code` are lines of the cure that stand before each call, in the names of the
    function's arguments. `is_expected`: whether there is nothing to change. `shown` is the file as
    it is told apart from others of its name. `unknown` is said behind the place where no line is
    known to change the value. `trial` says that the cure was not tried, empty where it was or where
    there is nothing to try. `detail` is said behind the place, in sentences of its own. `patches`
    are ways to write the cure, which can be tried where the program runs.
    """

    kind: str
    function: str
    file: str
    line: int
    cost_s: float
    steps: tuple[int, ...]
    text: str
    cure: str
    code: tuple[str, ...] = ()
    is_expected: bool = False
    shown: str = ""
    unknown: str = ""
    trial: str = ""
    detail: str = ""
    patches: tuple[RecompilePatch, ...] = ()

    @property
    def sentence(self) -> str:
        """The place and the cost, then the cure, then whether it was tried."""
        if not self.cure:
            return self.text
        at = f"{self.shown}:{self.line}" if self.shown else place(self.file, self.line)
        where = f" ({at})" if self.file else ""
        parts = (self.detail, self.cure, self.trial)
        more = (f" {part[0].upper()}{part[1:]}." for part in parts if part)
        return f"{self.text}{where}{self.unknown}.{''.join(more)}"


def advice(session: Session) -> list[Advice]:
    """That nothing was compiled first, then what runs eagerly as long as the program does.

    The others by the time that they took, be they expected or not.
    """
    tables = session.tables
    compiles: list[Compile] = list(tables["compiles"])
    nothing = explain_nothing_compiled(session)
    rows = [
        *([Advice("nothing", "", "", 0, 0.0, (), nothing, "")] if nothing else []),
        *([] if nothing else _of_errors(tables)),
        *_of_fallbacks(list(tables["fallbacks"]), list(tables["breaks"])),
        *sorted(
            [*_of_recompiles(compiles, tables), *_of_breaks(session, compiles)],
            key=lambda one: -one.cost_s,
        ),
    ]
    names = _tell_apart(one.file for one in rows)
    return [replace(one, shown=names.get(one.file, "")) for one in rows]


def _of_errors(tables: Mapping[str, Any]) -> Iterator[Advice]:
    """Compiles that failed, where the program went on without."""
    for row in list_failed_compiles(tables):
        text = f"Compilation of {row.function} failed in step {row.step}: {row.why.rstrip('.')}"
        todo = f"the program continued without it; {find_cure_of_failure(row)}"
        yield Advice(
            "error",
            row.function,
            row.file,
            row.line,
            0.0,
            (row.step,),
            text,
            todo,
            trial="" if todo.endswith(FIX_IT) else _UNTRIED,
        )


def _of_fallbacks(rows: list[Fallback], breaks: list[ProgramBreak]) -> Iterator[Advice]:
    cut = {id: row for row in breaks for id in row.compile_ids}
    for row in rows:
        since = f"since step {row.step}"
        if row.how == "always":
            text = f"{row.function} runs eagerly {since}: {row.why.rstrip('.')}"
            at = cut.get(row.compile_id) if row.compile_id else None
            what = f" at {place(at.file, at.line)}" if at is not None else ""
            todo, trial = f"fix the cause{what}; then the function is compiled", ""
            if row.why == NO_GENERATOR:
                todo, trial = CURE_OF_GENERATOR, _UNTRIED
        else:
            calls = "" if row.eager_calls is None else f", {plural(row.eager_calls, 'call')} so far"
            text = f"{row.function} runs eagerly {since} when no variant matches{calls}: {row.why}"
            todo = (
                "reduce the number of variants, or raise torch._dynamo.config.recompile_limit "
                "(each variant costs a compile)"
            )
            trial = _UNTRIED
        yield Advice(
            "fallback", row.function, row.file, row.line, 0.0, (row.step,), text, todo, trial=trial
        )


def _of_recompiles(compiles: list[Compile], tables: Mapping[str, Any]) -> Iterator[Advice]:
    """The recompiles of one function by one kind of guard together."""
    refused = {row.id for row in compiles if row.outcome == "limit"}
    for key, rows in group_recompiles(compiles, tables["recompiles"]).items():
        made = find_recompile_cure(rows)
        rows = [row for row in rows if row.compile_id not in refused]
        if not rows:  # asked for once the limit was reached, which is said of the eager calls
            continue
        last = rows[-1]
        spent = sum(row.cost_s for row in rows)
        steps = tuple(dict.fromkeys(row.step for row in rows))
        part = f"The part of {last.function} after its graph break"
        whole = part if last.resumed_at else last.function
        text = (
            f"{whole} recompiled {plural(len(rows), 'time')} "
            f"({number_text(spent, 'seconds')} in {_steps(steps)}), "
            f"{'last ' * (len(rows) > 1)}because {_since(last)}"
        )
        text += _list_values(rows)
        changed = next((row for row in rows if row.changed_at), last)
        suspected = next((row for row in rows if row.suspects), last)
        unknown = "" if changed.changed_at else _tell_unknown(suspected)
        file, line = last.file, last.line
        if changed.changed_at:
            text += f"; `{changed.changed_by}` changes it"
            file, line = changed.changed_in or file, changed.changed_at
        yield Advice(
            "recompile",
            last.function,
            file,
            line,
            spent,
            steps,
            _name_modules(text),
            _name_modules(made.text),
            made.code,
            made.is_expected,
            unknown=unknown,
            trial="" if made.is_expected or was_tried(made, rows) else _UNTRIED,
            patches=list_patches(rows, key),
        )


def _tell_unknown(row: ProgramRecompile) -> str:
    """That the line which changes a value is not known, where a line does; else nothing."""
    if row.suspects:
        many = plural(len(row.suspects), "line")
        return f"; one of {many} changes it ({join_places(row.suspects)}), unknown which"
    return "; the line that changes it was not found" if asks_for_line(row) else ""


def explain_recompile(session: Session, compile: Compile) -> str:
    """Why a frame was compiled once more: the guard, and the line that changed the value."""
    tables = session.tables
    rows = [row for row in tables["recompiles"] if row.nearest and row.compile_id == compile.id]
    if not rows:
        return f"Recompiled: {compile.why.rstrip('.')}."
    row = rows[-1]
    since = _name_modules(_since(row))
    if row.source and "`" not in since:
        since = since.replace(row.source, f"`{row.source}`", 1)
    text = f"Recompiled because {since}"
    if row.changed_at:
        spot = row.changed_in or row.file, row.changed_at
        return f"{text}: `{row.changed_by}` changes it ({place(*spot)})."
    if unknown := _tell_unknown(row):
        return f"{text}{unknown}."
    file, line, code = row.called_by
    called = f"; called by `{code.strip()}` ({place(file, line)})" if file else ""
    return f"{text}{called}."


def _list_values(rows: list[ProgramRecompile]) -> str:
    """The values that the variants were compiled for, in order, where there are more than two."""
    values = [rows[0].expected, *(row.actual for row in rows)]
    for at, row in enumerate(rows[1:], 1):  # what was not read then is what the next one expected
        values[at] = values[at] or row.expected
    is_chain = len(values) > 2 and all(values) and len({row.source for row in rows}) == 1
    shown = values if len(values) <= 8 else [*values[:4], "…", *values[-3:]]
    return f", in order {' → '.join(_name_value(rows[0], v) for v in shown)}" if is_chain else ""


def _name_modules(text: str) -> str:
    """Modules by their names: Dynamo puts `__import_pkg_dot_net` among a function's globals."""
    return _IMPORTED.sub(
        lambda match: "" if match[1] == "__main__" else f"{match[1].replace('_dot_', '.')}.", text
    )


def _since(row: ProgramRecompile) -> str:
    """The guard that failed, in words where its parts are known."""
    source = _GLOBAL.sub(
        r"the global \1", _STACK.sub("the result of the breaking line", row.source)
    )
    source = _CLOSED.sub(r"a variable that \1 closes over", source)
    if row.kind == "backend":
        return _backends(row.expected, row.actual)
    if row.kind == "aliasing" and row.expected:
        return f"{source} and {row.expected} were not the same tensor"
    if row.kind == "aliasing":
        return f"{' and '.join(row.source.split(', '))} were the same tensor"
    if is_of_inference(row.expected, row.actual):
        how = "" if "Autograd" in row.expected else "not "
        return f"{source.removesuffix('.dispatch key set')} was {how}made under inference_mode"
    is_equal = " == " in row.guard or " is " in row.guard or row.guard.startswith(("tensor", "exp"))
    if row.expected and row.actual and row.expected != row.actual and is_equal:
        return f"{source} was {_name_value(row, row.actual)}, not {_name_value(row, row.expected)}"
    if row.kind == "size" and row.source and row.actual:
        return f"{source} was {row.actual} (`{row.guard}` failed)"
    if row.kind == "length" and row.source and row.expected:
        return f"{source} was not {row.expected}"
    if row.kind == "identity" and row.source:
        other = "freed" if row.guard.startswith("Cache line invalidated") else "another object"
        return f"{source} was {row.actual or other}"
    if row.guard.startswith("GLOBAL_STATE"):
        return _changed(row.guard.rpartition(": ")[2].removeprefix("GLOBAL_STATE ").split())
    return _word_guard(row.guard)


def _word_guard(guard: str) -> str:
    """A guard on the keys of a dictionary in words, any other as torch writes it."""
    held = _HAS_KEY.match(guard)
    if held is None:
        return f"`{guard}` failed"
    what = f"{'attribute' if held['dict'] else 'key'} {held['key']}"
    return f"{held['holder']} had {'a new' if held['lacks'] else 'no'} {what}"


def _changed(names: list[str]) -> str:
    """What changed of torch's state: `the grad mode and autocast (cpu) changed`."""
    words = [_word(name) for name in names]
    shown = " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else "it"
    return f"{shown} changed"


def _word(name: str) -> str:
    if match := _AUTOCAST.match(name):
        return f"autocast ({match[1]}{', its dtype' if match[2] == 'dtype' else ''})"
    return _STATES.get(name, f"the setting {name}")


def _name_value(row: ProgramRecompile, value: str) -> str:
    """A value without what Python writes around the names of classes; a dtype as torch has it."""
    if row.source.endswith(".dtype"):
        return DTYPES.get(value, value)
    return _CLASS.sub(r"\1", value).replace("<locals>.", "")


def _backends(before: str, now: str) -> str:
    known = [
        match[1]
        if (match := _COMPILER.search(each))
        else "inductor"
        if "Inductor" in each
        else each
        for each in (before, now)
    ]
    if known[0] == known[1]:
        return f"the options of backend {known[0]} changed"
    return f"the backend was {known[1]}, not {known[0]}"


def _of_breaks(session: Session, compiles: list[Compile]) -> Iterator[Advice]:
    tables, reports = session.tables, session.reports
    given_up = {row.compile_id for row in tables["fallbacks"] if row.how == "always"}
    compiled = list_compiled(tables)
    for row in find_own_breaks(tables):
        own = [one.step for one in compiles if one.id in row.compile_ids]
        spent = f", {number_text(row.cost_s, 'seconds')} of compiling" if row.cost_s else ""
        at = f" at `{row.text}`" if row.text else ""  # of code without a file
        is_whole = not given_up.intersection(row.compile_ids)
        cut = "has a graph break" if is_whole else "is not compiled because of a graph break"
        parted = describe_harm(row) if is_whole else ""
        text = f"{row.function} {cut}{at}{spent}"
        harm = f"{row.kind}. {parted[0].upper()}{parted[1:]}" if parted else row.kind
        steps = tuple(dict.fromkeys(own))
        todo = advise_on_break(row, compiles, reports, compiled)
        has_own_graph = find_step(row) in compiled
        yield Advice(
            "break",
            row.function,
            row.file,
            row.line,
            row.cost_s,
            steps,
            text,
            todo,
            is_expected=parted.startswith("harmless") or has_own_graph,
            trial="" if has_own_graph else UNTRIED,
            detail=harm,
        )


def _steps(steps: tuple[int, ...]) -> str:
    """Steps in words: `step 3`, `steps 0, 4, 7`, `12 steps`."""
    if len(steps) > 4:
        return plural(len(steps), "step")
    return f"step{'s' * (len(steps) > 1)} {', '.join(map(str, steps))}"


def why_slow(session: Session, number: int) -> str:
    """Why a step took longer than the median step, in a sentence; empty where it did not."""
    return explain_slow_steps(session, [number]).get(number, "")


def explain_slow_steps(session: Session, numbers: Iterable[int]) -> dict[int, str]:
    """By step, a sentence for those that took longer than the median step."""
    rows, events = session.tables["steps"], session.tables["events"]
    if not len(rows):
        return {}
    usual = sorted(rows.columns["wall_ms"])[len(rows) // 2]
    places = {step: at for at, step in enumerate(rows.columns["step"])}
    steps: list[Step] = [rows[places[number]] for number in numbers if number in places]
    slow = [step for step in steps if step.wall_ms >= 1.5 * usual or step.compile_s]
    parts: dict[int, list[tuple[float, str]]] = {step.step: [] for step in slow}
    columns = session.tables["compiles"].columns
    ends = dict(zip(columns.get("id", ()), columns.get("outcome", ()), strict=True))
    of_slow = (events[at] for at, step in enumerate(events.columns["step"]) if step in parts)
    for event in of_slow:
        if event.kind in ("compile", "recompile") and event.cost_s:
            cost = number_text(event.cost_s, "seconds")
            is_given_up = ends.get(event.compile_id) == "skipped"
            words = "skipped by Dynamo" if is_given_up else "compiled"
            words = event.text if event.kind == "recompile" else words
            parts[event.step].append((event.cost_s, f"{event.function} {cost} ({words})"))
    return {step.step: _why_slow(step, parts[step.step]) for step in slow}


def _why_slow(step: Step, parts: list[tuple[float, str]]) -> str:
    parts.sort(reverse=True)
    shown = "; ".join(text for _, text in parts[:3])
    more = f" and {len(parts) - 3} more" if len(parts) > 3 else ""
    took = f"Step {step.step} took {number_text(step.wall_ms / 1e3, 'seconds')}"
    if not parts:
        return f"{took}, {number_text(step.outside_ms / 1e3, 'seconds')} of it outside graphs."
    compiling = number_text(step.compile_s, "seconds")
    return f"{took}, {compiling} of it compiling: {shown}{more}."


def _tell_apart(files: Iterable[str]) -> dict[str, str]:
    """Each file by its name, with as many of its folders as others of that name ask for."""
    parts = {file: PurePath(file).parts for file in files if file}
    return {
        file: next(
            str(PurePath(*own[-count:]))
            for count in range(1, len(own) + 1)
            if count == len(own)
            or not any(its[-count:] == own[-count:] for its in parts.values() if its != own)
        )
        for file, own in parts.items()
    }
