"""Rehearses the cures of a call's graph breaks: one, each alone, those that help together."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from workbench.analysis.breaks.broken_statement import Cure
from workbench.analysis.breaks.cures import advise
from workbench.analysis.changes.change import Edit, write_diff
from workbench.analysis.changes.tried_change import (
    Counts,
    Ran,
    TriedChange,
    Verdict,
    describe_in_one_line,
    try_change,
)
from workbench.analysis.opportunities.rehearsed_cures import Rehearsal, RehearsedCure
from workbench.compiler.call_state.call_leaves import copy_all_inputs
from workbench.compiler.comparison.judgement import Judge
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.measuring.silence import silent
from workbench.compiler.pipeline.explain import Captured, Explanation, capture, explain
from workbench.compiler.request.callables import resolve, uncompiled
from workbench.errors import UsageError, WorkbenchError
from workbench.handles.repeating.changed_copy import holder, read_dynamo_options, rewrite_callable
from workbench.handles.repeating.outcomes import (
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
    "{} runs in eager, but raises {} when captured. A graph cannot jump to an `except` block: "
    "exclude the function that has the `try` with torch.compiler.disable."
)
_NOT_COMPILED = "Not compiled: torch.compile with Inductor also fails on the unchanged call"


@dataclass(frozen=True)
class _Copy:
    """The changed callable, and the options of Dynamo that go with it."""

    target: Any
    settings: dict[str, Any]


def rehearse(fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Rehearsal:
    """Explain a call, then try each fix in a copy; exceptions from the function propagate."""
    call = BrokenCall(fn, Inputs(args, kwargs))
    explanation = call.explained
    tried: list[tuple[RehearsedCure, Cure]] = []
    for item in explanation.breaks:
        for cure in advise(item, explanation.report).cures:
            tried.append((call.rehearsed(f"c{len(tried)}", item, cure), cure))
    chosen, left = _together(call, tried)
    return Rehearsal(
        name=explanation.report.request.name,
        breaks=explanation.breaks,
        cures=tuple(row for row, _ in tried),
        graphs_before=explanation.graph_count,
        graphs_after=left.graphs,
        breaks_after=left.breaks,
        chosen=tuple(row.id for row, _ in chosen),
        chosen_patch=call.patch([cure for _, cure in chosen]),
        compiled="" if explanation.breaks else call.describe_compiled(),
    )


class BrokenCall:
    """Try fixes for the graph breaks of a call, in copies.

    Raises `UsageError` if the target is not a Python function.
    """

    def __init__(self, fn: Any, inputs: Inputs):
        resolve(fn)
        while (inner := uncompiled(fn)) is not None:
            fn = inner
        self._target = private(fn)
        self._inputs = inputs
        self._results: dict[tuple[Cure, ...], TriedChange] = {}

    @cached_property
    def explained(self) -> Explanation:
        """The graph breaks of the call, found by running it silently on copies of the inputs.

        Exceptions from the function propagate. Raises `UsageError` if only the captured function
        raises.
        """
        try:
            return self._explain(self._target)
        except WorkbenchError:
            raise
        except Exception as error:
            outcome(self._target, self._inputs)  # raises what the function itself raises
            name = resolve(self._target).name
            # an operator in a graph raises when the graph runs, outside of the `try` around it
            raise UsageError(_CAUGHT.format(name, describe_in_one_line(error))) from error

    def describe_compiled(self) -> str:
        """Describe how Inductor compiled and ran the unchanged call, without a final period."""
        try:
            compiled = run_compiled_outcome(self._target, self._inputs, fullgraph=True)
        except Exception as error:
            return f"Inductor cannot compile or run it: {describe_in_one_line(error)}"
        agrees, checked = difference(*self._expected, compiled, judge=self._judge)
        head = "Inductor compiles it, and it runs" if agrees else "compiled by Inductor"
        return f"{head}. {checked}".rstrip(".")

    def rehearsed(self, id: str, item: Break, cure: Cure) -> RehearsedCure:
        """Try one fix of a graph break on its own."""
        result = self.tried((cure,))
        return RehearsedCure(
            id=id,
            break_id=item.id,
            file=item.file,
            line=next((edit.line for edit in cure.change.edits), item.line),
            kind=cure.kind,
            text=cure.text,
            verdict=result.verdict,
            checked=result.checked,
            graphs_before=self.counts.graphs,
            graphs_after=None if result.after is None else result.after.graphs,
            breaks_before=self.counts.breaks,
            breaks_after=None if result.after is None else result.after.breaks,
            code=cure.change.code,
            patch=self.patch([cure]),
        )

    @cached_property
    def _judge(self) -> Judge:
        return judge_by_original(self._target, self._inputs)

    @cached_property
    def _expected(self) -> tuple[Leaves, Leaves]:
        """Two runs of the original: what differs between them cannot be compared."""
        return outcome(self._target, self._inputs), outcome(self._target, self._inputs)

    def tried(self, cures: Sequence[Cure]) -> TriedChange:
        """Apply fixes to a copy, capture, compile and run it, and compare it with eager."""
        key = tuple(replace(cure, text="") for cure in cures)  # two breaks of a line have the same
        if key not in self._results:
            self._results[key] = self._tried(cures)
        return self._results[key]

    @cached_property
    def counts(self) -> Counts:
        """The numbers of graphs and breaks in the unchanged call."""
        return Counts(self.explained.graph_count, len(self.explained.breaks))

    def _tried(self, cures: Sequence[Cure]) -> TriedChange:
        def make() -> _Copy:
            self._refuse_classes(cures)
            changes = [cure.change for cure in cures]
            settings = read_dynamo_options(changes)
            is_edited = any(change.edits for change in changes)
            target = rewrite_callable(self._target, *changes) if is_edited else self._target
            return _Copy(target, settings)

        def confirm(copy: _Copy, tried: TriedChange) -> TriedChange:
            agrees = tried.verdict not in ("refused", "not checked")
            if agrees and all(cure.kind == "explicit" for cure in cures):
                tried = replace(tried, verdict="explicit")
            return self._compiled(copy, tried) if tried.verdict in _COMPILED else tried

        expected = self._expected
        return try_change(make, lambda copy: self._seen(copy, expected), confirm, self.counts)

    def _seen(self, copy: _Copy, expected: tuple[Leaves, Leaves]) -> Ran:
        """What a copy gives by itself, and captured with each graph run as it is."""
        with tp.DYNAMO_CONFIG.get().patch(copy.settings):
            plain = difference(*expected, outcome(copy.target, self._inputs), judge=self._judge)
            seen, captured = self._captured(copy.target)
            seen_so = difference(*expected, captured, judge=self._judge)
            agrees, checked = min(plain, seen_so, key=_worst)
            breaks = len(self._explain(copy.target).breaks if seen.gave_up else seen.breaks)
        return Ran(agrees, checked, Counts(seen.graphs, breaks))

    def _compiled(self, copy: _Copy, seen: TriedChange) -> TriedChange:
        """What becomes of a copy that Inductor compiles: in one graph where no break was seen."""
        left = seen.after
        assert left is not None
        try:
            with tp.DYNAMO_CONFIG.get().patch(copy.settings):
                compiled = run_compiled_outcome(
                    copy.target, self._inputs, fullgraph=left.breaks == 0
                )
        except Exception as error:
            why = describe_in_one_line(error)
            if self._expected_compiled is None:
                return replace(seen, verdict="not checked", checked=f"{_NOT_COMPILED} ({why}).")
            return replace(seen, verdict="refused", checked=f"It raises {why}.", after=None)
        agrees, checked = difference(*self._expected, compiled, judge=self._judge)
        if agrees is False and (rounded := self._expected_compiled) is not None:
            agrees, checked = difference(*self._expected, compiled, rounded, judge=self._judge)
        verdict: Verdict = (
            seen.verdict if agrees else "not checked" if agrees is None else "refused"
        )
        if verdict in ("cures", "helps") and not left.graphs:
            return replace(seen, verdict="no help", checked="Nothing in it is compiled.")
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
                scope = {**vars(builtins), **holder(self._target, cure.change.edits[0]).__globals__}
                if isinstance(eval(cure.outside, scope), type):
                    raise UsageError(f"{cure.outside} is a class; write a function that calls it.")

    def patch(self, cures: Sequence[Cure]) -> str:
        """Return the changes made by fixes as a unified diff, file by file."""

        def find_path(edit: Edit) -> str | None:
            try:
                return holder(self._target, edit).__code__.co_filename
            except UsageError:  # its source is not at hand: no diff
                return None

        return write_diff([cure.change for cure in cures], find_path)

    def _captured(self, target: Any) -> tuple[Captured, Leaves]:
        captures: list[Captured] = []

        def call(*args: Any, **kwargs: Any) -> Any:
            captures.append(capture(target, args, kwargs))
            return captures[0].result

        leaves = outcome(target, self._inputs, call)
        return captures[0], leaves

    def _explain(self, target: Any) -> Explanation:
        args, kwargs = copy_all_inputs(self._inputs.args, self._inputs.kwargs)
        with restore_unchanged(target), silent():
            return explain(target, args, kwargs)


def _worst(result: tuple[bool | None, str]) -> int:
    """The order of what agrees: what differs before what is not known."""
    return (False, None, True).index(result[0])


def _together(
    call: BrokenCall, tried: Sequence[tuple[RehearsedCure, Cure]]
) -> tuple[list[tuple[RehearsedCure, Cure]], Counts]:
    """The first cure that helps of each break, as long as all of them together help more.

    Of a break those come first that take it away, then those that only leave fewer graphs. Also
    what is left with them.
    """
    chosen: list[tuple[RehearsedCure, Cure]] = []
    left = call.counts
    helping = [pair for pair in tried if pair[0].verdict in ("cures", "helps")]
    for row, cure in sorted(
        helping, key=lambda pair: pair[0].breaks_after == pair[0].breaks_before
    ):
        is_taken = any(row.break_id == other.break_id for other, _ in chosen)
        if is_taken or (chosen and not left.breaks):
            continue
        if any(cure.change.overlaps(other.change) for _, other in chosen):
            continue
        result = call.tried([*(other for _, other in chosen), cure])
        is_help = result.verdict in ("cures", "helps") and result.after is not None
        if is_help and result.after is not None and result.after.cost < left.cost:
            chosen.append((row, cure))
            left = result.after
    return chosen, left
