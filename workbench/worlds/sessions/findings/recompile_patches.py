"""Changes of the program that take recompiles away, written from what a session recorded."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from workbench.analysis.changes.change import Change, Edit, Setting
from workbench.number_text import plural
from workbench.report.program.record_rows import Compile, ProgramRecompile, Spot
from workbench.worlds.sessions.findings.recompile_cures import (
    DYNAMIC,
    GOOD,
    SCALARS,
    UNSPECIALIZED,
    find_recompile_cure,
    read_trials,
    write_for_caller,
    write_tensor,
)
from workbench.worlds.sessions.rows.session_rows import place

_APART = {"value", "type", "length", "identity"}
"""Kinds whose recompiles are of one cause only where they are of one source."""
_ATTRIBUTE = re.compile(r"^(?P<holder>[A-Za-z_]\w*(?:\.\w+)*)\.(?P<name>\w+)$")
_GLOBAL = re.compile(r"^G\['(?P<name>\w+)'\]$")
_NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?$")
_SET = re.compile(r"^(?P<place>.+?)(?:\s*:\s*\w+)?\s*=\s*(?P<number>-?[\d.]+(?:e-?\d+)?)")
_GIVEN = re.compile(r"^(?P<place>[^=\s][^=]*?)\s*=\s*(?P<value>[^=].*)$")
_ADDS = re.compile(r"^[\w.]*?(?P<list>\w+)\.(?:append|extend|add|insert)\(.*\)$")


@dataclass(frozen=True)
class RecompilePatch:
    """One way to write it: what it does in a few words, why, the change.

    Its edits are in the order of their places, without the indentation of their lines. `state` is
    what becomes a tensor, as torch names it.
    """

    id: str
    title: str
    why: str
    change: Change
    state: str = ""

    @property
    def is_dynamic(self) -> bool:
        """Whether it is compiled with `dynamic=True`."""
        return _WITH_DYNAMIC in self.change.settings

    @property
    def name(self) -> str:
        """What `ProgramRecompile.tried` calls it."""
        return self.state or (DYNAMIC if self.is_dynamic else "\n".join(self.change.before_call))


_WITH_DYNAMIC = Setting("dynamic", True, "compilation")


def group_recompiles(
    compiles: Iterable[Compile], recompiles: Iterable[ProgramRecompile]
) -> dict[str, list[ProgramRecompile]]:
    """The recompiles of one function by one kind of guard together, by a key; nearest variants."""
    own = {row.id: row for row in compiles}
    nearest: dict[str, list[ProgramRecompile]] = {}
    for row in recompiles:
        if not row.nearest:
            continue
        at = own.get(row.compile_id)
        if not row.file and at is not None:  # a record of before the rows had a place
            row = replace(row, file=at.file, line=at.line)
        what = row.source or row.guard if row.kind in _APART else ""
        key = f"{row.function}:{row.file}:{row.line}:{row.kind}:{what}"
        nearest.setdefault(key, []).append(row)
    return nearest


def list_patches(rows: Sequence[ProgramRecompile], key: str) -> tuple[RecompilePatch, ...]:
    """The changes that can be written for the recompiles of one cause, the nearest variants' rows.

    None for what is expected, and where the record does not tell which line to write.
    """
    cure = find_recompile_cure(rows)
    last = rows[-1]
    if cure.is_expected or last.resumed_at:
        return ()
    found = [
        *_make_dynamic(last),
        *_keep_as_tensor(rows),
        *_move_out(last),
        *_write_before(last, cure.code),
    ]
    # what was tried and is no cure is not given
    results = read_trials(rows)
    good = [results.get(one.name, ("", "cures", ""))[1] in (*GOOD, "not checked") for one in found]
    return tuple(replace(one, id=f"{key}:{at}") for at, one in enumerate(found) if good[at])


def list_candidates(rows: Sequence[ProgramRecompile]) -> Iterator[RecompilePatch]:
    """The changes that the advice on a cause may give, to be tried on its calls before it does.

    `id` is the name that `ProgramRecompile.tried` has for one.
    """
    row = rows[-1]
    if row.resumed_at:
        return
    if row.kind == "value" and _is_number(row):
        if row.source.isidentifier():
            yield _candidate(DYNAMIC, Change(settings=(_WITH_DYNAMIC,)))
            for line in write_tensor(row.source):
                yield _candidate(line, Change(before_call=(line,)))
            # an operator that takes no tensor there takes the number out of it
            line = write_tensor(row.source)[0]
            change = Change(before_call=(line,), settings=(Setting(SCALARS, True),))
            yield _candidate(f"{line}\n{SCALARS}", change)
        elif _ATTRIBUTE.match(row.source) and not row.source.endswith(".training"):
            yield _candidate(row.source, Change(), row.source)
            yield _candidate(UNSPECIALIZED, Change(settings=(Setting(UNSPECIALIZED, True),)))
        return
    code = find_recompile_cure(rows).code
    if code:
        yield _candidate("\n".join(code), Change(before_call=code))


def _candidate(id: str, change: Change, state: str = "") -> RecompilePatch:
    return RecompilePatch(id, "", "", change, state)


def _make_dynamic(row: ProgramRecompile) -> Iterator[RecompilePatch]:
    """`dynamic=True` where the function is compiled, for a size or a number that is passed."""
    is_passed = row.kind == "value" and row.source.isidentifier() and _is_number(row)
    if row.fixed_by or not (row.kind == "size" or is_passed) or not row.made_by[0]:
        return
    file, line, code = row.made_by
    changed = _with_dynamic(code.strip())
    if changed is not None:
        what = "size" if row.kind == "size" else "number"
        yield RecompilePatch(
            "",
            "Compile with `dynamic=True`",
            f"One variant for every {what}, from the first call on.",
            Change((Edit(file, line, (code.strip(),), (changed,)),), settings=(_WITH_DYNAMIC,)),
        )


def _with_dynamic(code: str) -> str | None:
    """A line with `dynamic=True` in its call of torch.compile; None for more than one line."""
    if code == "@torch.compile":
        return "@torch.compile(dynamic=True)"
    mark = "@" if code.startswith("@") else ""
    text = code.removeprefix("@")
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.compile":
            end = (node.end_col_offset or 0) - 1
            given = text[:end].rstrip().rstrip(",")
            comma = "" if given.endswith("(") else ", "
            return f"{mark}{given}{comma}dynamic=True{text[end:]}"
    return None


def _keep_as_tensor(rows: Sequence[ProgramRecompile]) -> Iterator[RecompilePatch]:
    """A number of an object or of a file as a tensor, which the graph reads in place of it."""
    row = rows[-1]
    attribute, name = _ATTRIBUTE.match(row.source), _GLOBAL.match(row.source)
    if row.kind != "value" or not (attribute or name) or not _is_number(row) or not row.set_by[0]:
        return
    file, line, code = row.set_by
    given = _SET.match(code.strip())
    if given is None:
        return
    values = [value for each in rows for value in (each.expected, each.actual) if value]
    is_float = any("." in value or "e" in value for value in (*values, given["number"]))
    number = repr(float(given["number"])) if is_float else given["number"]
    made = f"torch.tensor({number})"
    is_own = attribute is not None and given["place"].startswith("self.")
    kept = (
        f"self.register_buffer({given['place'][5:]!r}, {made}, persistent=False)"
        if is_own and row.is_of_module
        else f"{given['place']} = {made}"
    )
    edits = [Edit(file, line, (code.strip(),), (kept,))]
    edits += _give_tensor(row)
    yield RecompilePatch(
        "",
        f"Keep `{name['name'] if name else row.source}` as a tensor",
        "The graph reads the value at run time: one variant for all values.",
        Change(tuple(sorted(edits, key=lambda edit: (edit.file, edit.line)))),
        row.source,
    )


def _give_tensor(row: ProgramRecompile) -> Iterator[Edit]:
    """The line that changes a number, where it puts another in its place."""
    match = _GIVEN.match(row.changed_by)
    if match is None or match["place"].rstrip()[-1] in "+-*/%|&^":
        return
    # what is computed from the number itself is a tensor then
    is_computed = match["place"].strip() in match["value"]
    if not is_computed:
        code = f"{match['place']} = torch.tensor({match['value']})"
        yield Edit(row.changed_in or row.file, row.changed_at, (row.changed_by,), (code,))


def _move_out(row: ProgramRecompile) -> Iterator[RecompilePatch]:
    """A list that the function adds to: the line that does is left to Python."""
    match = _ADDS.match(row.changed_by)
    if row.kind != "length" or match is None or row.changed_in not in ("", row.file):
        return
    try:
        tree = ast.parse(row.changed_by)
    except SyntaxError:
        return
    loaded = sorted(
        (node.col_offset, node.id) for node in ast.walk(tree) if isinstance(node, ast.Name)
    )
    known = {"torch", *vars(builtins)}  # what every line can name is not handed over
    names = ", ".join(dict.fromkeys(name for _, name in loaded if name not in known))
    function = f"add_to_{match['list']}"
    above = ("@torch.compiler.disable", f"def {function}({names}):", f"    {row.changed_by}")
    edit = Edit(row.file, row.changed_at, (row.changed_by,), (f"{function}({names})",))
    why = "The graph breaks at this line and no longer guards the length of the list."
    yield RecompilePatch(
        "", f"Keep `{row.changed_by}` out of the graph", why, Change((edit,), above)
    )


def _write_before(row: ProgramRecompile, code: Sequence[str]) -> Iterator[RecompilePatch]:
    """The lines of a cure before each call, in the caller's names where these are plain."""
    if row.kind == "value":  # what else failed with it has its own cause
        is_passed = row.source.isidentifier() and _is_number(row)
        code = (f"{row.source} = torch.tensor({row.source})",) if is_passed else ()
    if not code:
        return
    file, line, call = row.called_by
    lines = [write_for_caller(each, row) for each in code]
    edits: tuple[Edit, ...] = ()
    if file and None not in lines:
        edits = (Edit(file, line, (call.strip(),), (*filter(None, lines), call.strip())),)
    yield RecompilePatch("", _title(code), "", Change(edits, before_call=tuple(code)))


_TITLES = {
    "mark_dynamic(": "Mark the size before each call",
    ".contiguous()": "Always pass it in the same memory layout",
    ".to(torch.": "Pass it with one dtype",
    "torch.tensor(": "Pass the number as a tensor",
    ".clone()": "Pass distinct tensors",
}
"""By what stands in each line of a cure, which may be of a guard that failed beside the first."""


def _title(code: Sequence[str]) -> str:
    for word, title in _TITLES.items():
        if all(word in line for line in code):
            return title
    return f"Add {plural(len(code), 'line')} before each call"


def _is_number(row: ProgramRecompile) -> bool:
    return all(_NUMBER.match(value) for value in (row.expected, row.actual or row.expected))


def join_places(spots: Sequence[Spot]) -> str:
    """Lines by their places, as `net.py:3, train.py:9`."""
    return ", ".join(place(file, line) for file, line, _ in spots)


def asks_for_line(row: ProgramRecompile) -> bool:
    """Whether a line of the program changes what a guard looks at: an attribute or a global."""
    is_held = _ATTRIBUTE.match(row.source) is not None or _GLOBAL.match(row.source) is not None
    return row.kind in ("value", "length") and is_held and not row.source.endswith(".training")
