"""Rehearses the cures of a call's graph breaks: one, each alone, those that help together."""

from __future__ import annotations

import builtins
import contextlib
import difflib
import importlib
import linecache
import operator
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from workbench.analysis.breaks.cures import Cure, find_cures
from workbench.analysis.opportunities.rehearsed_cures import Rehearsal, RehearsedCure, Verdict
from workbench.compiler.call_state.call_leaves import copy_all_inputs
from workbench.compiler.comparison.judgement import Judge
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.measuring.silence import silent
from workbench.compiler.pipeline.explain import Captured, Explanation, capture, explain
from workbench.compiler.request.callables import resolve, uncompiled
from workbench.errors import UsageError, WorkbenchError, describe_error
from workbench.handles.changed_copy import apply_line_changes, holder, rewrite_callable
from workbench.handles.rehearsing.outcomes import (
    Inputs,
    Leaves,
    difference,
    judge_by_original,
    outcome,
    private,
    restore_unchanged,
    run_compiled_outcome,
)
from workbench.report import Break

_COMPILED = ("cures", "helps", "explicit")
"""What is said only of a copy that was compiled and run."""
_CAUGHT = (
    "{} runs without the compiler, and captured it raises {}. A graph does not go back to the "
    "`except` of its code: leave the function with the `try` out, with torch.compiler.disable."
)
_NOT_COMPILED = "Not compiled: torch.compile with Inductor fails on the original, too"


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
    explanation = call.explained
    tried: list[tuple[RehearsedCure, Cure]] = []
    for item in explanation.breaks:
        for cure in find_cures(explanation.report, item):
            tried.append((call.rehearsed(f"c{len(tried)}", item, cure), cure))
    chosen, together = _together(call, tried)
    return Rehearsal(
        name=explanation.report.request.name,
        breaks=explanation.breaks,
        cures=tuple(row for row, _ in tried),
        graphs_before=explanation.graph_count,
        graphs_after=explanation.graph_count if together.graphs is None else together.graphs,
        breaks_after=len(explanation.breaks) if together.breaks is None else together.breaks,
        chosen=tuple(row.id for row, _ in chosen),
        chosen_patch=call.patch([cure for _, cure in chosen]),
        compiled="" if explanation.breaks else call.describe_compiled(),
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
        self._results: dict[tuple[Cure, ...], _Result] = {}

    @cached_property
    def explained(self) -> Explanation:
        """The breaks of the call, run silently on copies of the inputs.

        Raises what the function raises, and `UsageError` where only the captured one does.
        """
        try:
            return self._explain(self._target)
        except WorkbenchError:
            raise
        except Exception as error:
            outcome(self._target, self._inputs)  # raises what the function itself raises
            name = resolve(self._target).name
            # an operator in a graph raises when the graph runs, outside of the `try` around it
            raise UsageError(_CAUGHT.format(name, _first_line(error))) from error

    def describe_compiled(self) -> str:
        """What became of the call itself when Inductor compiled and ran it, without a full stop."""
        try:
            compiled = run_compiled_outcome(self._target, self._inputs, fullgraph=True)
        except Exception as error:
            return f"Inductor fails on it: {_first_line(error)}"
        agrees, checked = difference(*self._expected, compiled, judge=self._judge)
        head = "Inductor compiles it, and it runs" if agrees else "compiled by Inductor"
        return f"{head}. {checked}".rstrip(".")

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
    def _judge(self) -> Judge:
        return judge_by_original(self._target, self._inputs)

    @cached_property
    def _expected(self) -> tuple[Leaves, Leaves]:
        """Two runs of the original: what differs between them cannot be compared."""
        return outcome(self._target, self._inputs), outcome(self._target, self._inputs)

    def tried(self, cures: Sequence[Cure]) -> _Result:
        """Apply cures to a copy, capture, compile and run it, and compare with the original."""
        key = tuple(replace(cure, text="") for cure in cures)  # two breaks of a line have the same
        if key not in self._results:
            self._results[key] = self._tried(cures)
        return self._results[key]

    def _tried(self, cures: Sequence[Cure]) -> _Result:
        changes = [cure for cure in cures if cure.before]
        above = list(dict.fromkeys(line for cure in cures for line in cure.above))
        try:
            self._refuse_classes(cures)
            settings = _settings(cures)
            made = (
                rewrite_callable(self._target, *changes, above=above) if changes else self._target
            )
        except (UsageError, SyntaxError, NameError, AttributeError) as error:
            return _Result("not checked", f"Not applied: {error}")
        expected = self._expected
        try:
            with tp.DYNAMO_CONFIG.get().patch(settings):
                result = self._seen(made, cures, expected)
        except Exception as error:  # the cure is wrong here: it is refused
            return _refused(error)
        return self._compiled(made, result, settings) if result.verdict in _COMPILED else result

    def _seen(self, made: Any, cures: Sequence[Cure], expected: tuple[Leaves, Leaves]) -> _Result:
        """What a copy gives by itself, and captured with each graph run as it is."""
        plain = difference(*expected, outcome(made, self._inputs), judge=self._judge)
        seen, captured = self._captured(made)
        seen_so = difference(*expected, captured, judge=self._judge)
        agrees, checked = min(plain, seen_so, key=_worst)
        breaks = len(self._explain(made).breaks if seen.gave_up else seen.breaks)
        verdict = self._verdict(cures, agrees, seen.graphs, breaks)
        return _Result(verdict, checked, seen.graphs, breaks)

    def _compiled(self, made: Any, seen: _Result, settings: dict[str, Any]) -> _Result:
        """What becomes of a copy that Inductor compiles: in one graph where no break was seen."""
        try:
            with tp.DYNAMO_CONFIG.get().patch(settings):
                compiled = run_compiled_outcome(made, self._inputs, fullgraph=seen.breaks == 0)
        except Exception as error:
            if self._expected_compiled is None:
                why = f"{_NOT_COMPILED} ({_first_line(error)})."
                return replace(seen, verdict="not checked", checked=why)
            return _refused(error)
        agrees, checked = difference(*self._expected, compiled, judge=self._judge)
        if agrees is False and (rounded := self._expected_compiled) is not None:
            agrees, checked = difference(*self._expected, compiled, rounded, judge=self._judge)
        verdict: Verdict = (
            seen.verdict if agrees else "not checked" if agrees is None else "refused"
        )
        if verdict in ("cures", "helps") and not seen.graphs:
            return replace(seen, verdict="no help", checked="Nothing of it is compiled.")
        if not agrees:
            checked = f"Compiled by Inductor: {checked[:1].lower()}{checked[1:]}"
        return replace(seen, verdict=verdict, checked=checked)

    @cached_property
    def _expected_compiled(self) -> Leaves | None:
        """What the original gives when it is compiled, breaks and all; None where it raises."""
        try:
            return run_compiled_outcome(self._target, self._inputs, fullgraph=False)
        except Exception:  # then a difference is that of the cure
            return None

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
        args, kwargs = copy_all_inputs(self._inputs.args, self._inputs.kwargs)
        with restore_unchanged(target), silent():
            return explain(target, args, kwargs)

    def _verdict(
        self, cures: Sequence[Cure], agrees: bool | None, graphs: int, breaks: int
    ) -> Verdict:
        """What a cure is worth whose results agree; to be compiled and run where it is praised."""
        if agrees is None:
            return "not checked"
        if not agrees:
            return "refused"
        before = self.explained.graph_count, len(self.explained.breaks)
        if all(cure.kind == "explicit" for cure in cures):
            return "explicit"
        is_worse = breaks > before[1] or (graphs > before[0] and breaks == before[1])
        is_better = graphs < before[0] or breaks < before[1]
        if is_worse or not is_better:
            return "no help"
        return "helps" if breaks else "cures"


def _refused(error: Exception) -> _Result:
    return _Result("refused", f"It raises {_first_line(error)}.")


def _worst(result: tuple[bool | None, str]) -> int:
    """The order of what agrees: what differs before what is not known."""
    return (False, None, True).index(result[0])


def _settings(cures: Sequence[Cure]) -> dict[str, Any]:
    """The options of Dynamo that cures set, with their values."""
    settings = {name: value for cure in cures for name, value in cure.settings}
    config = tp.DYNAMO_CONFIG.get()
    for option, function in (cure.ignored for cure in cures if cure.ignored is not None):
        module, _, path = function.partition(".")
        ignored = operator.attrgetter(path)(importlib.import_module(module))
        settings[option] = {*settings.get(option, getattr(config, option)), ignored}
    return settings


def _together(
    call: BrokenCall, tried: Sequence[tuple[RehearsedCure, Cure]]
) -> tuple[list[tuple[RehearsedCure, Cure]], _Result]:
    """The first cure that helps of each break, as long as all of them together help more.

    Of a break those come first that take it away, then those that only leave fewer graphs.
    """
    chosen: list[tuple[RehearsedCure, Cure]] = []
    best = _Result("no help", "")
    helping = [each for each in tried if each[0].verdict in ("cures", "helps")]
    for row, cure in sorted(
        helping, key=lambda each: each[0].breaks_after == each[0].breaks_before
    ):
        if any(row.break_id == each.break_id for each, _ in chosen):
            continue
        if any(_overlap(cure, other) for _, other in chosen) or best.verdict == "cures":
            continue
        if not chosen:
            result = _Result(row.verdict, row.checked, row.graphs_after, row.breaks_after)
        else:
            result = call.tried([*(other for _, other in chosen), cure])
        if result.verdict in ("cures", "helps") and _is_less(result, best):
            chosen.append((row, cure))
            best = result
    return chosen, best


def _is_less(result: _Result, best: _Result) -> bool:
    """Whether fewer breaks are left, or as many with fewer graphs."""
    if best.breaks is None or result.breaks is None:
        return True
    return (result.breaks, result.graphs or 0) < (best.breaks, best.graphs or 0)


def _overlap(a: Cure, b: Cure) -> bool:
    if a.file != b.file or not a.before or not b.before:
        return False
    return a.line < b.line + len(b.before) and b.line < a.line + len(a.before)


def _diff(file: str, cures: Sequence[Cure]) -> str:
    """A file before and after, with its path from the working folder where it lies in it."""
    old = [line.rstrip("\n") for line in linecache.getlines(file)]
    new = apply_line_changes(old, cures)
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
    return describe_error(error).partition("\n")[0].rstrip(".")
