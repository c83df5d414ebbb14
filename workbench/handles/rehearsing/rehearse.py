"""Rehearses the cures of a call's graph breaks: one, each alone, those that help together."""

from __future__ import annotations

import builtins
import contextlib
import difflib
import linecache
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workbench.analysis.opportunities.rehearsal import Rehearsal, RehearsedCure, Verdict
from workbench.analysis.source.cures import Cure, cures_of
from workbench.compiler.contract.callables import resolve, uncompiled
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.measuring.call_leaves import copies
from workbench.compiler.measuring.silence import silent
from workbench.compiler.pipeline.explain import Captured, Explanation, capture, explain
from workbench.errors import UsageError
from workbench.handles.rehearsing.outcomes import (
    Inputs,
    Leaves,
    difference,
    outcome,
    private,
    unchanged,
)
from workbench.handles.rewriting import changed_lines, holder, rewritten
from workbench.report import Break


@dataclass(frozen=True)
class _Result:
    """What became of one cure, or of several together."""

    verdict: Verdict
    checked: str
    graphs: int | None = None
    breaks: int | None = None


def rehearse(fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Rehearsal:
    """Explain a call, then try each cure in a copy; raises what the function raises."""
    call = BrokenCall(fn, Inputs(args, kwargs))
    found = call.explained
    tried: list[tuple[RehearsedCure, Cure]] = []
    for item in found.breaks:
        for cure in cures_of(found.report, item):
            tried.append((call.rehearsed(f"c{len(tried)}", item, cure), cure))
    chosen, together = _together(call, tried)
    return Rehearsal(
        name=found.report.request.name,
        breaks=found.breaks,
        cures=tuple(row for row, _ in tried),
        graphs_before=found.graph_count,
        graphs_after=found.graph_count if together.graphs is None else together.graphs,
        breaks_after=len(found.breaks) if together.breaks is None else together.breaks,
        chosen=tuple(row.id for row, _ in chosen),
        chosen_patch=call.patch([cure for _, cure in chosen]),
    )


class BrokenCall:
    """A call with breaks, whose cures are tried in copies.

    Raises `UsageError` for what is no function of Python.
    """

    def __init__(self, fn: Any, inputs: Inputs):
        resolve(fn)
        while (inner := uncompiled(fn)) is not None:
            fn = inner
        self._target = private(fn)
        self._inputs = inputs

    @cached_property
    def explained(self) -> Explanation:
        """The breaks of the call, run silently on copies of the inputs."""
        return self._explain(self._target)

    def rehearsed(self, id: str, item: Break, cure: Cure) -> RehearsedCure:
        """Try one cure of a break by itself."""
        result = self.tried((cure,))
        return RehearsedCure(
            id=id,
            break_id=item.id,
            file=cure.file,
            line=cure.line,
            kind=cure.kind,
            text=cure.text,
            verdict=result.verdict,
            checked=result.checked,
            graphs_before=self.explained.graph_count,
            graphs_after=result.graphs,
            breaks_before=len(self.explained.breaks),
            breaks_after=result.breaks,
            code=cure.code,
            patch=self.patch([cure]),
        )

    @cached_property
    def _expected(self) -> tuple[Leaves, Leaves]:
        """Two runs of the original: what differs between them cannot be compared."""
        return outcome(self._target, self._inputs), outcome(self._target, self._inputs)

    def tried(self, cures: Sequence[Cure]) -> _Result:
        """Apply cures to a copy, capture and run it, and compare with the original."""
        settings = {name: value for cure in cures for name, value in cure.settings}
        changes = [cure for cure in cures if cure.before]
        above = list(dict.fromkeys(line for cure in cures for line in cure.above))
        try:
            self._refuse_classes(cures)
            made = rewritten(self._target, *changes, above=above) if changes else self._target
        except (UsageError, SyntaxError, NameError, AttributeError) as error:
            return _Result("not checked", f"Not applied: {error}")
        expected = self._expected
        try:
            with tp.DYNAMO_CONFIG.get().patch(settings):
                plain = difference(*expected, outcome(made, self._inputs))
                seen, captured = self._captured(made)
                compiled = difference(*expected, captured)
                breaks = len(self._explain(made).breaks if seen.gave_up else seen.breaks)
        except Exception as error:  # the cure is wrong here: it is refused
            return _Result("refused", f"It raises {type(error).__name__}: {_first_line(error)}.")
        agrees, checked = min(plain, compiled, key=lambda each: (each[0] is not False, each[0]))
        verdict = self._verdict(cures, agrees, seen.graphs, breaks)
        return _Result(verdict, checked, seen.graphs, breaks)

    def _refuse_classes(self, cures: Sequence[Cure]) -> None:
        """Raise `UsageError` for a class, which torch.compiler.disable would change itself."""
        for cure in cures:
            if cure.outside is not None:
                scope = {**vars(builtins), **holder(self._target, cure).__globals__}
                if isinstance(eval(cure.outside, scope), type):
                    raise UsageError(f"{cure.outside} is a class; write a function that calls it.")

    def patch(self, cures: Sequence[Cure]) -> str:
        """The lines that cures change as a unified diff, file by file."""
        files: dict[str, list[Cure]] = {}
        for cure in cures:
            if cure.before:
                with contextlib.suppress(UsageError):  # its source is not at hand: no diff
                    files.setdefault(self._file(cure), []).append(cure)
        return "".join(_diff(file, each) for file, each in files.items())

    def _file(self, cure: Cure) -> str:
        return holder(self._target, cure).__code__.co_filename

    def _captured(self, made: Any) -> tuple[Captured, Leaves]:
        seen: list[Captured] = []

        def call(*args: Any, **kwargs: Any) -> Any:
            seen.append(capture(made, args, kwargs))
            return seen[0].result

        leaves = outcome(made, self._inputs, call)
        return seen[0], leaves

    def _explain(self, target: Any) -> Explanation:
        args, kwargs = copies(self._inputs.args, self._inputs.kwargs)
        with unchanged(target), silent():
            return explain(target, args, kwargs)

    def _verdict(
        self, cures: Sequence[Cure], agrees: bool | None, graphs: int, breaks: int
    ) -> Verdict:
        if agrees is None:
            return "not checked"
        if not agrees:
            return "refused"
        before = self.explained.graph_count, len(self.explained.breaks)
        if all(cure.kind == "explicit" for cure in cures):
            return "explicit"
        is_worse = breaks > before[1] or (graphs > before[0] and breaks == before[1])
        is_better = graphs < before[0] or breaks < before[1]
        return "cures" if is_better and not is_worse else "no help"


def _together(
    call: BrokenCall, tried: Sequence[tuple[RehearsedCure, Cure]]
) -> tuple[list[tuple[RehearsedCure, Cure]], _Result]:
    """The first cure that helps of each break, as long as all of them together help too."""
    chosen: list[tuple[RehearsedCure, Cure]] = []
    best = _Result("no help", "")
    for row, cure in tried:
        if row.verdict != "cures" or any(row.break_id == each.break_id for each, _ in chosen):
            continue
        if any(_overlap(cure, other) for _, other in chosen):
            continue
        if not chosen:
            result = _Result(row.verdict, row.checked, row.graphs_after, row.breaks_after)
        else:
            result = call.tried([*(other for _, other in chosen), cure])
        if result.verdict == "cures":
            chosen.append((row, cure))
            best = result
    return chosen, best


def _overlap(a: Cure, b: Cure) -> bool:
    if a.file != b.file or not a.before or not b.before:
        return False
    return a.line < b.line + len(b.before) and b.line < a.line + len(a.before)


def _diff(file: str, cures: Sequence[Cure]) -> str:
    """A file before and after, with its path from the working folder where it lies in it."""
    old = [line.rstrip("\n") for line in linecache.getlines(file)]
    new = changed_lines(old, cures)
    for cure in cures:
        at = _above(old, cure.line)
        new[at:at] = cure.above
    name = os.path.relpath(file) if os.path.isfile(file) else cures[0].file
    name = cures[0].file.lstrip("~/") if name.startswith(os.pardir) else name.replace(os.sep, "/")
    rows = difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", lineterm="")
    return "".join(f"{row}\n" for row in rows)


def _above(lines: Sequence[str], line: int) -> int:
    """Where the definition begins, at the left margin, that holds a line; decorators included."""
    at = min(line, len(lines)) - 1
    while at > 0 and (not lines[at].strip() or lines[at][0].isspace() or lines[at][0] in ")#"):
        at -= 1
    while at > 0 and lines[at - 1].startswith("@"):
        at -= 1
    return at


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")
